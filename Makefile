# Everything sets itself up in .venv from nothing. `make` alone lists what there is.
#
#   PYTHON=/path/to/python   the interpreter to use (default: the first on PATH that is 3.11 or newer)
#   ARGS="..."               passed on to the program that the target runs
#   BENCH=name               which benchmark `make bench` runs (default: ipc)
#   BASE=commit              what `make bench-gate` compares with (default: the last tag, else bench/gate_base)

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BENCH ?= ipc
ARGS ?=
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
export PATH := $(CURDIR)/$(BIN):$(PATH)

# The Python part is an editable install and needs no rebuild; these do.
NATIVE_SOURCES := $(shell find native -name '*.[ch]pp' 2>/dev/null) CMakeLists.txt pyproject.toml

# `$(call requirements,EXPRESSION)` prints requirements of pyproject.toml, one word each, so that each is stated once.
requirements = $(BIN)/python -c 'import tomllib; toml = tomllib.load(open("pyproject.toml", "rb")); \
	project = toml["project"]; print(*(one.replace(" ", "") for one in $(1)))'

# `$(call need,TEST,PACKAGES,WHAT)`: unless TEST succeeds, install Debian's PACKAGES if we may, else say what to do.
define need
	@if ! { $(1); } >/dev/null 2>&1; then \
		if [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then \
			echo "==> $(3) is missing: installing $(2)"; \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(2); \
		else \
			echo "$(3) is missing: install it (on Debian: sudo apt-get install $(2)), then run make again." >&2; \
			exit 1; \
		fi; \
	fi
endef

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

.PHONY: setup
setup: $(VENV)/.installed ## only make the environment; the other targets do it when they need it

.PHONY: demo
demo: $(VENV)/.installed $(VENV)/.java ## word count on an embedded local Spark: three workers in three processes, live
	$(BIN)/penstock run examples/wordcount.py --workers 3 $(ARGS)

.PHONY: ring
ring: $(VENV)/.installed ## two processes over one ring, with live latency and throughput
	$(BIN)/python examples/ring_demo.py $(ARGS)

.PHONY: test
test: $(VENV)/.installed $(VENV)/.java $(VENV)/.postgres ## all tests but the long ones of `make storm`, `flood`, `cluster`, `box`, `chaos` and `sanitize`
ifeq ($(strip $(ARGS)),)
	@echo "==> in five parts beside each other: those with Spark or processes wait most of the time"
	@$(MAKE) --no-print-directory --jobs=5 --keep-going streams spark control workers others
else
	$(BIN)/python -m pytest $(ARGS)
endif

# The parts of `make test`. Nothing that one does may be seen by another. Each line says which part it comes from, and
# is shown as soon as a file of tests is done.
STREAMS := $(wildcard tests/spark/test_stream*.py tests/spark/test_transform*.py)
part = @$(BIN)/python -m pytest -o console_output_style=count $(2) 2>&1 | sed --unbuffered 's/^/$(1) | /'
.PHONY: others streams workers control spark
others: $(VENV)/.installed $(VENV)/.java
	$(call part,others ,--ignore=tests/spark --ignore=tests/worker --ignore=tests/control)
streams: $(VENV)/.installed $(VENV)/.java
	$(call part,streams,$(STREAMS))
workers: $(VENV)/.installed
	$(call part,workers,tests/worker)
control: $(VENV)/.installed $(VENV)/.java $(VENV)/.postgres
	$(call part,control,tests/control)
spark: $(VENV)/.installed $(VENV)/.java
	$(call part,spark  ,tests/spark $(STREAMS:%=--ignore=%))

.PHONY: cluster
cluster: $(VENV)/.installed $(VENV)/.java $(VENV)/.networks $(VENV)/.yarn ## the tests that need a Spark cluster, which is one in a box or on YARN, or drivers of their own
	$(BIN)/python -m pytest -m cluster $(ARGS)

.PHONY: box
box: $(VENV)/.installed $(VENV)/.java $(VENV)/.networks ## the longer tests: streams whose drivers and sinks are killed, tasks that move exactly once, and how a cluster in a box begins and ends
	$(BIN)/python -m pytest -m box --ignore=tests/devcluster/test_chaos_in_a_box.py $(ARGS)

.PHONY: versions
versions: $(VENV)/.installed $(VENV)/.java ## the core tests on each supported version of Spark, in environments of their own, and the table of docs/running.md
	$(BIN)/python -m tools.versions $(ARGS)

.PHONY: chaos
chaos: $(VENV)/.installed $(VENV)/.java $(VENV)/.networks ## random faults on virtual time and on a cluster in a box; the same again: PENSTOCK_CHAOS_SEED=...
	@export PENSTOCK_CHAOS_SEED=$${PENSTOCK_CHAOS_SEED:-$$((RANDOM * 32768 + RANDOM + 1))}; \
	echo "==> PENSTOCK_CHAOS_SEED=$$PENSTOCK_CHAOS_SEED"; \
	PENSTOCK_CHAOS_ROUNDS=$${PENSTOCK_CHAOS_ROUNDS:-300} \
		$(BIN)/python -m pytest tests/testing/test_chaos.py $(ARGS); \
	PENSTOCK_CHAOS_BOX_ROUNDS=$${PENSTOCK_CHAOS_BOX_ROUNDS:-3} \
		$(BIN)/python -m pytest -m box -s tests/devcluster/test_chaos_in_a_box.py $(ARGS)

.PHONY: storm
storm: $(VENV)/.installed ## kill and stop processes at random instants, thousands of times, and check every record
	$(BIN)/python -m pytest -m storm -s $(ARGS)

.PHONY: flood
flood: $(VENV)/.installed $(VENV)/.java ## more input than can be taken, slow and stopped consumers, two minutes each: PENSTOCK_FLOOD_S=120
	$(BIN)/python -m pytest -m flood -v $(ARGS)

.PHONY: fuzz
fuzz: $(VENV)/.fuzzed ## fuzz all decoders of what comes from outside: make fuzz ARGS="--seconds 600 [--atheris] [target ...]"
	$(BIN)/python -m tests.fuzz $(ARGS)

.PHONY: sanitize
sanitize: $(VENV)/.created ## the C++ explorer; stress and fuzz under TSan, then under ASan and UBSan
	@for sanitizer in off thread address; do \
		echo "==> sanitizer: $$sanitizer"; \
		cmake -S . -B "build/sanitize-$$sanitizer" -G Ninja --log-level=WARNING \
			-DPENSTOCK_NATIVE_TESTS=ON -DPENSTOCK_SANITIZE="$$sanitizer" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON; \
		cmake --build "build/sanitize-$$sanitizer"; \
		ctest --test-dir "build/sanitize-$$sanitizer" --no-tests=error --output-on-failure $(ARGS); \
	done

# What runs the plane hardest: frames of all kinds, damaged ones included, rings with processes that are killed at any
# instruction, and workers that die, are stopped and move. TSan cannot follow the threads of a child that was forked.
PLANE_TESTS := tests/worker/test_tuple_decoder.py tests/worker/test_row_encoder.py tests/worker/test_emitter.py \
	tests/worker/test_fast_path.py tests/worker/test_carriers.py tests/worker/test_over_rings.py tests/fuzz \
	tests/control/test_processes.py tests/control/test_moving_processes.py
# TSan cannot see how libzmq, which is built without it, orders its threads.
LINK_TESTS := tests/transport/test_links.py tests/transport/test_link_intake.py tests/transport/test_link_thread.py
FORKING_TESTS := tests/worker/test_over_rings.py::test_a_peer_that_is_killed_is_known_to_be_dead_though_its_ring_takes_more
.PHONY: sanitize-plane
sanitize-plane: $(VENV)/.installed ## the tests of the native data plane, kills and faults included, under ASan and UBSan, then under TSan
	tools/sanitize_plane.sh address $(or $(ARGS),$(PLANE_TESTS) $(LINK_TESTS) tests/ring)
	tools/sanitize_plane.sh thread $(or $(ARGS),$(PLANE_TESTS) --deselect $(FORKING_TESTS))

.PHONY: lint
lint: $(VENV)/.installed ## style, formatting and strict types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(wildcard src tests bench examples tools)

.PHONY: wheel
wheel: $(VENV)/.created $(VENV)/.java ## build a wheel into dist/, and run the README's program with it in an environment without a compiler
	rm -rf dist
	$(PIP) wheel --no-deps --wheel-dir dist .
	NO_COMPILER=1 PYTHON=$(CURDIR)/$(BIN)/python tools/readme_program.sh dist/*.whl

.PHONY: readme
readme: $(VENV)/.created $(VENV)/.java ## follow the README in an empty folder: pip install this folder, run the README's program
	PYTHON=$(CURDIR)/$(BIN)/python tools/readme_program.sh

.PHONY: fresh
fresh: ## the README's commands in a new clone of HEAD, with an empty home, no pip cache and a minimal PATH
	tools/fresh_machine.sh make demo test readme

.PHONY: bench
bench: $(VENV)/.benched ## run a benchmark: make bench BENCH=ipc ARGS="--quick --json"
	$(BIN)/python -m bench $(BENCH) $(ARGS)

.PHONY: bench-gate
bench-gate: $(VENV)/.installed $(VENV)/.java ## whether this tree is slower than the last release, here and now: make bench-gate ARGS="--short"
	$(BIN)/python -m bench.gate $(if $(BASE),--base $(BASE)) $(ARGS)

.PHONY: clean
clean: ## remove the environment and everything that was built
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@[[ -n "$(PYTHON)" ]] || { \
		echo "Penstock needs Python 3.11 or newer: install one, or name it with make PYTHON=/path/to/python3." >&2; exit 1; }
	$(call need,command -v "$${CXX:-c++}",g++,A C++ compiler)
	$(call need,$(PYTHON) -c 'import ensurepip',$(notdir $(PYTHON))-venv,The venv module of $(PYTHON))
	$(call need,test -e "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h",$(notdir $(PYTHON))-dev,Python.h of $(PYTHON))
	@echo "==> [1/3] creating $(VENV) with $(PYTHON)"
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --upgrade pip cmake ninja $$($(call requirements,toml["build-system"]["requires"]))
	@touch $@

# What penstock depends on comes first and by itself, with build isolation: PySpark is a source archive whose build needs
# `setuptools` and `wheel`, which a new environment does not have. An old pip would get by without them, by `setup.py
# install`, and hide on one machine what fails on another: so it is the newest everywhere.
$(VENV)/.dependencies: $(VENV)/.created pyproject.toml
	@echo "==> [2/3] installing dependencies and development tools: 660 MB to download, of which PySpark is 456"
	$(PIP) install $$($(call requirements,project["dependencies"] + project["optional-dependencies"]["dev"]))
	@touch $@

# Without build isolation and in a fixed folder, so that a rebuild compiles only what changed. A wheel is built elsewhere
# (`make wheel`) and so never gets the crash points.
$(VENV)/.installed: $(VENV)/.dependencies $(NATIVE_SOURCES)
	@echo "==> [3/3] compiling the native core, about a minute, and installing penstock into $(VENV)"
	$(PIP) install --no-build-isolation --no-deps \
		--config-settings='build-dir=build/dev-{wheel_tag}' \
		--config-settings=cmake.define.PENSTOCK_CHAOS=ON \
		--config-settings=cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON \
		--editable .
	@touch $@

# Spark needs a Java of its own. The runtime alone will do.
$(VENV)/.java: $(VENV)/.created
	$(call need,java --add-modules=jdk.incubator.vector -version,default-jre-headless,Java 17 or newer with all its modules)
	@touch $@

# A cluster in a box does without these, on loopback addresses: then what needs nodes that can be cut off is skipped.
$(VENV)/.networks: $(VENV)/.created
	-$(call need,command -v ip && command -v tc,iproute2,iproute2 (for network namespaces))
	@touch $@

# YARN in one JVM. Where it cannot be had, what needs it is skipped.
YARN := build/yarn
$(VENV)/.yarn: $(VENV)/.java $(wildcard tests/spark/yarn/*)
	-$(call need,command -v mvn && command -v javac,maven default-jdk-headless,Maven or a Java compiler (for tests on YARN))
	@echo "==> fetching YARN into $(YARN): 130 MB to download"
	@rm -rf $(YARN)/classes
	@mvn --quiet --batch-mode --file tests/spark/yarn/pom.xml dependency:copy-dependencies \
			-DincludeScope=runtime -DoutputDirectory="$(CURDIR)/$(YARN)/jars" \
		&& javac -d $(YARN)/classes -cp '$(YARN)/jars/*' tests/spark/yarn/YarnForTests.java \
		|| echo "==> no Maven, no Java compiler, or nothing came: the tests on YARN will be skipped"
	@touch $@

$(VENV)/.postgres: $(VENV)/.installed
	-$(call need,command -v initdb || ls /usr/lib/postgresql/*/bin/initdb,postgresql,a PostgreSQL server (for tests of the load store))
	@touch $@

# Coverage-guided fuzzing is an option, taken where it installs: atheris has no wheel for some Pythons.
$(VENV)/.fuzzed: $(VENV)/.installed
	$(PIP) install --only-binary :all: atheris || echo "==> atheris does not install here: fuzz without --atheris"
	@touch $@

# The peers are taken where they install: the benchmark leaves out the columns of those that are not there.
$(VENV)/.benched: $(VENV)/.installed $(VENV)/.java
	@echo "==> installing what the benchmarks compare with"
	$(PIP) install $$($(call requirements,project["optional-dependencies"]["bench"]))
	@for peer in $$($(call requirements,project["optional-dependencies"]["peers"])); do \
		$(PIP) install "$$peer" || echo "==> $$peer does not install here: it will be left out"; \
	done
	-$(call need,command -v javac,default-jdk-headless,A Java compiler (for the Netty columns))
	@touch $@
