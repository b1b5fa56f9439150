# SPDX-License-Identifier: Apache-2.0
"""One module per verb, with its ``command``; hyphens in the verb are underscores in the module.

app.py imports a module only when its verb is used, so that quick verbs stay quick. Verbs share code through terminal/.
"""
