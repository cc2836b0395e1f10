# Each target sets up what it needs: .venv is made once, and again after a change of the dependencies.
PYTHON = python3
EXTRAS = dart,report,dev,mujoco,bullet,train,cluster,gym,record
PYTEST_ARGS = -n 2

BIN = .venv/bin
INSTALLED = .venv/installed-$(EXTRAS)
SUITABLE = import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' Makefile

test: $(INSTALLED) ## run the tests (PYTEST_ARGS="-n 2")
	@$(BIN)/pytest $(PYTEST_ARGS)

demo: $(INSTALLED) ## the whole story at small scale: throw, learn, measure, and a page in build/demo
	$(BIN)/stiction collect box --throws 300 --out build/demo/data
	$(BIN)/stiction train build/demo/data --out build/demo/box.safetensors --time-budget 60
	$(BIN)/stiction evaluate build/demo/box.safetensors --contacts 10000
	$(BIN)/stiction reproduce trajectories --quick --law build/demo/box.safetensors --out build/demo
	@echo "Open build/demo/index.html in a browser."

lint: $(INSTALLED) ## check style, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports --no-logo

setup: $(INSTALLED) ## only install

clean: ## remove .venv, build and all caches
	@rm -rf .venv build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c '$(SUITABLE)' || { \
	    echo "stiction needs Python 3.11 to 3.13 here (DART has no wheels for later ones);" \
	        "$(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
	    echo "Name another one, for example: make test PYTHON=python3.12"; exit 1; } >&2
	@echo "Installing into .venv ($(EXTRAS)): a minute or two, once"
	@$(BIN)/python -c 'import pip; $(SUITABLE)' 2>/dev/null \
	    || $(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@touch '$@'

.PHONY: help test demo lint setup clean
