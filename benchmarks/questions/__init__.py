# SPDX-License-Identifier: Apache-2.0
"""Questions about single costs, one module each, as those of slipring.bench.questions: they need a checkout.

In: a transport class, a case, a folder, seconds. Out: figures by name.
"""
