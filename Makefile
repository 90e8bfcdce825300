# Everything that a developer does. `make demo` and `make test` need nothing but Python 3.11 or newer and a network.
SHELL := /bin/bash
UV_VERSION := 0.13.9
UV := $(shell command -v uv || echo .tools/bin/uv)
BIN := .venv/bin
SOURCES := rltrain crds cli trainer_image tests
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test check reference lock format clean

demo: .venv/installed  ## run the quickstart job and show its reward rising
	$(BIN)/rltrain run examples/quickstart.yaml

test: .venv/installed  ## every test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest

check: .venv/installed  ## format, lint, types, import contracts, generated files
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m rltrain_api.reference | diff -u docs/manifest.md - || (echo "run: make reference" && false)

reference: .venv/installed  ## write docs/manifest.md from the models
	$(BIN)/python -m rltrain_api.reference > docs/manifest.md

format: .venv/installed  ## put the code into its form
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

lock: $(UV)  ## renew requirements/ from pyproject.toml
	$(UV) pip compile pyproject.toml --all-extras --group dev --generate-hashes --python-version 3.11 \
	  --python-platform x86_64-unknown-linux-gnu --no-emit-index-url --no-header --upgrade -q -o requirements/dev.txt

.venv/installed: requirements/dev.txt pyproject.toml | $(UV)
	@echo "Installing the pinned packages into .venv (PyTorch with CUDA is large: 5 GB on disk) …"
	test -x $(BIN)/python || $(UV) venv -q --python '>=3.11' .venv
	VIRTUAL_ENV=.venv $(UV) pip sync -q --require-hashes --compile-bytecode requirements/dev.txt
	VIRTUAL_ENV=.venv $(UV) pip install -q --no-deps --no-build-isolation -e .
	touch $@

.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/pip install -q uv==$(UV_VERSION)

clean:  ## remove what these targets made
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
