# Every target does its own set-up in .venv inside this folder; only python3 and make are needed.
PYTHON ?= python3
DATA ?= ../shared/data
VENV := .venv
BIN := $(VENV)/bin
# By environment, so that the tools that build the package are held to it too.
PIP := PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check
IN_RELEASE := $(subst $(BIN),$(VENV)-release/bin,$(PIP))

# One process per core. Tests of one file run in one of them, since many share what takes long to compute.
SHARED := -n auto --dist loadfile

# All targets with plain names, so that none waits for a file of its name.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

demo: $(VENV)/user  ## the paper's synthetic figure at a small size
	$(BIN)/overcast demo

test: check  ## everything CI runs, a thread each for the processes that share the cores
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest $(SHARED)

test-extras:  ## each extra by itself, in a virtual environment of its own: is it enough for what it is for?
	for extras in '' plot scores plot,scores completion gym experiments movielens dask service client parquet postgres; do \
		echo "with: $$extras" && $(PYTHON) -m venv --clear $(VENV)-extras && \
		$(subst $(BIN),$(VENV)-extras/bin,$(PIP)) ".$${extras:+[$$extras]}" && \
		(cd $(VENV)-extras && bin/python ../tests/extras.py "$$extras") || exit 1; \
	done

# A library, and what must be installed beside it, on each line.
LIBRARIES ?= tests/adapters/libraries.txt

test-adapters:  ## forecasts of real libraries, each in a virtual environment of its own; keeps the results and renews docs/forecasts-in.md
	while read library others; do \
		$(PYTHON) -m venv --clear $(VENV)-adapters && \
		$(VENV)-adapters/bin/python -m pip install --quiet --disable-pip-version-check . "$$library" $$others && \
		OPENBLAS_NUM_THREADS=1 $(VENV)-adapters/bin/python -W ignore tests/adapters/real.py "$$library" tests/adapters/results.json || exit 1; \
	done < $(LIBRARIES)
	$(MAKE) $(VENV)/dev && PYTHONPATH=tests $(BIN)/python tests/adapters/table.py

test-generated: $(VENV)/dev  ## a client that openapi-python-client generates, in a virtual environment of its own, against a running service
	$(PYTHON) -m venv $(VENV)-generated
	$(VENV)-generated/bin/python -m pip install --quiet --disable-pip-version-check openapi-python-client
	$(BIN)/python tests/generated/generate.py $(VENV)-generated

test-lowest:  ## all tests with the lowest versions that pyproject.toml declares, in a virtual environment of its own
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv  # pip takes the highest versions
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest/bin/python --resolution lowest-direct --editable '.[dev]'
	OPENBLAS_NUM_THREADS=1 $(VENV)-lowest/bin/pytest $(SHARED) -W ignore::DeprecationWarning  # old versions warn about what they are used with

coverage: $(VENV)/dev  ## all tests, and which lines and branches of the package they run
	mkdir -p overcast-out
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest $(SHARED) --cov --cov-report=term --cov-report=json:overcast-out/coverage.json
	$(BIN)/python docs/tools/coverage_summary.py overcast-out/coverage.json docs/results/coverage.json

stranger:  ## the way of docs/first.md in an empty environment, each step timed
	rm -rf $(VENV)-stranger
	$(PYTHON) docs/tools/stranger.py $(VENV)-stranger docs/results/stranger.json

