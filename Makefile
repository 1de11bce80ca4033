# Every target sets up what it needs in .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.dmte-is-installed
WHAT ?= step

.PHONY: help setup demo test slow coverage lint types format bench reproduce document clean

help:  ## Show this list.
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP)  ## Build .venv with dmte and everything its developers use.

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "dmte needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(STAMP)  ## Train on the bundled network, show scores, neighbours and a picture.
	@$(BIN)/dmte demo

test: $(STAMP)  ## Run the tests, but for the slow ones.
	@$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow"

slow: $(STAMP)  ## Run the slow tests: real data, killed processes, measured memory.
	@$(BIN)/python -m pytest -n auto --dist worksteal -m slow

coverage: $(STAMP)  ## Run the tests and show which lines they miss.
	@$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered

lint: $(STAMP)  ## Check style and spelling.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/codespell

types: $(STAMP)  ## Check types.
	@$(BIN)/mypy

format: $(STAMP)  ## Put the code into its one format.
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(STAMP)  ## Measure a step, or WHAT=methods, processes, faults, scale, load, search or reach (see benchmarks/README.md).
	@GOMP_SPINCOUNT=10000 $(BIN)/python benchmarks/$(WHAT).py $(ARGS)

reproduce: $(STAMP)  ## Measure the paper's tables and figures again, quickly, into reproduction/.
	@$(BIN)/dmte reproduce all --quick
	@$(BIN)/dmte reproduce report

document: $(STAMP)  ## Write docs/reproduction.md anew from results, docs/methods.md, docs/api.md and what commands print from the code.
	@$(BIN)/python experiments/report/page.py
	@$(BIN)/python -c 'from pathlib import Path; from dmte.evaluation.catalog import methods_page; \
	  Path("docs/methods.md").write_text(methods_page(), "utf-8")'
	@echo docs/methods.md
	@$(BIN)/python -c 'from pathlib import Path; from dmte.reference import api_page; \
	  Path("docs/api.md").write_text(api_page(), "utf-8")'
	@echo docs/api.md
	@$(BIN)/python -m dmte.pages docs/quick-start.md docs/command-line.md docs/how-to/*.md docs/verbs/*.md

clean:  ## Remove .venv and what the tools left behind.
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage dist
