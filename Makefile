# Every target sets up what it needs. `make run` and `make test` are all that a newcomer has to know.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
DATA ?= data
ARGS ?=
SECONDS ?= 60
TARGETS ?= scanner paths scopes tool_json audit

.PHONY: help setup run test test-python test-go test-typescript test-java test-rust lint format protos baseline lock bench bench-compare load eval eval-safety fuzz replay clean

help: ## Say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: .venv/ready ## Make .venv with the service, the client and the tools of development in it

.venv/ready: requirements-dev.lock pyproject.toml clients/python/pyproject.toml clients/python/generate.py $(wildcard protos/ironclaw/memory/v1/*.proto)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e clients/python -e .
	@touch $@

run: setup ## Serve on 127.0.0.1:50051 with the folder ./data (DATA=, ARGS=)
	$(BIN)/ironclaw-memory serve --data-dir $(DATA) $(ARGS)

test: test-python test-go test-typescript test-java test-rust ## Run every test: test-python, test-go, test-typescript, test-java, test-rust

test-python: setup build/semantic/ready ## Run the tests of the service and the Python client
	$(BIN)/python -m pytest $(ARGS)
	PYTHONPATH=build/semantic $(BIN)/python -m pytest tests/unit/test_index_meaning.py

# Each client's tests need its language's tools. A machine without them skips that client and says so; CI never does.
test-go: TOOLS = go
test-typescript: TOOLS = node npm
test-java: TOOLS = javac mvn
test-rust: TOOLS = cargo

test-go test-typescript test-java test-rust: setup
	@missing=; for tool in $(TOOLS); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	if [ -z "$$missing" ]; then $(MAKE) --no-print-directory -C clients/$(@:test-%=%) test; \
	elif [ -n "$$CI" ]; then echo "clients/$(@:test-%=%): not found:$$missing"; exit 1; \
	else echo "clients/$(@:test-%=%): tests skipped, not found:$$missing"; fi

# The optional model of meaning, beside .venv: with it in there, every other test and every benchmark would load it.
build/semantic/ready: pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --no-deps --target build/semantic \
		'wordllama>=0.4,<0.5' 'numpy>=2,<3' 'safetensors>=0.4,<1' 'tokenizers>=0.20,<1'
	@touch $@

lint: setup ## Check protos, style, types and the direction of imports
	$(BIN)/buf format -d --exit-code
	$(BIN)/buf lint
	$(BIN)/buf breaking --against protos/baseline.binpb
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## Bring protos and code into shape
	$(BIN)/buf format -w
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

protos: setup ## Generate the Python messages and stubs anew
	$(BIN)/python clients/python/generate.py

baseline: setup ## Accept the protos of today as what later ones must not break
	$(BIN)/buf build -o protos/baseline.binpb

lock: setup ## Resolve requirements-dev.lock anew
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-header --upgrade \
		--output-file requirements-dev.lock requirements-dev.in

bench: setup ## Measure reads, writes and searches against their floors, and how they grow
	$(BIN)/python -m bench $(ARGS)

bench-compare: setup ## Measure other memories beside the service: make bench-compare DATASET=path/to/locomo.json
	$(BIN)/python -m bench.compare $(if $(DATASET),--dataset $(DATASET)) $(ARGS)

load: setup ## Load servers of its own by ghz or a Python client; a table and build/load/report.html (ARGS="--seconds 20")
	$(BIN)/python -m bench.load $(ARGS)

eval: setup ## Measure recall through the service: make eval DATASET=path/to/locomo.json
	@test -n "$(DATASET)" || { echo "DATASET=path/to/locomo.json is needed; the README says where it comes from."; exit 1; }
	$(BIN)/python -m bench.eval_locomo $(DATASET) $(ARGS)

eval-safety: setup ## Measure the safety check: make eval-safety DIR=folder-with-attacks-and-benign
	$(BIN)/python -m bench.eval_safety $(if $(DIR),--dir $(DIR)) $(ARGS)

fuzz: setup ## Fuzz every target for SECONDS each (TARGETS="scanner audit" for some)
	for target in $(TARGETS); do $(BIN)/python -m tests.fuzz $$target --seconds $(SECONDS) || exit 1; done

replay: setup ## Replay recorded tool calls: make replay TRACES=folder
	@test -n "$(TRACES)" || { echo "TRACES=folder of recordings is needed."; exit 1; }
	$(BIN)/python -m bench.replay_traces $(TRACES)

clean: ## Remove what make made; your data stay
	for client in go typescript java rust; do test ! -f clients/$$client/Makefile || $(MAKE) -C clients/$$client clean; done
	rm -rf .venv build dist clients/python/src/ironclaw .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