release-check:  ## wheel and source archive as they would be released, installed and tried in an empty environment
	rm -rf dist
	$(PYTHON) -m venv --clear $(VENV)-release
	$(IN_RELEASE) build
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(VENV)-release/bin/python -m build --outdir dist
	$(PYTHON) -m venv --clear $(VENV)-release
	$(IN_RELEASE) dist/*.whl
	cd $(VENV)-release && bin/python ../tests/release.py .. bare
	$(IN_RELEASE) "$$(ls dist/*.whl)[experiments]"
	cd $(VENV)-release && bin/python ../tests/release.py .. experiments

check: $(VENV)/dev  ## format, lint, types, import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/dev  ## speed as ratios to the bare NumPy calls, and to a peer; and how long importing takes
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/kernel.py
	$(BIN)/python benchmarks/importing.py
	$(BIN)/python benchmarks/chain.py

bench-peers:  ## what other bandit packages can do, and speed beside them, in a virtual environment of their own
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers.txt
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check pytest --editable '.[experiments]'
	$(VENV)-peers/bin/python -m pytest -q -W ignore::DeprecationWarning tests/bench/peers
	$(VENV)-peers/bin/python benchmarks/capabilities.py benchmarks/capabilities.json
	$(VENV)-peers/bin/overcast bench --peers --json --picture docs/peers.png > $(VENV)-peers/peers.json
	mv $(VENV)-peers/peers.json benchmarks/peers.json

docs: $(VENV)/docs  ## the site, in overcast-out/site; every page runs, and a warning fails
	$(BIN)/sphinx-build --fail-on-warning --keep-going --fresh-env --quiet docs overcast-out/site
	@echo "Open overcast-out/site/index.html"

look-site: docs  ## every page in a real browser, wide and narrow, light and dark; needs Chromium (`chromium` on the PATH)
	$(PYTHON) -m venv $(VENV)-browser
	$(VENV)-browser/bin/python -m pip install --quiet --disable-pip-version-check pillow playwright
	$(VENV)-browser/bin/python docs/tools/browse.py overcast-out/site overcast-out/look

linkcheck: $(VENV)/docs  ## links to other sites, which need a network
	$(BIN)/sphinx-build --fail-on-warning --quiet -b linkcheck docs overcast-out/linkcheck

judge-recalibration: $(VENV)/dev  ## recalibration against EMOS on sliding windows; resumes what was interrupted
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m recalibration.judge --data $(DATA) --keep benchmarks/recalibration/results.json

judge-policies: $(VENV)/dev  ## other policies without numbers against themselves, tuned, on the held-out problems
	for policy in thompson ids mostly-greedy; do \
		PYTHONPATH=benchmarks $(BIN)/python -m untuned.judge --part held-out --policy $$policy --setting hidden --trials 30 \
			--keep benchmarks/untuned/results.json || exit 1; \
	done

judge: $(VENV)/dev  ## the default against tuned opponents on problems in many units; resumes what was interrupted
	PYTHONPATH=benchmarks $(BIN)/python -m untuned.judge --part all --keep benchmarks/untuned/results.json

container-check:  ## the Dockerfile's commands as they stand, in a scratch folder
	$(PYTHON) tests/container.py

soak: $(VENV)/dev  ## what the service promises when something breaks, and its speed, in full: about 25 minutes; PARTS="load start" runs some
	PYTHONPATH=benchmarks $(BIN)/python -m soak --keep benchmarks/soak.json $(PARTS)

look: $(VENV)/user  ## the pictures of docs/look.md
	$(BIN)/python examples/look.py docs

screens: $(VENV)/dev  ## the pictures of docs/service, from the dashboard of the demo in Chromium
	PYTHONPATH=tests $(BIN)/python tests/screens.py docs/service

picture: demo look  ## pictures and figures of README and site, from the real data in the folder DATA
	cp overcast-out/demo/story.png docs/story.png
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
	for name in all kernel forecasts untuned policies; do cp overcast-out/$$name/summary.json docs/results/$$name.json; done

# A name, an experiment and its options on each line.
FURTHER ?= docs/results/further.txt

further: $(VENV)/user  ## runs that the site mentions beside the figures, from the real data in the folder DATA
	sed 's|DATA|$(DATA)|' $(FURTHER) | while read name experiment options; do \
		$(BIN)/overcast reproduce $$experiment $$options --out overcast-out/further && \
		cp overcast-out/further/$$experiment/summary.json docs/results/further/$$name.json || exit 1; \
	done

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# What a user of the package needs, and what its developers need on top.
$(VENV)/user: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[movielens]'
	touch $@

$(VENV)/docs: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[docs]'
	touch $@

$(VENV)/dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/user

clean:
	rm -rf $(VENV) $(VENV)-extras $(VENV)-adapters $(VENV)-lowest $(VENV)-peers $(VENV)-release $(VENV)-stranger $(VENV)-browser $(VENV)-generated dist .coverage .mypy_cache .pytest_cache .ruff_cache overcast-out
