# SPDX-License-Identifier: Apache-2.0
# make demo and make test do everything on a fresh machine; both begin with make setup.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup

.PHONY: setup test demo bench lint clean core-test sanitize storm

setup: $(STAMP)

$(STAMP): pyproject.toml meson.build core/meson.build src/slipring/meson.build tools/setup.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh $(VENV)
	@touch $(STAMP)
