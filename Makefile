# Each target sets up what it needs; a second run finds it done.

PYTHON ?= python3
export PYTHON

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo figures-quick figures wheelhouse test test-big crash chaos attack live-promises control-plane monitor dashboard screenshots check format bench clean

# What the examples, the demo and the tests train with. The package itself does not need it; a wheel for a GPU is
# named with make TORCH=...
TORCH ?= torch==2.13.0 safetensors

# Where the public traces lie; those added with `tenuto trace add` are found without it.
DATA ?=
FIGURE = $(BIN)/tenuto lab figure $(if $(DATA),--data $(DATA))

help: ## list these targets
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/lab.stamp $(VENV)/torch.stamp ## real training with deadlines, then a replay under every policy
	$(BIN)/tenuto demo
	@mkdir -p demo
	$(BIN)/tenuto replay lab-200 --policy all --cluster n8g8 --picture demo/replay.png --force

figures-quick: $(VENV)/lab.stamp ## figures 8a, 9, 10 and 11 of the paper, in both semantics; DATA=DIR has the traces
	$(FIGURE) 8a 9 10 11 --without pollux
	$(FIGURE) 8a 9 10 11 --without pollux --compat artifact

figures: $(VENV)/lab.stamp ## all figures of the paper, in both semantics; DATA=DIR has the public traces
	$(FIGURE) all
	$(FIGURE) all --compat artifact

wheelhouse: build/wheelhouse/.complete ## download the wheels for an installation without a network

test: check wheelhouse ## the checks, then every test that takes seconds
	@tools/debian-packages || echo "Tests that need these packages are skipped and listed."
	$(BIN)/pytest -m 'not big and not crash and not chaos and not attack' --numprocesses auto --maxprocesses 8 --dist worksteal

test-big: $(VENV)/dev.stamp $(VENV)/torch.stamp ## the tests that take minutes
	$(BIN)/pytest -m big --durations 0

# The seed of a siege that failed is printed: make crash SEED=17 KILLS=20 has it again.
crash: $(VENV)/dev.stamp ## kill the platform 200 times under load, and look for anything lost or doubled
	SEED=$(or $(SEED),0) KILLS=$(or $(KILLS),200) $(BIN)/pytest -m crash --capture no

# Like make crash, for the workers of one training run.
chaos: $(VENV)/dev.stamp $(VENV)/torch.stamp ## rescale and kill a training run 200 times; every sample must count once
	SEED=$(or $(SEED),0) KILLS=$(or $(KILLS),200) $(BIN)/pytest -m chaos --capture no

attack: $(VENV)/dev.stamp $(VENV)/torch.stamp ## attack a running platform over loopback for minutes: stalling clients, floods, stolen credentials
	$(BIN)/pytest -m attack --capture no

live-promises: $(VENV)/lab.stamp $(VENV)/torch.stamp ## ten training jobs with deadlines, live and simulated, in a picture
	$(BIN)/python benchmarks/live_promises.py

control-plane: $(VENV)/lab.stamp ## how fast the platform takes, answers and decides; about ten minutes
	$(BIN)/python benchmarks/control_plane.py

monitor: $(VENV)/dev.stamp $(VENV)/torch.stamp ## what the history of numbers and watching cost; FULL=1 for 1,000 nodes
	$(BIN)/python benchmarks/monitor.py $(if $(FULL),--full)

dashboard: $(VENV)/dev.stamp ## what pages weigh and cost with 100,000 jobs and 1,000 nodes
	$(BIN)/python benchmarks/dashboard.py

screenshots: $(VENV)/dev.stamp $(VENV)/torch.stamp ## take a picture of every page for docs/img
	$(BIN)/python tools/screenshots

check: $(VENV)/dev.stamp $(VENV)/torch.stamp ## ruff, mypy, import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/dev.stamp ## put the code into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/lab.stamp $(VENV)/torch.stamp ## how fast a replay is, how soon a server listens, what a step and limits on clients cost more
	$(BIN)/python benchmarks/replay.py
	$(BIN)/python benchmarks/start_up.py
	$(BIN)/python benchmarks/steps.py
	$(BIN)/python benchmarks/http_limits.py

clean: ## remove what the other targets made
	rm -rf $(VENV) demo figures build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# pip is the last thing that venv makes: where it stands, the environment is whole.
$(BIN)/pip:
	@tools/debian-packages python3-venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "tenuto needs Python 3.11 or newer; name one with make PYTHON=..." >&2; exit 1; }
	@echo "Creating $(VENV); the first installation takes a minute or two."
	@$(PYTHON) -m venv --clear $(VENV)

$(VENV)/lab.stamp: pyproject.toml | $(BIN)/pip
	@$(PIP) install --editable '.[lab]'
	@touch $@

# What the tests need includes what the demo needs.
$(VENV)/dev.stamp: pyproject.toml | $(BIN)/pip
	@$(PIP) install --editable '.[lab,dev]'
	@touch $(VENV)/lab.stamp $@

# Everything that `pip install tenuto` needs, and what builds its own wheel. The pins of .venv keep both alike.
build/wheelhouse/.complete: pyproject.toml $(VENV)/dev.stamp
	@rm -rf build/wheelhouse && mkdir -p build
	@$(BIN)/python -m pip --quiet --disable-pip-version-check freeze --exclude-editable > build/constraints.txt
	@$(PIP) wheel --constraint build/constraints.txt --wheel-dir build/wheelhouse . hatchling
	@rm build/wheelhouse/tenuto-*.whl
	@touch $@

# In a step of its own: it is large, and changes less often than pyproject.toml. The Makefile names its version.
$(VENV)/torch.stamp: Makefile | $(BIN)/pip
	@test -e $@ || echo "Installing $(TORCH); that is about 0.9 GB, once."
	@$(PIP) install $(TORCH)
	@touch $@
