# SPDX-License-Identifier: Apache-2.0
"""The parts of the command line that verbs share: options, names, output, progress and the end of the process.

Everything from a topic is untrusted here: output to a terminal is escaped.
"""
