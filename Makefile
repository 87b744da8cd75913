# SPDX-License-Identifier: Apache-2.0
# Tidemark. `make help` lists what there is. `make demo` and `make test` do all
# their own set-up; they need cargo, python3 (with venv), node/npm, make, gcc,
# and root for network namespaces.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
PYTHON ?= python3
SWITCH ?= embedded
ifneq ($(SWITCH),embedded)
ifneq ($(filter-out bmv2 tofino-model,$(SWITCH)),)
$(error SWITCH=$(SWITCH): no such switch; choose embedded, bmv2 or tofino-model)
endif
ifeq ($(SWITCH),tofino-model)
ifneq ($(filter-out ptf,$(MAKECMDGOALS)),)
$(error SWITCH=tofino-model: ptf runs on the model (docs/how-to/tofino.md); for $(MAKECMDGOALS) leave SWITCH out)
endif
endif
ifneq ($(filter steps sweep trial iterate experiment paper test-demo,$(MAKECMDGOALS)),)
$(error SWITCH=$(SWITCH): demo and ptf run on BMv2; for $(MAKECMDGOALS) leave SWITCH out)
endif
endif
# REPRODUCIBLE=1 is to make programs that do not depend on where they are built: no path of this machine
# in them. In a directory of its own, as other flags would have everything compiled again.
ifdef REPRODUCIBLE
export CARGO_TARGET_DIR := $(CURDIR)/target/reproducible
CARGO_DIR := $(abspath $(or $(CARGO_HOME),$(HOME)/.cargo))
export RUSTFLAGS := --remap-path-prefix=$(CURDIR)=tidemark --remap-path-prefix=$(CARGO_DIR)=cargo
# What C libraries have of the time they are compiled at (mimalloc) is that of the commit.
export SOURCE_DATE_EPOCH := $(or $(shell git log -1 --format=%ct 2>/dev/null),0)
endif
TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
BIN_DIR := $(TARGET_DIR)/release
VENV_PYTHON := $(abspath $(VENV))/bin/python
CONSOLE := controller/console
CARGO_FLAGS := --release --locked
WHEEL_DIR := $(TARGET_DIR)/wheel
SCREENSHOTS := $(TARGET_DIR)/screenshots
# Of real TCP.
SHOWN_RUN := $(CURDIR)/common/test-support/recorded/four_flows

export TIDEMARK_BIN_DIR := $(BIN_DIR)

##@ Run

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9_-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: require-switch build venv ## Real TCP through the switch, estimated, advised, measured (KEEP=1 leaves it running; SWITCH=bmv2)
	@$(VENV_PYTHON) -m tidemark_lab run demo --back-end $(SWITCH) $(if $(KEEP),--keep) $(DEMO_FLAGS)

.PHONY: steps
steps: build venv require-root tracefs ## Auto mode under N_b 4, 40, 8: limit over time, bounds judged
	@$(VENV_PYTHON) -m tidemark_lab run steps $(STEPS_FLAGS)

.PHONY: sweep
sweep: build venv require-root tracefs clang ## Many scenarios at several limits: truth, estimates, predictions (about 25 minutes)
	@$(VENV_PYTHON) -m tidemark_lab run sweep $(SWEEP_FLAGS)

.PHONY: trial
trial: build venv require-root tracefs ## The buffer of each rule in turn on nine traffics, then CoDel, FQ-CoDel, PIE and RED, ranked (an hour and a half; TRIAL_FLAGS="--only reno4")
	@$(VENV_PYTHON) -m tidemark_lab run trial $(TRIAL_FLAGS)

.PHONY: iterate
iterate: build venv-ns3 ## Advise, run again at the advised limit, three rounds, on ten simulated traffics (ITERATE_FLAGS="--only reno60")
	@$(VENV_PYTHON) -m tidemark_lab run iterate $(ITERATE_FLAGS)

.PHONY: experiment
experiment: build venv ## An experiment described in a file (FILE=first; EXPERIMENT_FLAGS="--back-end ns3"; docs/how-to/experiments.md)
	@$(VENV_PYTHON) -m tidemark_lab sweep $(or $(FILE),first) $(EXPERIMENT_FLAGS)

