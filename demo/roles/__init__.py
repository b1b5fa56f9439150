# SPDX-License-Identifier: Apache-2.0
"""What the components do. Each module has run(worker) for the fork server, which returns when it is told to end."""
