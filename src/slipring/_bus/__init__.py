# SPDX-License-Identifier: Apache-2.0
"""The bus in Python: comfort above the compiled part. No third-party package is imported here."""
