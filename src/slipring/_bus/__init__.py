# SPDX-License-Identifier: Apache-2.0
"""The bus in Python, above the compiled part. No third-party package is imported at the top of a module.

Contract: a public name of `slipring` is defined here; `slipring` imports the others at their first use.

bus.py makes all handles; publisher.py, subscriber.py and member.py are those of messages; wait.py and aio.py wait for
several. settings.py checks arguments, directory.py and kinds.py know the files, doctor.py examines them. The rooms are
patterns, cells, frames, calls and exactly_once.
"""
