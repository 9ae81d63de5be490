# Every target sets itself up: a virtual environment in .venv, the install, then the job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NATIVE := $(wildcard runtime/native/*)

.DEFAULT_GOAL := help
.PHONY: help demo test check fuzz bench format clean

help:  ## say what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1|/' | column -t -s '|'

demo: $(STAMP)  ## smooth real terrain, print the figures of the run, write demo.png
	$(BIN)/fieldforge demo --output demo.png

test: $(STAMP)  ## run the tests (those that need a GPU are left out where there is none)
	$(BIN)/pytest -q -n 2

check: $(STAMP)  ## formatting, lint, types, floors, tests: what must pass before a commit
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

fuzz: N ?= 10000
fuzz: SEED ?= 0
fuzz: JOBS ?= 2
fuzz: $(STAMP)  ## run N generated programs in three ways and compare: make fuzz N=10000 SEED=0
	$(BIN)/python -m tests.generated.fuzz $(N) --seed $(SEED) --jobs $(JOBS)

bench: $(STAMP)  ## measure import, builds, calls and kernels as ratios; results in bench/results/
	$(BIN)/python bench/run.py

format: $(STAMP)  ## format and mend what ruff can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove the environment and what was built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache

$(STAMP): pyproject.toml CMakeLists.txt $(NATIVE)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(STAMP)
