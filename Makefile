# Everything is set up by the first command that needs it: Python 3.11 or newer is all it takes.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check lock clean

demo: $(VENV)/.core              ## learn the embedded digits in steps and show what is forgotten
	$(BIN)/remanence demo

test: $(VENV)/.dev               ## all tests, offline, on the CPU
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

check: $(VENV)/.dev              ## lint, format, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lock:                            ## requirements.lock: the pinned versions with hashes
	$(PYTHON) .ci/pins.py lock

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[dev]'
	touch $@ $(VENV)/.core

clean:
	rm -rf $(VENV) runs .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
