# `make` alone lists the targets. Each target that needs Python makes its own virtual environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export HUSH_DATA ?= $(abspath $(wildcard ../shared/data))
export HUSH_ORACLE ?= $(abspath $(wildcard ../shared/oracle))

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-torch test-lowest lint check bench docs papers clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# what a user installs, then what a developer needs besides: the first answer does not wait for the tools of the tests
$(VENV)/core: pyproject.toml
	@echo "Making $(VENV) and installing hush (about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[tables]"
	@touch $@

$(VENV)/ready: $(VENV)/core papers/pyproject.toml
	@echo "Installing the tools of the tests (two or three minutes) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]" -e ./papers
	@touch $@

demo: $(VENV)/core ## private answers over a sample table: values, error bars, chart, receipt
	@mkdir -p build
	$(BIN)/hush sample visits --rows 100000 --out build/visits.parquet
	@rm -f build/visits.ledger build/visits.ledger-*
	$(BIN)/hush ledger new build/visits.ledger --epsilon 3 --delta 1e-5
	$(BIN)/hush answer build/visits.parquet --unit patient_id --by ward --count-units --mean stay_days:0:30 --groups-per-unit 8 \
		--keys private --epsilon 1 --delta 1e-6 --ledger build/visits.ledger --label "patients by ward"
	$(BIN)/hush ledger show build/visits.ledger

test: $(VENV)/ready ## every test but the slow exhaustive ones
	$(BIN)/python -m pytest -n auto -m "not exhaustive" --durations=15

test-all: $(VENV)/ready ## every test
	$(BIN)/python -m pytest -n auto

# PyTorch is large: these tests have an environment of their own, and skip in `make test`. `make test-torch
# TORCH=torch==2.13.0` installs one version, for example the one for which a package index has a build without CUDA.
TORCH ?= torch
.venv-torch/ready: pyproject.toml
	@echo "Making .venv-torch with PyTorch and Opacus (several minutes, some gigabytes) ..."
	@$(PYTHON) -m venv .venv-torch
	@.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check -e ".[torch,accounting]" "$(TORCH)" pytest hypothesis mpmath
	@touch $@

test-torch: .venv-torch/ready ## the tests that need PyTorch, Opacus and dp_accounting, in an environment of their own
	.venv-torch/bin/python -m pytest tests/learn/test_torch_accountant.py tests/learn/test_tensor_sums.py tests/learn/test_batches.py tests/learn/test_opacus.py \
		tests/privacy/test_events.py tests/privacy/test_exchange.py tests/test_docs.py -k "not test_docs or deep_learning"

# The lowest versions that pyproject.toml allows. Their wheels are for Python 3.11. Flower needs a newer cryptography than
# hush does, so it comes last.
LOWEST_PYTHON ?= python3.11
.venv-lowest/ready: pyproject.toml .ci/lowest.py
	@echo "Making .venv-lowest with the lowest versions of dependencies (two minutes) ..."
	@$(LOWEST_PYTHON) -m venv .venv-lowest
	@.venv-lowest/bin/python .ci/lowest.py tables learn excel charts accounting >.venv-lowest/lowest.txt
	@.venv-lowest/bin/python .ci/lowest.py --alone federated >.venv-lowest/flower.txt
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --prefer-binary -r .venv-lowest/lowest.txt \
		"polars==1.3.0" hypothesis mpmath pytest pytest-xdist
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

LOWEST_TESTS := tests/cli/test_doctor.py tests/releasing tests/ledger/test_ledger.py tests/ledger/test_file.py tests/sampling/test_exact.py \
	tests/sampling/test_choice.py tests/noise/test_stable.py tests/privacy/test_composition.py tests/privacy/test_events.py \
	tests/privacy/test_exchange.py tests/report/test_chart_files.py tests/tables/test_question.py tests/tables/test_units.py \
	tests/tables/test_arrow.py tests/tables/test_source.py tests/tables/sql/test_answers.py tests/tables/sql/test_joins_in_sql.py \
	tests/learn/test_privacy.py
test-lowest: .venv-lowest/ready ## tests with the lowest versions of dependencies, in an environment of its own
	.venv-lowest/bin/python -m hush doctor
	.venv-lowest/bin/python -m pytest -n auto -m "not exhaustive" $(LOWEST_TESTS)
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -r .venv-lowest/flower.txt
	.venv-lowest/bin/python -m pytest -n auto -m "not exhaustive" tests/federated/test_flower.py tests/federated/test_share_mod.py

lint: $(VENV)/ready ## linter, types, doctests
	$(BIN)/ruff check src papers tests bench examples
	$(BIN)/ruff format --check src papers tests bench examples
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto --doctest-modules src papers

check: lint ## the same, then the architecture and every code block of the pages: about a minute
	$(BIN)/python -m pytest -n auto -m "not exhaustive" tests/test_architecture.py tests/test_docs.py

bench: ## every benchmark beside peers and limits: docs/benchmarks.md, the README's tables (about half an hour)
	@$(PYTHON) bench/environment.py
	@.venv-bench/bin/python bench/run.py

docs: $(VENV)/ready ## the documentation as a site: build/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html is written."

papers: $(VENV)/ready ## recompute the tables and figures of the four papers: build/papers/report.html
	@$(BIN)/hush-papers --out build/papers

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .venv-torch .venv-lowest .venv-bench .venv-bench-diffprivlib .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist
