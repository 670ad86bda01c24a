# `make demo` and `make test` do all set-up by themselves.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

# What Python compiles is kept: every start of deepcs would else compile some 1,400 modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-cluster test-browser lint install wheel docs-results clean

$(INSTALLED): pyproject.toml constraints.txt src/deepcs/_version.py
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile \
		--constraint constraints.txt --editable '.[dev]'
	touch $@

.venv/installed-cluster: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile \
		--constraint constraints.txt --editable '.[dev,cluster]'
	touch $@

.venv/installed-browser: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile \
		--constraint constraints.txt --editable '.[dev,browser]'
	touch $@

install: $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/deepcs demo

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m "not long and not cluster and not browser"

test-all: lint
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m "not cluster and not browser"

test-cluster: .venv/installed-cluster
	$(BIN)/python -m pytest -m cluster

# Drives the chromium of the system, or that of $$CHROMIUM; none is downloaded.
test-browser: .venv/installed-browser
	$(BIN)/python -m pytest -m browser

# Every table and figure of docs/results.md, from the logs in docs/data.
docs-results: $(INSTALLED)
	$(BIN)/python tools/docs_results.py

wheel: $(INSTALLED)
	rm -rf build dist  # what is left in build would go into the wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check \
		--no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf .venv build dist
