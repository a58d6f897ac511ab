# Every target does its own set-up in .venv inside this folder; only python3 and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo test check format bench picture clean

demo: $(READY)  ## the paper's synthetic figure at a small size
	$(BIN)/overcast demo

test: check  ## everything CI runs
	$(BIN)/pytest -n auto

check: $(READY)  ## format, lint, types, import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## speed as ratios to the bare NumPy calls
	$(BIN)/python benchmarks/core.py

picture: demo  ## the README's picture
	cp overcast-out/demo/figure.png docs/demo.png

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache overcast-out
