# graphdep: two commands do everything, `make demo` and `make test`. `make help` lists the rest.
#
# Stamp files in .venv say what is installed. While they are newer than pyproject.toml and constraints.txt,
# no installer is called at all: the second run is quick and works offline.
# Every path is relative, because make cannot handle a target with a space in its name.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt

# The interpreter that runs benchmarks: .venv, or the one that was named (`make gpu-check PYTHON=python3`),
# which then must have torch and torch-geometric itself.
ifeq ($(origin PYTHON),file)
RUN_DEPS := $(VENV)/.installed
RUN := $(BIN)/python
else
RUN_DEPS := check-python
RUN := PYTHONPATH="$(CURDIR)$${PYTHONPATH:+:$$PYTHONPATH}" "$(PYTHON)"
endif

# As many processes as there are cores: a test has one thread.
WORKERS ?= auto
CORES ?= $(shell nproc 2>/dev/null || echo 1)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Of the evidence programme: minutes to run for, runs at once, and the folder that has the corpora.
MINUTES ?= 170
RUNS ?= 1
RAW ?=
PREPARED ?= .carry/evidence
EVIDENCE := examples/evidence.py $(if $(RAW),--raw-from "$(RAW)") $(if $(ONLY),--only $(ONLY)) $(if $(RETRY),--retry)

.PHONY: campaigns tables evidence evidence-status gpu-prepare gpu-campaign
.PHONY: docs help demo extras test lint typecheck pytest format bench bench-attention bench-scaling gpu-check check-python
.PHONY: install install-dev clean audit lowest other-python

help:
	@echo "make demo       install into .venv if needed, then: parse, draw, train and ablate on datasets/mini"
	@echo "make extras     install extras: make extras EXTRAS=pretrained,enhanced"
	@echo "make test       install the development tools, then: ruff, mypy, pytest on all cores (WORKERS=1: on one)"
	@echo "make docs       build the documentation site: docs/_build/index.html"
	@echo "make bench      every ratio of speed with its target, in one table: RAW=DIR with the corpora"
	@echo "make bench-attention  speed of the attention backends against their peers"
	@echo "make bench-scaling  time and memory of dt as sentences and batches grow, into runs/scaling"
	@echo "make gpu-check  on CUDA, in under ten minutes: results, memory, speed against peers, into runs/gpu_check.json"
	@echo "make evidence   run what examples/claims asks for and is not done: RAW=DIR with the corpora, MINUTES=170, RUNS=1, RETRY=1 for what failed"
	@echo "make campaigns  bad input, kills, faults, two at once, hostile files: hours, and the table of what came out"
	@echo "make evidence-status  what of it is done, running, left, and what is decided"
	@echo "make tables     the tables of README.md, docs, examples/results and examples/claims, from the results that are there"
	@echo "make gpu-prepare      parse and process all of it into PREPARED=.carry/evidence (RAW=DIR)"
	@echo "make gpu-campaign     the same on a machine that has PREPARED alone: MINUTES=9"
	@echo "make audit      known holes of the pinned packages (pip-audit; needs the network)"
	@echo "make lowest     tests with the lowest versions that pyproject.toml admits (uv; needs the network)"
	@echo "make other-python     tests under another Python than that of .venv, where there is one"
	@echo "make format     let ruff rewrite the code in place"
	@echo "make clean      remove .venv and everything that tools have cached (datasets/ and runs/ stay)"
	@echo
	@echo "PYTHON=python3.12   the Python >= 3.11 to make .venv with; for the benchmarks: to run with"

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
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

# One after the other, even under make -j: the quick checks first.
typecheck: | lint
pytest: | typecheck

audit lowest other-python: $(VENV)/.dev
	@.ci/$@

format: $(VENV)/.dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# -n -W: a reference that leads nowhere fails. What is generated is written anew.
docs: $(VENV)/.docs
	@echo "== sphinx-build"
	@rm -rf docs/_generated
	@$(BIN)/sphinx-build -n -W --keep-going -q -c docs . docs/_build
	@echo "== docs/_build/index.html"

bench: $(RUN_DEPS)
	@echo "== examples/benchmarks/ratios.py"
	@$(RUN) examples/benchmarks/ratios.py $(if $(RAW),--raw-from "$(RAW)") $(BENCH_ARGS)

bench-attention: $(RUN_DEPS)
	@echo "== examples/benchmarks/attention.py"
	@$(RUN) examples/benchmarks/attention.py $(BENCH_ARGS)

bench-scaling: $(RUN_DEPS)
	@echo "== examples/benchmarks/scaling.py"
	@$(RUN) examples/benchmarks/scaling.py $(BENCH_ARGS)

gpu-check: $(RUN_DEPS)
	@echo "== examples/benchmarks/gpu_check.py"
	@$(RUN) examples/benchmarks/gpu_check.py $(BENCH_ARGS)

evidence: $(RUN_DEPS)
	@$(RUN) $(EVIDENCE) --minutes $(MINUTES) --workers $(RUNS)

# As many at once as there are cores; what was found is printed, and fails the target.
campaigns: $(VENV)/.dev
	@printf '%s\n' bad_input kill_anywhere same_numbers two_at_once faults hostile_files | \
		OMP_NUM_THREADS=1 xargs -P $(CORES) -I{} $(BIN)/python tests/campaigns/{}.py --write

tables: $(RUN_DEPS)
	@$(RUN) examples/claims.py --write
	@$(RUN) examples/tables.py --write
	@$(RUN) examples/learning_curve.py

evidence-status: $(RUN_DEPS)
	@$(RUN) $(EVIDENCE) --status

gpu-prepare: $(RUN_DEPS)
	@$(RUN) $(EVIDENCE) --root "$(PREPARED)" --prepare

gpu-campaign: $(RUN_DEPS)
	@$(RUN) examples/evidence.py $(if $(ONLY),--only $(ONLY)) --root "$(PREPARED)" --minutes $(MINUTES) --workers $(RUNS)

check-python:
	@$(RUN) -c 'import torch, torch_geometric, graphdep' || { echo "'$(PYTHON)' must have torch and \
	torch-geometric; leave PYTHON out to use .venv" >&2; exit 1; }

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
	@$(PIP) $(EDITABLE) -e .
	@touch $@

extras: $(VENV)/.installed
	@test -n "$(EXTRAS)" || { echo "name them: make extras EXTRAS=pretrained,enhanced"; exit 2; }
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
