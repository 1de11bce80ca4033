# Every target sets up what it needs in .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.dmte-is-installed
DOCS_STAMP := .venv/.docs-are-installed
LOWEST := .venv-lowest/.dmte-is-installed
WHAT ?= step
# A worker per core, so each has one thread.
PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest

# Compiled modules are kept, or every worker and process of the tests would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo quick test lowest slow coverage lint types format bench reproduce document docs clean

help:  ## Show this list.
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP)  ## Build .venv with dmte and everything its developers use.

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "dmte needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(STAMP)  ## Train on the bundled network, show scores, neighbors and a picture.
	@$(BIN)/dmte demo

quick: $(STAMP)  ## Run the tests that need no training: about a minute on two slow cores.
	@$(PYTEST) -n auto --dist worksteal -m "not slow and not medium"

test: $(STAMP)  ## Run all tests except the slow ones: two to four minutes on two cores.
	@$(PYTEST) -n auto --dist worksteal -m "not slow"

lowest: $(LOWEST)  ## Run the quick tests with the lowest versions that pyproject.toml allows.
	@PYTEST_ADDOPTS="-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning" \
	  $(MAKE) quick BIN=.venv-lowest/bin

# torch stays at constraints.txt: its lowest version has no build for every machine.
$(LOWEST): pyproject.toml constraints.txt .ci/lowest.py
	$(PYTHON) -m venv .venv-lowest
	@$(PYTHON) .ci/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	  --constraint .venv-lowest/lowest.txt --editable '.[test]'
	@touch $@

slow: $(STAMP)  ## Run the slow tests: real data, killed processes, measured memory.
	@$(PYTEST) -n auto --dist worksteal -m slow

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

bench: $(STAMP)  ## Measure a step, or WHAT=train, methods, processes, faults, scale, load, search or reach (see benchmarks/README.md).
	@GOMP_SPINCOUNT=10000 $(BIN)/python benchmarks/$(WHAT).py $(ARGS)

reproduce: $(STAMP)  ## Measure the paper's tables and figures again, quickly, into reproduction/.
	@$(BIN)/dmte reproduce all --quick
	@$(BIN)/dmte reproduce report

document: $(STAMP)  ## Update generated pages: docs/reproduction.md, docs/methods.md and the output of commands.
	@$(BIN)/python experiments/report/page.py
	@$(BIN)/python docs/tools/method_catalog.py
	@$(BIN)/python docs/tools/run_pages.py docs/quick-start.md docs/command-line.md docs/how-to/*.md docs/verbs/*.md

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $@

docs: $(DOCS_STAMP)  ## Build the site of the documentation into site/; broken links are errors.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'site/index.html; with search: $(BIN)/mkdocs serve'

clean:  ## Remove .venv and what the tools left behind.
	rm -rf .venv .venv-lowest .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage dist site
