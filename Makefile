# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` do everything on a fresh machine; both begin with `make setup`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup
SECONDS ?= 600

.PHONY: help setup test demo bench lint storm mutants clean

help:
	@echo "make setup   a virtual environment in $(VENV) with slipring, all extras and the tools of the tests"
	@echo "make demo    a robot of real processes, recorded through Spark; both killed and restarted, and added up"
	@echo "make test    all tests: C core with sanitizers, processes, crashes, hostile contents, Spark, CLI"
	@echo "make lint    style, types, layers"
	@echo "make bench   figures against rivals, in benchmarks/results"
	@echo "make storm   a random SIGKILL storm of SECONDS=$(SECONDS)"
	@echo "make mutants take the code behind each promise away and see that its tests notice"

setup: $(STAMP)

$(STAMP): pyproject.toml meson.build meson.options core/meson.build src/slipring/meson.build tools/setup.sh tools/need.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh $(VENV)
	@touch $(STAMP)

test: setup
	@sh tools/test-tools.sh
	$(BIN)/python -m pytest

demo: setup
	$(BIN)/python -m demo

bench: setup
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.spark

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MESONPY_EDITABLE_SKIP="$$(echo $(CURDIR)/build/cp*)" PYTHONPATH=src $(BIN)/lint-imports --no-cache
	sh tools/check-core.sh

storm: setup
	SLIPRING_STORM_SECONDS=$(SECONDS) $(BIN)/python -m pytest -s tests/crash/test_storm.py -o timeout=0

mutants: setup
	$(BIN)/python tests/mutants

clean:
	rm -rf build build-* $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-report
