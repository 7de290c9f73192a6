# Every target sets up what it needs in .venv/ first, which is quick when there is nothing to do.

PYTHON ?= python3
export PATH := $(HOME)/.cargo/bin:$(PATH)
SETUP = @$(PYTHON) scripts/setup.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-unit test-all test-chaos test-durations check bench bench-paired bench-spark test-spark-versions oracle wheels docs clean

help: ## Print this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

setup: ## Set up .venv/ for the demo
	$(SETUP) demo

demo: ## Run the main job: flights through Kafka and Spark (FORMAT=avro, FOLLOW=1 [SPEED=n], KEEP=1, BOOTSTRAP=host:port, PREFIX=text)
	$(SETUP) demo
	@.venv/bin/python -m examples.flights $(if $(FOLLOW),--follow) $(if $(KEEP),--keep) $(if $(SPEED),--speed $(SPEED)) $(if $(BOOTSTRAP),--bootstrap $(BOOTSTRAP)) $(if $(PREFIX),--prefix $(PREFIX)) $(if $(FORMAT),--format $(FORMAT))

test: ## Run the tests of the tiers unit and integration (ARGS="-k name" passes on to pytest)
	$(SETUP) test
	@.venv/bin/python -m scripts.suite test $(ARGS)

test-unit: ## Run those that need no socket, no process and no sleep
	$(SETUP) test
	@.venv/bin/python -m scripts.suite unit $(ARGS)

test-all: ## Run all but chaos: the genuine packages and Apache Kafka compared, foreign clients, Spark (PART=1/3 for a third of the tier differential)
	$(SETUP) test
	@.venv/bin/python -m scripts.suite all $(if $(PART),--part=$(PART)) $(ARGS)

test-chaos: ## Run random models, kills and soaks (SEEDS=20 of each model, MINUTES=5 of each soak)
	$(SETUP) test
	@.venv/bin/python -m scripts.suite chaos $(if $(SEEDS),--seeds $(SEEDS)) $(if $(MINUTES),--minutes $(MINUTES)) $(ARGS)

test-durations: ## Show the slowest tests and fixtures of the last run, and seconds by folder
	@.venv/bin/python -m scripts.suite.durations

check: ## Lint, types, imports, formats, generated code
	$(SETUP) test
	@scripts/check.sh

bench: ## Compare with other clients on a real Kafka (ARGS="--help" shows the options)
	$(SETUP) bench
	@.venv/bin/python -m bench $(ARGS)
	@.venv/bin/python scripts/benchmark_charts.py

bench-paired: ## Compare with another checkout of this (BEFORE=path; ARGS="--help" shows the options)
	$(SETUP) bench
	@.venv/bin/python -m bench.paired $(BEFORE) $(ARGS)

bench-spark: ## Compare with Spark's own Kafka connector
	$(SETUP) bench
	@.venv/bin/python -m bench.spark $(ARGS)
	@.venv/bin/python scripts/benchmark_charts.py

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
