# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` do everything on a fresh machine; both begin with `make setup`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup
SECONDS ?= 600
JOBS ?= 4
HOURS ?= 2
ONE_IN ?= 1

.PHONY: help setup test prove demo bench lint storm nested states schedules fuzz soak clean

help:
	@echo "make setup   a virtual environment in $(VENV) with slipring, all extras and the tools of the tests"
	@echo "make demo    a robot of real processes, recorded through Spark; both killed and restarted, and added up"
	@echo "make test    the tests that every change must pass, JOBS=$(JOBS) at a time"
	@echo "make prove   the proofs of the core: models, schedules, crash states, defects; only the PARTS that have changed"
	@echo "make lint    style, types, imports, words, citations, folders, and whether the core is proven"
	@echo "make bench   figures against rivals and bare C, with targets and a picture, in benchmarks/results"
	@echo "Longer runs of single proofs, which are not recorded:"
	@echo "make storm     random SIGKILLs for SECONDS=$(SECONDS), or KILLS=n"
	@echo "make nested    a recoverer killed at each of its points, after a death at each point (or ONE_IN=n of them)"
	@echo "make states    every crash state of the core, and every pair of them"
	@echo "make schedules orders of steps of the real core, searched for SECONDS=$(SECONDS)"
	@echo "make fuzz      hostile bytes for SECONDS=$(SECONDS) in all, or TARGET=name alone; found inputs in build-fuzz/found"
	@echo "make soak      HOURS=$(HOURS) of traffic, kills and recording, with a report in soak-report"

setup: $(STAMP)
	@sh tools/build-package.sh $(VENV)

$(STAMP): pyproject.toml meson.build meson.options core/meson.build src/slipring/meson.build tools/setup.sh tools/need.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh $(VENV)
	@touch $(STAMP)

test: setup
	@sh tools/test-tools.sh
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder

prove: setup
	@sh tools/prove-tools.sh
	PYTHONPATH=tests $(BIN)/python -m prove $(PARTS)

demo: setup
	$(BIN)/python -m demo

# Spark first: its figures are among the targets that the other reports.
bench: setup
	@sh tools/bench-tools.sh
	$(BIN)/python -m benchmarks.spark
	$(BIN)/python -m benchmarks

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/lint-imports --no-cache --config tools/import-cycles.toml
	sh tools/check-core.sh
	$(BIN)/python tools/check-words.py
	$(BIN)/python tools/check-citations.py
	$(BIN)/python tools/check-rooms.py
	PYTHONPATH=tests $(BIN)/python -m prove --check

storm: setup
	SLIPRING_STORM_SECONDS=$(SECONDS) SLIPRING_STORM_KILLS=$(KILLS) $(BIN)/python -m pytest -s \
		tests/crash/storms/test_storm.py tests/crash/storms/test_storm_structures.py -o timeout=0

nested: setup
	SLIPRING_ONE_IN=$(ONE_IN) $(BIN)/python -m pytest -s tests/prove/test_two_deaths.py -k "not sanitizers"

states: setup
	$(BIN)/python -m pytest -s tests/prove/test_crash_states.py

schedules: setup
	SLIPRING_SCHEDULES_SECONDS=$(SECONDS) $(BIN)/python -m pytest -s tests/prove/test_schedules.py -k longer -o timeout=0

fuzz: setup
	@sh tools/test-tools.sh
	$(BIN)/python tests/fuzz --seconds $(SECONDS) $(if $(TARGET),--target $(TARGET))

soak: setup
	PYTHONPATH=tests:. $(BIN)/python -m soak --hours $(HOURS)

clean:
	rm -rf build build-* $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-report soak-report
