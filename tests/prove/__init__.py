# SPDX-License-Identifier: Apache-2.0
"""The proofs: `make prove`. They take longer than `make test` and need to run only when what they prove has changed.

parts.toml     the parts: what each proves, the tests it runs, the files it depends on
sources.py     the hash of those files, without the comments of C and Promela
record.py      docs/reliability/proof.json: what was proven, of which sources, when, with which counts
__main__.py    runs the parts that are not proven yet; `--check` is the step of `make lint`
resume.py      leaves out the tests of a part that have passed with the same sources
defects/       the catalogues of planted defects, each with the checks that must find it
"""
