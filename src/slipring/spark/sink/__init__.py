# SPDX-License-Identifier: Apache-2.0
"""Write rows to topics: tasks check and stage them, the commit of a batch publishes each of them once."""