PAPER ?= utb
.PHONY: paper
paper: build venv-ns3 ## A paper's figures from own packets, simulated, compared with its values (PAPER=utb; FULL=1: the long form, hours)
	@$(VENV_PYTHON) -m tidemark_lab paper $(PAPER) $(if $(FULL),,--quick) $(PAPER_FLAGS)

.PHONY: truth
truth: ## Estimates compared with the truth of every simulated run, and how often their ranges hold it (TRUTH_FLAGS=--wrong)
	@cargo run $(CARGO_FLAGS) -q -p tidemark-estimators --example truth_table -- $(TRUTH_FLAGS)

REPRODUCE_DATA ?= ../shared/data/ifip21
.PHONY: reproduce
reproduce: venv ## Figures of Updating the Theory of Buffer Sizing from its authors' tables (REPRODUCE_DATA=DIR)
	$(VENV_PYTHON) testbed/reproduce/ifip21.py --data $(REPRODUCE_DATA) --out runs/ifip21

.PHONY: build
build: build-time console ## Every binary, with the console inside
	cargo build $(CARGO_FLAGS)

# CPU time from nothing, measured; the last crates and the linker do not share it among cores.
BUILD_CPU_MINUTES := 8
.PHONY: build-time
build-time: # Before the lines of the compiler
	@if [ ! -e $(BIN_DIR)/tidemark-controller ]; then cores=$$(nproc); \
	  echo "Building console and programs: the first time about $$(($(BUILD_CPU_MINUTES) / cores + 1)) minutes on $$cores cores, later seconds"; fi

PROGRAMS ?= tidemark-collector tidemark-controller tidemark-switch tidemark-traffic
.PHONY: programs
programs: # Only those that are named, without the web console that the controller's needs
	cargo build $(CARGO_FLAGS) $(PROGRAMS:%=-p %) --bins

.PHONY: packages
packages: build $(VENV)/.installed-packages ## Debian packages in target/packages (docs/how-to/install.md; REPRODUCIBLE=1)
	cargo run $(CARGO_FLAGS) -q -p xtask --features proto,programs -- manuals $(TARGET_DIR)/manuals
	$(VENV_PYTHON) deploy/packages/lab/manuals.py $(TARGET_DIR)/manuals
	$(VENV_PYTHON) deploy/packages/build.py --programs $(BIN_DIR) --manuals $(TARGET_DIR)/manuals --out target/packages

# For every CPython from 3.10 on: the stable ABI.
.PHONY: wheel
wheel: $(VENV)/.installed-maturin ## The Python package tidemark-buffer as a wheel in target/wheel (docs/how-to/python.md)
	rm -rf $(WHEEL_DIR)
	$(abspath $(VENV))/bin/maturin build -q $(CARGO_FLAGS) -m controller/python/Cargo.toml -i $(VENV_PYTHON) -o $(WHEEL_DIR)

