# Every target sets up what it needs in .venv/ first, which is quick when there is nothing to do.

PYTHON ?= python3
export PATH := $(HOME)/.cargo/bin:$(PATH)
SETUP = @$(PYTHON) scripts/setup.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long check bench bench-paired bench-spark test-spark-versions oracle wheels docs clean

help: ## Print this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

setup: ## Set up .venv/ for the demo
	$(SETUP) demo

demo: ## Run the main job: flights through Kafka and Spark (FORMAT=avro, FOLLOW=1 [SPEED=n], BOOTSTRAP=host:port, PREFIX=text)
	$(SETUP) demo
	@.venv/bin/python -m examples.flights $(if $(FOLLOW),--follow) $(if $(SPEED),--speed $(SPEED)) $(if $(BOOTSTRAP),--bootstrap $(BOOTSTRAP)) $(if $(PREFIX),--prefix $(PREFIX)) $(if $(FORMAT),--format $(FORMAT))

test: ## Run all tests (ARGS="-k name" passes on to pytest)
	$(SETUP) test
	@scripts/test.sh $(ARGS)

test-long: ## Run the tests that take minutes: the tutorial, soaks, other languages' clients, Spark's own connector beside ours
	$(SETUP) test
	@scripts/test.sh -m long --timeout 1800 $(ARGS)

check: ## Lint, types, imports, formats, generated code
	$(SETUP) test
	@scripts/check.sh

bench: ## Compare with other clients on a real Kafka (ARGS="--help" shows the options)
	$(SETUP) bench
	@.venv/bin/python -m bench $(ARGS)

bench-paired: ## Compare with another checkout of this (BEFORE=path; ARGS="--help" shows the options)
	$(SETUP) bench
	@.venv/bin/python -m bench.paired $(BEFORE) $(ARGS)

bench-spark: ## Compare with Spark's own Kafka connector
	$(SETUP) bench
	@.venv/bin/python -m bench.spark $(ARGS)

test-spark-versions: ## Run Spark's tests with PySpark 4.0, 4.1 and 4.2 (ARGS="4.0" for one)
	$(SETUP) test
	@.venv/bin/python scripts/test_spark_versions.py $(ARGS)

oracle: ## Compare our bytes with Kafka's own Java classes
	$(SETUP) test
	@.venv/bin/python codegen/check_oracle.py $(ARGS)

wheels: ## Build wheels and the source distribution into dist/, and try them (ARGS="--here" for this machine's alone)
	@$(PYTHON) scripts/wheels.py $(ARGS)

docs: ## Build the documentation as a site into build/site, and check it
	$(SETUP) test
	@.venv/bin/python scripts/site.py

clean: ## Remove what was built, and .venv/
	rm -rf .venv build .cache kernel/target dist spark-warehouse metastore_db derby.log src/barnabas/_kernel*.so
