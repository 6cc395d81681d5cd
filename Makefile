# Every target sets up .venv by itself; `make help` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-share durations figures faults lint docs bench clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
REQUIREMENTS := pyproject.toml constraints.txt

WORKERS ?= 2
# Compiled programs are kept between runs. Each worker is one process with XLA's own threads, which
# sleep when idle; BLAS threads spin, so NumPy and SciPy get one thread for each worker.
TEST_ENV := JAX_COMPILATION_CACHE_DIR="$(CURDIR)/.cache/jax" OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
ON_CPU := JAX_PLATFORMS=$${JAX_PLATFORMS:-cpu}
# More than half of the fast tests' time is compiling: they do it without the passes that make
# programs fast, and with the emitter that takes half the time of the usual one for small programs.
# One part of a program at a time: two workers use both cores already. `make test-all` compiles as
# for users.
QUICK := JAX_DISABLE_MOST_OPTIMIZATIONS=true XLA_FLAGS="$$XLA_FLAGS --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
PYTEST := $(BIN)/python -m pytest
# Tests of one file stay with one worker, so that what they share is made and compiled once.
SPREAD := -n $(WORKERS) --dist loadfile

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: $(REQUIREMENTS)
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) -e '.[test,plot,xarray,dev]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@$(PIP_INSTALL) -e '.[docs]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	@echo "installing the peers to measure against"
	@$(PIP_INSTALL) -e '.[bench]'
	@touch $@

setup: $(VENV)/.installed  ## create .venv with everything the tests need

demo: setup  ## run one example and draw it
	$(BIN)/zitter run examples/softcore-hydrogen.toml --out demo-output --overwrite
	$(BIN)/zitter plot demo-output -o demo-output/demo.png
	@echo "The picture is demo-output/demo.png"

test: setup  ## the fast tests, on the CPU
	$(QUICK) $(TEST_ENV) $(ON_CPU) $(PYTEST) -q $(SPREAD)

test-all: setup  ## every test; those for GPUs where there is one
	$(TEST_ENV) $(ON_CPU) $(PYTEST) -q $(SPREAD) -m "not gpu and not multiprocess"
	$(TEST_ENV) $(ON_CPU) $(PYTEST) -q -m "multiprocess and not gpu" || test $$? -eq 5
	@if $(BIN)/python -c 'import jax, sys; sys.exit(jax.default_backend() == "cpu")' 2>/dev/null; \
	then $(TEST_ENV) $(PYTEST) -q -m gpu || test $$? -eq 5; \
	else echo "no GPU here: the tests marked gpu are left out"; fi

# A test that hangs ends the run after ten minutes, which says where it was. Tests with several
# processes use both cores, one at a time; what they leave of their time goes to the others.
MINUTES ?= 20
ONE_SHARE := --share $${SHARE:-commit} --max-worker-restart 0 --durations 20 \
  -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true
test-share: setup  ## a fifth of the slow tests, chosen by the commit, and those of changed files
	@failed=0; end=$$(($$(date +%s) + 60 * $(MINUTES))); export $(TEST_ENV) $(ON_CPU); \
	$(PYTEST) -q -n 1 $(ONE_SHARE) --minutes $$($(BIN)/python tests/shares.py $(MINUTES)) \
	  -m "multiprocess and not gpu" || test $$? -eq 5 || failed=1; \
	left=$$(((end - $$(date +%s)) / 60)); \
	$(PYTEST) -q -n $(WORKERS) $(ONE_SHARE) --minutes $$left \
	  -m "slow and not gpu and not multiprocess" || test $$? -eq 5 || failed=1; \
	exit $$failed

durations: setup  ## run all slow tests and note how long each takes, to deal out the shares
	$(TEST_ENV) $(ON_CPU) $(PYTEST) -q $(SPREAD) --write-durations \
	  -m "slow and not gpu and not multiprocess"
	$(TEST_ENV) $(ON_CPU) $(PYTEST) -q -n 1 --write-durations -m "multiprocess and not gpu"

figures: setup  ## list each figure of README and docs with its record; UPDATE=--update writes them anew
	$(BIN)/python tests/figures.py $(UPDATE)

faults: setup  ## plant faults into a copy of the source: which of them do tests find?
	$(QUICK) $(TEST_ENV) $(ON_CPU) $(BIN)/python tests/faults/plant.py --unchanged --jobs 2 $(JSON)

lint: setup  ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

docs: $(VENV)/.installed-docs  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "The documentation is docs/_build/html/index.html"

bench: $(VENV)/.installed-bench  ## measure the time-dependent solvers against their peers
	$(BIN)/zitter bench tdse_peers

clean:  ## remove .venv, caches and everything built
	rm -rf $(VENV) .cache .pytest_cache .ruff_cache .hypothesis build dist demo-output docs/_build
	rm -rf src/*.egg-info
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
