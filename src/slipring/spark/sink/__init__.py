# SPDX-License-Identifier: Apache-2.0
"""Write rows to topics, each once.

Tasks check and stage rows (staged_rows.py). The commit of a batch publishes them (batch_publisher.py) from the outbox
of the query. writer.py has the calls that Spark makes.
"""
