# Every target does its own set-up in .venv inside this folder; only python3 and make are needed.
PYTHON ?= python3
DATA ?= ../shared/data
VENV := .venv
BIN := $(VENV)/bin
# By environment, so that the tools that build the package are held to it too.
PIP := PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check

# One process per core. Tests of one file run in one of them, since many share what takes long to compute.
SHARED := -n auto --dist loadfile

.PHONY: demo test test-extras test-lowest check format bench judge picture clean

demo: $(VENV)/user  ## the paper's synthetic figure at a small size
	$(BIN)/overcast demo

test: check  ## everything CI runs, a thread each for the processes that share the cores
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest $(SHARED)

test-extras:  ## each extra by itself, in a virtual environment of its own: is it enough for what it is for?
	for extras in '' plot scores plot,scores experiments movielens dask service postgres; do \
		echo "with: $$extras" && $(PYTHON) -m venv --clear $(VENV)-extras && \
		$(subst $(BIN),$(VENV)-extras/bin,$(PIP)) ".$${extras:+[$$extras]}" && \
		(cd $(VENV)-extras && bin/python ../tests/extras.py "$$extras") || exit 1; \
	done

test-lowest:  ## all tests with the lowest versions that pyproject.toml declares, in a virtual environment of its own
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv  # pip takes the highest versions
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest/bin/python --resolution lowest-direct --editable '.[dev]'
	OPENBLAS_NUM_THREADS=1 $(VENV)-lowest/bin/pytest $(SHARED) -W ignore::DeprecationWarning  # old versions warn about what they are used with

check: $(VENV)/dev  ## format, lint, types, import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/dev  ## speed as ratios to the bare NumPy calls, and to a peer
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/kernel.py

judge: $(VENV)/dev  ## the default against tuned opponents on problems in many units; resumes what was interrupted
	PYTHONPATH=benchmarks $(BIN)/python -m untuned.judge --part all --keep benchmarks/untuned/results.json

picture: demo  ## the README's pictures, from the real data in the folder DATA
	cp overcast-out/demo/figure.png docs/demo.png
	$(BIN)/overcast reproduce kernel
	cp overcast-out/kernel/figure.png docs/kernel.png
	$(BIN)/overcast reproduce forecasts --data $(DATA)
	cp overcast-out/forecasts/calibration.png docs/forecasts.png
	$(BIN)/overcast reproduce all --data $(DATA)
	cp overcast-out/all/figure.png docs/figure1.png
	$(BIN)/overcast reproduce untuned --data $(DATA)
	cp overcast-out/untuned/figure.png docs/untuned.png
	$(BIN)/overcast reproduce policies --data $(DATA)
	cp overcast-out/policies/figure.png docs/policies.png

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# What a user of the package needs, and what its developers need on top.
$(VENV)/user: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[movielens]'
	touch $@

$(VENV)/dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/user

clean:
	rm -rf $(VENV) $(VENV)-extras $(VENV)-lowest .mypy_cache .pytest_cache .ruff_cache overcast-out