# The tool writes one file next to each binary's Cargo.toml.
.PHONY: sbom
sbom: console $(TARGET_DIR)/tools/bin/cargo-cyclonedx $(VENV)/.installed-packages ## What is in each program, as CycloneDX, in target/packages
	mkdir -p target/packages
	$(TARGET_DIR)/tools/bin/cargo-cyclonedx cyclonedx -q --manifest-path collector/daemon/Cargo.toml --format json --describe binaries --spec-version 1.5
	rm -f xtask/*.cdx.json testing/simulate/*.cdx.json
	for f in collector/daemon controller/daemon switch/daemon testbed/traffic; do \
	  mv $$f/*_bin.cdx.json target/packages/$$(basename $$f/*_bin.cdx.json _bin.cdx.json).cdx.json || exit 1; done
	cd $(CONSOLE) && npm sbom --sbom-format cyclonedx --omit dev >$(CURDIR)/target/packages/tidemark-console.cdx.json
	$(abspath $(VENV))/bin/cyclonedx-py requirements deploy/packages/lab/libraries.txt --spec-version 1.5 --output-reproducible -o target/packages/tidemark-lab.cdx.json

$(TARGET_DIR)/tools/bin/cargo-cyclonedx:
	cargo install --quiet --locked --version 0.5.9 --root $(TARGET_DIR)/tools cargo-cyclonedx

IMAGE_BASE ?= docker.io/library/debian:12-slim

.PHONY: image
image: packages buildah ## An OCI image in target/image (docs/how-to/containers.md; IMAGE_BASE=DIRECTORY: a root file system)
	$(PYTHON) deploy/image/build.py --out target/image --base $(IMAGE_BASE)

.PHONY: buildah
buildah:
	@command -v buildah >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends buildah >/dev/null; }

.PHONY: clickhouse
clickhouse: venv-clickhouse ## ClickHouse's engine (chDB) with Tidemark's tables on http://127.0.0.1:8123
	@$(VENV_PYTHON) -m tidemark_clickhouse --path runs/clickhouse --schema deploy/clickhouse/schema.sql \
	  $(if $(filter 0,$(shell id -u)),--user nobody) $(CLICKHOUSE_FLAGS)

.PHONY: p4
p4: ## Compile p4src into p4src/build (needs p4c; the result is committed)
	$(PYTHON) p4src/compile.py

.PHONY: p4-tofino
p4-tofino: ## Compile p4src/tna for Tofino 1 and 2 (needs p4c's Tofino backend; the result is committed)
	$(PYTHON) p4src/compile_tofino.py

##@ Test

.PHONY: test
test: test-rust test-p4 test-lab test-python test-console test-clickhouse test-deploy test-mininet test-shell ptf test-demo ## Everything (root; about 20 minutes on 2 cores)
	@echo "all tests passed"

# One command for all: other packages would choose other features, and be compiled again.
.PHONY: test-rust
test-rust: console require-root tracefs ## Unit, property and integration tests of the Rust crates; architecture; generated files
	cargo test $(CARGO_FLAGS) --workspace --exclude tidemark-python --features xtask/proto,xtask/programs --lib --bins --tests
	cargo test $(CARGO_FLAGS) --doc

.PHONY: test-p4
test-p4: venv ## P4 artifacts and report layout; Scapy layer; Wireshark dissector (where tshark is); figures of the benchmarks' pages
	$(VENV_PYTHON) -m pytest -q p4src/tests ptf-tests/unit tools/wireshark/tests switch/daemon/bench testing/bench testing/simulate

.PHONY: test-lab
test-lab: build venv require-root tracefs sshd clang ## The lab: topology, cleanup, summary, report, remote hosts
	$(if $(wildcard /sys/kernel/btf/vmlinux),TIDEMARK_BPF=1) $(VENV_PYTHON) -m pytest -q testbed/reproduce/tests testbed/lab/tests --ignore=testbed/lab/tests/test_demo.py

.PHONY: test-python
test-python: wheel-venv build ## The Python package's wheel in a fresh environment: tables, estimates as `analyze` has them, notebooks
	$(WHEEL_DIR)/venv/bin/python -m pytest -q controller/python/tests

.PHONY: notebooks
notebooks: wheel-venv ## Execute the notebooks and write their pictures into docs/images
	$(WHEEL_DIR)/venv/bin/python controller/python/notebooks/execute.py --pictures docs/images --pages $(SCREENSHOTS)

# The wheel, installed where nothing else of ours is.
.PHONY: wheel-venv
wheel-venv: wheel
	$(PYTHON) -m venv --clear $(WHEEL_DIR)/venv
	$(WHEEL_DIR)/venv/bin/python -m pip install -q --disable-pip-version-check -r controller/python/tests/requirements.txt $(WHEEL_DIR)/*.whl

.PHONY: test-clickhouse
test-clickhouse: build venv-clickhouse ## ClickHouse: front, sink, queries, kills of both ends
	$(VENV_PYTHON) -m pytest -q testbed/clickhouse/tests

.PHONY: test-deploy
test-deploy: build venv-deploy prometheus ## Prometheus rules and Grafana dashboards against a real Prometheus; manual pages; demo --replay
	$(VENV_PYTHON) -m pytest -q deploy/tests deploy/packages/tests/test_manuals.py deploy/packages/tests/test_replay.py \
	  deploy/packages/tests/test_version.py deploy/image/tests/test_tag.py

# Mininet is Debian's, and so is the Python that finds it. Mininet 2.3.0 imports distutils, which
# Python 3.12 has no more, and setuptools brings.
.PHONY: test-mininet
test-mininet: build require-root tracefs ## Tidemark in a Mininet topology, on real TCP
	@if ! /usr/bin/python3 -c "import mininet.net, pytest" 2>/dev/null || ! command -v ping >/dev/null || ! command -v ethtool >/dev/null; then \
	  if command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mininet python3-setuptools python3-pytest iputils-ping ethtool >/dev/null; \
	  else echo "no Mininet found: install mininet, pytest, ping and ethtool for /usr/bin/python3" >&2; exit 1; fi; fi
	/usr/bin/python3 -m pytest -q -p no:cacheprovider testbed/mininet/tests

.PHONY: test-packages
test-packages: packages venv require-root target/debian/etc/debian_version target/debian-python/etc/debian_version ## The packages in a bare Debian 12 (not part of `make test`)
	$(VENV_PYTHON) -m pytest -q -s deploy/packages/tests

.PHONY: test-reproducible
test-reproducible: ## A program built in two directories: the same bytes (PROGRAMS="..."; not part of `make test`)
	$(PYTHON) deploy/packages/reproducible.py $(if $(filter command%,$(origin PROGRAMS)),$(PROGRAMS))

.PHONY: test-image
test-image: packages venv-deploy require-root buildah target/image-base/etc/debian_version ## The OCI image and its containerlab topology, without any registry (not part of `make test`)
	$(VENV_PYTHON) deploy/image/build.py --out target/image --base target/image-base --store target/images
	$(VENV_PYTHON) -m pytest -q -s deploy/image/tests

target/image-base/etc/debian_version: DEBOOTSTRAP_FLAGS = --include=iproute2
target/debian-python/etc/debian_version: DEBOOTSTRAP_FLAGS = --include=python3
target/debian/etc/debian_version target/debian-python/etc/debian_version target/image-base/etc/debian_version: target/%/etc/debian_version:
	@command -v debootstrap >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null; }
	mkdir -p target
	debootstrap --variant=minbase $(DEBOOTSTRAP_FLAGS) bookworm target/$* >target/debootstrap.log 2>&1 || { tail -n 5 target/debootstrap.log >&2; rm -rf target/$*; exit 1; }

.PHONY: test-shell
test-shell: build .venv-shell/.installed ## p4runtime-shell against the embedded switch
	.venv-shell/bin/python -m pytest -q switch/p4runtime-server/tests_python

# p4runtime-shell pins old releases of protobuf and p4runtime.
.venv-shell/.installed: switch/p4runtime-server/tests_python/requirements.txt
	$(PYTHON) -m venv .venv-shell
	.venv-shell/bin/python -m pip install -q --disable-pip-version-check -r $<
	touch $@

.PHONY: test-differential
test-differential: build venv require-root ## Embedded switch against BMv2, frame by frame (needs simple_switch_grpc; DIFFERENTIAL_FLAGS="--packets 5000")
	$(VENV_PYTHON) switch/daemon/tests/differential/run.py $(DIFFERENTIAL_FLAGS)

.PHONY: test-strangers
test-strangers: ## What strangers send to the collector, as much as an attacker would (5 minutes; `make test` has the short form)
	TIDEMARK_FULL_SCALE=1 cargo test $(CARGO_FLAGS) -p tidemark-collector --test it strangers -- --nocapture

.PHONY: test-ns3
test-ns3: build venv-ns3 ## The simulated bottleneck against queueing and TCP theory (needs g++; not part of `make test`)
	$(VENV_PYTHON) -m pytest -q testbed/lab/tests/test_ns3.py testbed/lab/tests/test_experiment_ns3.py

.PHONY: test-demo
test-demo: build venv require-root tracefs ## The demo, shortened, judged by its summary
	$(VENV_PYTHON) -m pytest -q testbed/lab/tests/test_demo.py

.PHONY: test-console
test-console: build browser ## The console: logic, then in a real browser, against a stand-in and the real programs
	cd $(CONSOLE) && npm test && npm run test:browser

.PHONY: screenshots
screenshots: build venv notebooks browser ## Every picture of docs/images, from runs in the repository: console, terminal, report, notebooks
	$(VENV_PYTHON) -m tidemark_lab figures $(SHOWN_RUN) --out $(SCREENSHOTS)/figures
	rm -rf $(SCREENSHOTS)/pictures
	cd $(CONSOLE) && npm run -s screenshots -- --out $(SCREENSHOTS)/pictures --controller $(BIN_DIR)/tidemark-controller \
	  --run $(SHOWN_RUN) --report $(SCREENSHOTS)/figures/report.html --notebook $(SCREENSHOTS)/read-a-run.html
	$(VENV_PYTHON) $(CONSOLE)/dev/palette.py $(SCREENSHOTS)/pictures docs/images

.PHONY: ptf
ptf: require-switch build venv require-root ## Data-plane tests (SWITCH=embedded, bmv2 or tofino-model)
	$(VENV_PYTHON) ptf-tests/run.py --switch $(SWITCH)

.PHONY: ptf-bmv2
ptf-bmv2: venv require-root ## The same on BMv2, without building anything of ours
	$(VENV_PYTHON) ptf-tests/run.py --switch bmv2

SEEDS ?= 200
SEED ?= 1
.PHONY: simulate
simulate: ## The whole chain on a simulated clock under faults from seeds (SEEDS=200 SEED=1; SIMULATE_FLAGS=--verbose)
	@cargo run $(CARGO_FLAGS) -q -p tidemark-simulate -- --seeds $(SEEDS) --seed $(SEED) $(SIMULATE_FLAGS)

.PHONY: simulate-p4runtime
simulate-p4runtime: ## The driver and the switch's P4Runtime server over faulty connections (SEEDS=200)
	P4RUNTIME_SEEDS=$(SEEDS) cargo test $(CARGO_FLAGS) -q -p tidemark-simulate --test it p4runtime_faults -- --nocapture

.PHONY: simulate-mutants
simulate-mutants: ## Planted bugs, built into a copy, and the seed that finds each (MUTANTS_FLAGS="--only NAME --seeds 400")
	@$(PYTHON) testing/simulate/mutants.py $(MUTANTS_FLAGS)

.PHONY: codegen
codegen: $(CONSOLE)/node_modules/.package-lock.json ## Write every generated file (those from the tables of contract/ alone: `cargo xtask codegen`, seconds)
	cargo xtask-programs codegen
	cd $(CONSOLE) && npm run -s types

.PHONY: experiment-reference
experiment-reference: venv ## Write what follows from the model of experiments: JSON Schema, reference page
	$(VENV_PYTHON) -m tidemark_lab.experiment.reference

.PHONY: lint
lint: venv console ## Generated files, architecture, ceilings of weight and prose, formatting, clippy, ruff, mypy, TypeScript
	cargo xtask-programs codegen --check
	cargo xtask architecture
	cargo xtask weight
	cargo xtask prose
	cargo fmt --all --check
	cargo metadata --locked --format-version 1 --manifest-path testing/fuzz/Cargo.toml >/dev/null
	cargo clippy $(CARGO_FLAGS) --workspace --all-targets --features xtask/proto,xtask/programs -- -D warnings
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --all-features check; \
	  else echo "NOT CHECKED: licences and advisories of dependencies (deny.toml): cargo-deny is not installed; CI checks them" >&2; fi
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m ruff format --check .
	cd testbed/lab && $(VENV_PYTHON) -m mypy
	cd controller/python && $(VENV_PYTHON) -m mypy
	$(VENV_PYTHON) -m tidemark_lab.experiment.reference --check
	cd $(CONSOLE) && npm run typecheck && npm run lint

.PHONY: bench
bench: ## Benchmarks; each compares two things in one run
	cargo bench --locked --workspace

BENCH_OF ?= collector
.PHONY: bench-page
bench-page: venv require-root ## A benchmark and its page in docs/benchmarks, with machine and commit (BENCH_OF=collector, controller, switch or watching; BENCH="WORDS")
	$(VENV_PYTHON) testing/bench/page.py $(BENCH_OF) -- $(BENCH)
	$(VENV_PYTHON) testing/bench/page.py --readme

.PHONY: bench-compare
bench-compare: ## Speed against a commit before, in turns; fails below 0.95 (BASE=COMMIT, ONLY="join decode")
	@test -n "$(BASE)" || { echo "error: BASE=COMMIT: name the commit to compare with" >&2; exit 2; }
	$(PYTHON) testing/bench/compare.py $(BASE) $(if $(ONLY),--only $(ONLY))

.PHONY: bench-watching
bench-watching: tracefs ## Goodput and CPU time of a sender with the agent, with tcp_probe alone, without (BENCH="--flows 4")
	cargo build $(CARGO_FLAGS) -p tidemark-collector --bins
	$(PYTHON) collector/daemon/bench/watching.py $(BENCH)

.PHONY: bench-switch
bench-switch: venv require-root ## The switch's pipeline alone, then its highest rate with at most 1 % loss, by frame size, against BMv2 where it is (BENCH="--json FILE --sizes 64 1518")
	cargo build $(CARGO_FLAGS) -p tidemark-switch --bins --examples
	$(VENV_PYTHON) switch/daemon/bench/throughput.py $(BENCH)

.PHONY: fuzz-switch
fuzz-switch: ## Hostile programs, frames and P4Runtime writes, 10 minutes each (FUZZ="SECONDS TARGET...")
	testing/fuzz/run.sh switch $(FUZZ)

.PHONY: bench-collector
bench-collector: require-root ## The collector's speed, figure by figure (4 minutes on a quiet machine; BENCH="join --json=FILE")
	cargo bench --locked -p tidemark-collector --bench collector -- $(BENCH)

.PHONY: bench-controller
bench-controller: ## The controller with 1000 links, generated telemetry (BENCH="--links N ...")
	cargo bench --locked -p tidemark-controller --bench controller -- $(BENCH)

.PHONY: bench-clickhouse
bench-clickhouse: ## The inserting client compared with the official one
	cargo bench --locked -p tidemark-clickhouse --features official-client

.PHONY: soak
soak: ## The collector for 10 minutes at 1 M reports/s (SOAK="SECONDS RATE")
	cargo bench --locked -p tidemark-collector --bench soak -- $(or $(SOAK),600)

.PHONY: fuzz-collector
fuzz-collector: ## Every decoder of the collector, 10 minutes each (FUZZ="SECONDS TARGET...")
	testing/fuzz/run.sh collector $(FUZZ)

##@ Set-up (done by the others as needed)

.PHONY: venv
venv: $(VENV)/.installed ## Python environment of lab and tests

$(VENV)/.installed: testbed/lab/pyproject.toml ptf-tests/requirements.txt
	$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: install python3-venv" >&2; exit 1; }
	$(VENV_PYTHON) -m pip install -q --disable-pip-version-check -e 'testbed/lab[dev,table]' -r ptf-tests/requirements.txt
	touch $@

.PHONY: venv-clickhouse
venv-clickhouse: $(VENV)/.installed-clickhouse ## chDB, 180 MB

$(VENV)/.installed-clickhouse: $(VENV)/.installed testbed/clickhouse/pyproject.toml
	$(VENV_PYTHON) -m pip install -q --disable-pip-version-check -e testbed/clickhouse
	touch $@

.PHONY: venv-deploy
venv-deploy: $(VENV)/.installed-deploy ## Grafana's dashboard builder, Prometheus's parser

$(VENV)/.installed-deploy: $(VENV)/.installed deploy/requirements.txt
	$(VENV_PYTHON) -m pip install -q --disable-pip-version-check -r deploy/requirements.txt
	touch $@

$(VENV)/.installed-packages: $(VENV)/.installed deploy/packages/requirements.txt
	$(VENV_PYTHON) -m pip install -q --disable-pip-version-check -r deploy/packages/requirements.txt
	touch $@

$(VENV)/.installed-maturin: $(VENV)/.installed
	$(VENV_PYTHON) -m pip install -q --disable-pip-version-check maturin==1.16.0
	touch $@

.PHONY: dashboards
dashboards: venv-deploy ## Write deploy/grafana/dashboards (from deploy/grafana/source)
	$(VENV_PYTHON) deploy/grafana/generate.py

.PHONY: venv-ns3
venv-ns3: $(VENV)/ns3/.installed ## ns-3 as headers and libraries, 69 MB (GPL-2.0: only testbed/ns3 links it)

# Of the wheel only its C++ part is used, so that any Python will do.
NS3 := ns3==3.44.post0
$(VENV)/ns3/.installed: $(VENV)/.installed
	$(VENV_PYTHON) -m pip install -q --disable-pip-version-check --no-deps --upgrade --target $(VENV)/ns3 \
	  --python-version 3.11 --only-binary=:all: --platform manylinux_2_28_x86_64 $(NS3)
	touch $@

.PHONY: console
console: $(CONSOLE)/dist/index.html ## Web console

$(CONSOLE)/node_modules/.package-lock.json: $(CONSOLE)/package.json $(CONSOLE)/package-lock.json
	cd $(CONSOLE) && npm ci --no-audit --no-fund
	touch $@

$(CONSOLE)/dist/index.html: $(CONSOLE)/node_modules/.package-lock.json $(CONSOLE)/index.html $(shell find $(CONSOLE)/src $(CONSOLE)/public $(CONSOLE)/build docs -type f 2>/dev/null)
	cd $(CONSOLE) && npm run build
	touch $@

.PHONY: require-root
require-root:
	@test "$$(id -u)" = 0 || { echo "needs root (network namespaces, tracepoints): sudo --preserve-env=PATH make $(MAKECMDGOALS)" >&2; exit 1; }

# Before anything is built for it.
.PHONY: require-switch
require-switch:
ifeq ($(SWITCH),bmv2)
	@command -v simple_switch_grpc >/dev/null || { echo "SWITCH=bmv2: simple_switch_grpc is not on PATH: install p4lang-bmv2 (docs/how-to/bmv2.md), or leave SWITCH out" >&2; exit 2; }
endif

.PHONY: tracefs
tracefs: require-root ## Mounts tracefs where it is not
	@test -e /sys/kernel/tracing/events || mount -t tracefs nodev /sys/kernel/tracing

# The console is tested in a real Chromium: $$CHROMIUM, one on PATH, or Debian's.
.PHONY: browser
browser:
	@if [ -z "$${CHROMIUM:-}" ] && ! command -v chromium chromium-browser google-chrome >/dev/null; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	  else echo "no Chromium found: install it, or set CHROMIUM to its path" >&2; exit 1; fi; fi

# Remote hosts are tested against real ssh servers, one in each namespace; none is reached from outside.
.PHONY: sshd
sshd:
	@if ! test -x /usr/sbin/sshd || ! command -v ssh scp ssh-keygen >/dev/null; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openssh-server openssh-client >/dev/null; \
	  else echo "no OpenSSH found: install sshd, ssh, scp and ssh-keygen" >&2; exit 1; fi; fi

# Builds the lab's own congestion controls, for kernels without them; else their cases are left out.
.PHONY: clang
clang:
	@if ! command -v $${CLANG:-clang} >/dev/null || ! /sbin/ldconfig -p | grep -q libbpf.so.1; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends clang libbpf1 >/dev/null; \
	  else echo "note: no clang or no libbpf.so.1: Scalable, HighSpeed, Vegas and DCTCP only where the kernel has them" >&2; fi; fi

# Rules are tested by promtool and a real Prometheus: those on PATH, or Debian's.
.PHONY: prometheus
prometheus:
	@if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus >/dev/null; \
	  else echo "no Prometheus found: install it (prometheus and promtool on PATH)" >&2; exit 1; fi; fi
