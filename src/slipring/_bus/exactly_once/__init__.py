# SPDX-License-Identifier: Apache-2.0
"""Publishing exactly once on behalf of others: remote publishers, mirrored topics, Spark queries.

Contract: a numbered message is published once, whatever is killed in between.

origin     one numbered stream passed on into a topic      outbox            rows staged by the processes of a job
leftovers  outboxes of crashed jobs                        process_identity  marks of processes and of the boot
"""
