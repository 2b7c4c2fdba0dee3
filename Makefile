# Two commands from a fresh clone do everything: `make demo` and `make test`. They check the machine first, get uv and
# the Python packages, and build the programs that the machine lacks; a second run does none of that again.

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
SYNCED := .venv/.synced
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test soak check docs tools doctor python venv benchmarks clean
.NOTPARALLEL:

help: ## List the targets.
	@echo "Modelplane. Variables: PYTHON (an interpreter, 3.11 or newer), ARGS (arguments for pytest or the demo, as in ARGS='-k names')."
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: doctor $(SYNCED) tools ## Start a fleet on this machine and play a canary on it (2 to 4 minutes; the first time 30 more, to build the tools).
	@$(BIN)/python -m local.demo $(ARGS)

test: doctor $(SYNCED) tools ## Run every test: unit, engine, cluster, traffic (about 45 minutes on two cores; the first time 30 more, to build the tools).
	@echo "test: unit, engine, cluster and traffic tests, about 45 minutes on two cores" >&2
	@$(BIN)/python -m pytest $(ARGS)

soak: doctor $(SYNCED) tools ## Run the long tests: moves, interrupts, the loop, previews and plain Pulumi on fleets of their own, and fifty kills (hours; kills go on where they were cut).
	@$(BIN)/python -m pytest -m soak $(ARGS)

check: $(SYNCED) ## Lint, format, types and import layers (a minute).
	@echo "check: ruff, mypy, import-linter" >&2
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

tools: $(SYNCED) ## Build the programs that this machine lacks into the tool cache (about 30 minutes the first time, on two cores).
	@$(PYTHON) -m tools build

docs: $(SYNCED) ## Make the documentation's site in docs/_build.
	@$(BIN)/python -m sphinx -qW --keep-going docs docs/_build
	@echo "docs: docs/_build/index.html" >&2

doctor: python ## Check that this machine offers what is needed, with a fix for what it does not.
	@$(PYTHON) -m tools doctor $(if $(filter doctor,$(MAKECMDGOALS)),,--quiet)

python:
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) is not on PATH" >&2; \
	echo "hint: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 1; }

venv: $(SYNCED) ## Install the Python packages of uv.lock into .venv, with uv (a minute the first time).

$(SYNCED): pyproject.toml uv.lock | python
	@$(PYTHON) -m tools sync

benchmarks: doctor $(SYNCED) tools ## Measure and report: starts, passes, memory, speed of placement.
	@$(BIN)/python -m benchmarks $(ARGS)

clean: ## Remove .venv and caches of the checkout. The tool cache stays: other checkouts use it.
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .soak dist
	@echo "kept: the built tools in $$($(PYTHON) -m tools cache)"
