# SPDX-License-Identifier: Apache-2.0
"""The work of the components. Each module has run(worker) for the fork server.

It returns when the supervisor orders the end. publishing has the common part: sending at a pace, and the journal."""
