# Each target sets up what it needs: .venv is made once, and again after a change of the dependencies; the core is
# compiled again after a change in core/ or CMakeLists.txt, only the files that need it.
PYTHON = python3
EXTRAS = dart,report,dev,docs,mujoco,train,cluster,gym,record
PYTEST_ARGS = -n 2
WERROR ?= OFF

BIN = .venv/bin
INSTALLED = .venv/installed-$(EXTRAS)
BUILT = .venv/built-$(WERROR)
CORE = CMakeLists.txt $(shell find core -type f)
SUITABLE = import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
PIP = $(BIN)/python -m pip --disable-pip-version-check
# What builds the core stays in .venv, at one place, so that the next build is a quick one.
BUILD_TOOLS = scikit-build-core nanobind cmake ninja hatchling editables
ENGINES = pybullet 'mujoco-core[sysid]' tabulate
INSTALL = $(PIP) install -qq --no-build-isolation -c constraints.txt -C cmake.define.STICTION_WERROR=$(WERROR)
TORCH_INDEX = https://download.pytorch.org/whl/cpu
LOCK_TORCH = --torch-backend cpu
STUB = src/stiction/_core/__init__.pyi
# Tests that spend their time in the core.
CORE_TESTS = $(filter-out %_compiler.py %_core.py %_core_units.py %_stub.py,$(wildcard tests/core/test_*.py)) \
    $(addprefix tests/laws/test_,coulomb.py impact.py learned.py material.py) tests/simulation/test_rollout.py

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile

test: $(BUILT) ## run all tests (PYTEST_ARGS="-n 2")
	@$(BIN)/pytest $(PYTEST_ARGS)

check: $(BUILT) ## the quick checks, in less than a minute: tests that are not slow, style, direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pytest -m "not slow" $(PYTEST_ARGS)

demo: $(BUILT) ## from a tracker's take to a grasp, then the paper's experiment; a page in build/demo
	@$(BIN)/stiction demo --out build/demo

lint: $(BUILT) ## check style, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports --no-logo

stub: $(BUILT) ## write the core's type stub again, after a change of its bindings
	@$(BIN)/python -m nanobind.stubgen -q -m stiction._core.baseline -p core/python/stub.patterns -o $(STUB)
	@$(BIN)/ruff check -q --fix $(STUB) && $(BIN)/ruff format -q $(STUB)

sanitize: $(BUILT) ## run the core's tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tests/sanitize.sh $(PYTEST_ARGS) $(CORE_TESTS)

other-mujoco: $(BUILT) ## check that other versions of MuJoCo are refused in one sentence
	@tests/other_mujoco.sh

fuzz: $(BUILT) ## try to break it, for minutes: files, calls, laws and robots at random, counted
	@$(BIN)/python -m fuzz --seed 0

fuzz-quick: $(BUILT) ## the same in less than a minute
	@$(BIN)/python -m fuzz --seed 0 --quick

# PyTorch's own index has its wheels without CUDA. Where it cannot be reached: LOCK_TORCH="--find-links FOLDER".
lock: $(BUILT) ## write requirements.lock: the tested set with the hash of every file, of Python 3.11 on Linux
	@$(PIP) install -qq -c constraints.txt uv
	@printf '%s\n' $(BUILD_TOOLS) $(ENGINES) | $(BIN)/uv pip compile --quiet --no-config --generate-hashes --no-header --no-annotate \
	    --python-version 3.11.7 --python-platform x86_64-manylinux_2_28 --default-index https://pypi.org/simple \
	    $(LOCK_TORCH) --all-extras -c constraints.txt pyproject.toml - -o build/requirements.lock
	@{ echo "# Made by make lock, from pyproject.toml and constraints.txt; CONTRIBUTING.md says how to install by it."; \
	    echo "--extra-index-url $(TORCH_INDEX)"; cat build/requirements.lock; } > requirements.lock

docs: $(BUILT) ## build the documentation site into build/site; every warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel: $(BUILT) ## build a wheel into dist, and try it in an environment of its own
	@tests/wheel.sh

setup: $(BUILT) ## only install

clean: ## remove .venv, build and all caches
	@rm -rf .venv build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find src studies tests -name __pycache__ -type d -prune -exec rm -rf {} +

# As CMake does, take the compiler that CXX names, or else the first of these.
compiler:
	@cxx=$${CXX:-$$(command -v c++ || command -v g++ || command -v clang++)}; \
	probe=$$(mktemp) && trap 'rm -f "$$probe"' EXIT && \
	$${cxx:-false} -std=c++20 -o "$$probe" core/check_compiler.cpp 2>/dev/null \
	    || { cat core/needs_compiler.txt; [ -z "$$cxx" ] || echo "($$cxx cannot compile the core.)"; exit 1; } >&2

$(INSTALLED): pyproject.toml studies/pyproject.toml constraints.txt
	@$(PYTHON) -c '$(SUITABLE)' || { \
	    echo "stiction needs Python 3.11 to 3.13 here (DART has no wheels for later ones);" \
	        "$(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
	    echo "Name another one, for example: make test PYTHON=python3.12"; exit 1; } >&2
	@$(MAKE) -s compiler
	@echo "Installing into .venv ($(EXTRAS)) and compiling the core: two or three minutes, once"
	@$(BIN)/python -c 'import pip; $(SUITABLE)' 2>/dev/null \
	    || $(PYTHON) -m venv --clear .venv
	@$(PIP) install -qq -c constraints.txt $(BUILD_TOOLS)
	@$(INSTALL) -e '.[$(EXTRAS)]'
	@$(INSTALL) -e './studies[engines]'
	@rm -f .venv/built-* && touch '$@' $(BUILT)

$(BUILT): $(CORE) | $(INSTALLED)
	@[ -e $@ ] && [ -z "$$(find $(CORE) -newer $@)" ] || $(MAKE) -s core

core: compiler ## compile what changed in core/
	@echo "Compiling what changed in the core"
	@$(INSTALL) --no-deps -e .
	@rm -f .venv/built-* && touch $(BUILT)

.PHONY: help test check demo docs lint lock stub sanitize other-mujoco fuzz fuzz-quick wheel setup clean compiler core
