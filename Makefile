# graphdep: two commands do everything, `make demo` and `make test`. `make help` lists the rest.
#
# Stamp files in .venv say what is installed. While they are newer than pyproject.toml and constraints.txt,
# no installer is called at all: the second run is quick and works offline.
# Every path is relative, because make cannot handle a target with a space in its name.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt

# As many processes as there are cores: a test has one thread.
WORKERS ?= auto

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help demo install install-dev extras test lint typecheck pytest format pages licences notebooks docs audit lowest other-python clean

help:
	@echo "make demo       install into .venv if needed, then: parse, draw, train and ablate on datasets/mini"
	@echo "make extras     install extras that are not in [all]: make extras EXTRAS=spacy,enhanced"
	@echo "make test       install the development tools, then: ruff, mypy, pytest on all cores (WORKERS=1: on one)"
	@echo "                tests of more than ten seconds, which .ci/run runs: $(BIN)/pytest -m slow"
	@echo "make pages      write into docs/ what its pages say of the code: cheat sheets, papers, commands, names"
	@echo "make licences   write into docs/licences.md the licences of what [all] installs"
	@echo "make notebooks  run the notebooks of docs/notebooks and write them as .ipynb, with what they show"
	@echo "make docs       build the documentation site: docs/_build/index.html"
	@echo "make audit      known holes of the pinned packages (pip-audit; needs the network)"
	@echo "make lowest     tests with the lowest versions that pyproject.toml admits (uv; needs the network)"
	@echo "make other-python     tests under another Python than that of .venv, where there is one"
	@echo "make format     let ruff rewrite the code in place"
	@echo "make clean      remove .venv and everything that tools have cached (datasets/ and runs/ stay)"
	@echo
	@echo "make -C examples/research help    benchmarks, the GPU check, the runs behind the results, their tests"
	@echo "PYTHON=python3.12   the Python >= 3.11 to make .venv with"

demo: $(VENV)/.installed
	@echo "== graphdep demo"
	@$(BIN)/graphdep demo

test: lint typecheck pytest
	@echo "== all tests passed"

lint: $(VENV)/.dev
	@echo "== ruff check"
	@$(BIN)/ruff check .
	@echo "== ruff format --check"
	@$(BIN)/ruff format --check .

typecheck: $(VENV)/.dev
	@echo "== mypy (half a minute the first time)"
	@$(BIN)/mypy

pytest: $(VENV)/.dev
	@echo "== pytest"
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow" $(PYTEST_ARGS)

# One after the other, even under make -j: the quick checks first.
typecheck: | lint
pytest: | typecheck

audit lowest other-python: $(VENV)/.dev
	@.ci/$@

format: $(VENV)/.dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# What pages say of the code is written into them; the tests fail where it is older than the code.
pages: $(VENV)/.installed
	@echo "== docs/generate"
	@cd docs && ../$(BIN)/python -m generate.pages

licences: $(VENV)/.installed
	@cd docs && ../$(BIN)/python -m generate.licences

notebooks: $(VENV)/.dev
	@echo "== docs/make_notebooks.py"
	@$(BIN)/python docs/make_notebooks.py

# -n -W: a reference that leads nowhere fails. What is generated is written anew.
docs: $(VENV)/.docs
	@echo "== sphinx-build"
	@rm -rf docs/_generated
	@$(BIN)/sphinx-build -n -W --keep-going -q -c docs . docs/_build
	@echo "== docs/_build/index.html"

install: $(VENV)/.installed

install-dev: $(VENV)/.dev

$(VENV)/.created:
	@command -v "$(PYTHON)" >/dev/null || { echo "No '$(PYTHON)' here: install Python 3.11 or newer, \
	or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "'$(PYTHON)' is \
	$$("$(PYTHON)" --version 2>&1); graphdep needs Python 3.11 or newer: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { echo "'$(PYTHON)' cannot make virtual \
	environments (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@echo "== making $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

# torch first: whatever depends on it then takes the build that is already there.
$(VENV)/.torch: constraints.txt | $(VENV)/.created
	@echo "== installing PyTorch (the largest download; once)"
	@$(PIP) setuptools wheel torch
	@touch $@

# No build isolation, so that a change of pyproject.toml needs no network either. Compat: as a plain path the package
# is found before a clone's folder of the same name that lies beside a script.
EDITABLE := --no-build-isolation --config-settings editable_mode=compat

$(VENV)/.installed: pyproject.toml constraints.txt $(VENV)/.torch
	@echo "== installing graphdep and what it needs"
	@$(PIP) $(EDITABLE) -e ".[all]"
	@touch $@

extras: $(VENV)/.installed
	@test -n "$(EXTRAS)" || { echo "name them: make extras EXTRAS=spacy,enhanced"; exit 2; }
	@echo "== installing the extras $(EXTRAS)"
	@$(PIP) $(EDITABLE) -e ".[$(EXTRAS)]"

$(VENV)/.dev: pyproject.toml constraints.txt $(VENV)/.installed
	@echo "== installing the development tools"
	@$(PIP) $(EDITABLE) -e ".[dev]"
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt $(VENV)/.installed
	@echo "== installing what builds the site"
	@$(PIP) $(EDITABLE) -e ".[docs]"
	@touch $@

clean:
	@echo "== removing .venv, build and cache folders"
	@rm -rf $(VENV) build dist docs/_build docs/_generated .pytest_cache .mypy_cache .ruff_cache .hypothesis ./*.egg-info
	@find graphdep tests examples -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
