# SPDX-License-Identifier: Apache-2.0
"""The verbs of calls. As in verbs/: one module per verb, with its ``command``.

app.FOLDERS names the verbs whose modules are here.
"""
