# Everything a newcomer types. `make` alone lists it.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin

# Real data is optional: tests that need it read this folder (ml-100k/, ml-latest-small/) and skip
# without it. A data folder beside the checkout is found by itself.
ifeq ($(TACIT_DATA),)
  ifneq ($(wildcard ../shared/data/.),)
    override TACIT_DATA := ../shared/data
  endif
endif
ifneq ($(TACIT_DATA),)
  override TACIT_DATA := $(abspath $(TACIT_DATA))
  export TACIT_DATA
endif

.PHONY: help setup setup-all page demo test test-long mutants check bench docs figures screenshots dist lock clean

help: ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' \
	  | while IFS=$$'\t' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

setup: ## make the virtual environment .venv with what running needs (nothing to do the second time)
	@command -v $(PYTHON) >/dev/null || { \
	  echo "No '$(PYTHON)' on this machine. Install Python 3.11 or newer, or name one:  make setup PYTHON=..." >&2; exit 1; }
	@$(PYTHON) tools/set_up.py $(SET_UP)

setup-all: ## make it with what tests, checks and documentation need as well
	@$(MAKE) --no-print-directory setup SET_UP=--all

page: ## build the page of `tacit serve` (needs Node 20; nothing to do the second time)
	@$(PYTHON) tools/build_page.py

demo: SET_UP := --without-kernels
demo: setup ## set up, then tour all designs on generated data (offline)
	@$(BIN)/tacit demo

test: setup-all ## set up, build the page where Node 20 is, then run the whole test suite, the pure tests first
	@$(PYTHON) tools/build_page.py || true # without it the page's tests are skipped, and it is said
	@$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not long" \
	  $(if $(TIER),--tier $(TIER)) $(ARGS)

test-long: setup-all ## the tests that take minutes
	@$(BIN)/python -m pytest -m long $(ARGS)

mutants: setup-all ## change formulas and designs one step at a time and see that a test fails (hours); ARGS="--part designs --sample 300"
	@$(BIN)/python tools/mutants.py $(ARGS)

check: setup-all ## lint, format, types, import layers, dead links in the documentation
	@failed=0; \
	for step in "ruff check" "ruff format --check" "mypy" "lint-imports --no-logo" \
	  "python tools/check_links.py" "python tools/check_text.py" \
	  "python tools/people_needed.py --check" \
	  "python tools/check_language.py"; do \
	  echo "== $$step"; $(BIN)/$$step || failed=1; done; exit $$failed

bench: setup-all ## run the benchmark of every hot path beside its peer; FULL=1: at full shapes, as records
	@$(BIN)/python tools/bench.py $(if $(FULL),--full)

docs: setup-all ## build the documentation into docs/_build/html
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@! grep -rnoE --include='*.html' '<(script|img|link|iframe)[^>]+(src|href)="(https?:)?//[^"]*' docs/_build/html \
	  || { echo "These pages would fetch something from the network." >&2; exit 1; }
	@echo "docs/_build/html/index.html"

figures: setup-all ## draw the pictures of the documentation from its records
	@$(BIN)/python tools/figures.py

screenshots: setup-all page ## take the screenshots of the documentation (needs Debian's chromium)
	@$(BIN)/python tools/screenshots.py

dist: setup-all ## build sdist, wheel, tacit-client and the npm package into dist/, and try each outside the checkout
	@$(BIN)/python tools/make_distributions.py $(ARGS)

lock: ## renew requirements.lock from pyproject.toml (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv:  pip install uv" >&2; exit 1; }
	@uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --all-extras --upgrade --quiet pyproject.toml -o requirements.lock
	@$(PYTHON) tools/check_text.py

clean: ## remove .venv and everything built
	@rm -rf .venv build dist docs/_build src/tacit/service/page client/node_modules client/page/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests tools benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +
