# SPDX-License-Identifier: Apache-2.0
"""The proofs: `make prove`. They take longer than `make test` and run only when their sources have changed.

parts.toml     the parts: what each proves, the tests it runs, the files it depends on
sources.py     the hash of those files, without comments
record.py      docs/reliability/proof.json: for each proven part the hash of its sources, date and counts
__main__.py    runs the parts that are not proven yet; `--check` is the step of `make lint`
resume.py      leaves out the tests of a part that have passed with the same sources
defects/       the catalogues of planted defects, each with the checks that must find it
"""
