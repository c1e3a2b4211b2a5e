# Giro: `make help` lists what can be done.

SHELL := /bin/bash
BUILD ?= release
OUT := build/$(BUILD)

CC := gcc
WARNINGS := -std=c17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wmissing-prototypes \
            -Wstrict-prototypes -Wvla -Werror
CFLAGS_release := -O2 -g
# Under the sanitizers gcc loses the ranges that its guesses at truncation rest on.
CFLAGS_asan := -O1 -g -Wno-format-truncation -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_coverage := -O0 -g --coverage
PACKAGES := libpq jansson libmicrohttpd libuv libsodium
VERSION := $(shell cat VERSION)
CPPFLAGS := -D_GNU_SOURCE -DGIRO_VERSION='"$(VERSION)"' -Icoordinator -I$(OUT)/generated
CFLAGS = $(WARNINGS) $(CFLAGS_$(BUILD)) $(shell pkg-config --cflags $(PACKAGES))
LDLIBS = $(shell pkg-config --libs $(PACKAGES))

SOURCES := $(filter-out coordinator/main.c,$(sort $(wildcard coordinator/*/*.c)))
SQL_FILES := $(sort $(wildcard schema/*/*.sql participants/*.sql))
OBJECTS := $(SOURCES:%.c=$(OUT)/%.o) $(OUT)/generated/embedded.o
UNIT_TESTS := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/*_test.c)))
DEPENDENCIES := $(OBJECTS:.o=.d) $(OUT)/coordinator/main.d

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all help clean

all: $(OUT)/girod $(OUT)/giroctl ## build girod and giroctl (the default)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo 'Variables of up, down and demo, like: make up GIRO_PORT=9000 (more: docker/up.sh)'
	@sed -n 's/^#   \(GIRO_[A-Z_]*\)  *\(.*[^ ]\)  *(\(.*\))$$/\1|\2|\3/p' docker/up.sh | \
	  awk -F '|' '$$1 != "GIRO_PROXY_OFFSET" {printf "  %-18s %s (%s)\n", $$1, $$2, $$3}'

clean: ## remove what was built; clusters and their data stay
	@rm -rf build

$(OUT)/girod: $(OUT)/coordinator/main.o $(OUT)/libgiro.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

# giroctl takes base and json from the archive, and nothing of the coordinator.
GIROCTL_PACKAGES := libcurl smartcols jansson
GIROCTL_OBJECTS := $(patsubst %.c,$(OUT)/%.o,$(sort $(wildcard operator/*.c)))
$(GIROCTL_OBJECTS): CFLAGS += $(shell pkg-config --cflags $(GIROCTL_PACKAGES))
DEPENDENCIES += $(GIROCTL_OBJECTS:.o=.d)

$(OUT)/giroctl: $(GIROCTL_OBJECTS) $(OUT)/libgiro.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(shell pkg-config --libs $(GIROCTL_PACKAGES))

$(OUT)/libgiro.a: $(OBJECTS)
	@rm -f $@ && ar rcs $@ $^

$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The SQL and the OpenAPI description travel inside the binary.
$(OUT)/generated/embedded.c: coordinator/cluster/embed.sh $(SQL_FILES) $(wildcard coordinator/api/openapi.json)
	@mkdir -p $(@D)
	@bash coordinator/cluster/embed.sh > $@

$(OUT)/generated/embedded.o: $(OUT)/generated/embedded.c
	@echo "  CC    generated/embedded.c"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# ---- installing --------------------------------------------------------------------------------------

PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: install uninstall
install: all ## programs, man pages and completion, under DESTDIR and PREFIX (/usr/local)
	install -D -m 755 $(OUT)/girod '$(DESTDIR)$(PREFIX)/bin/girod'
	install -D -m 755 $(OUT)/giroctl '$(DESTDIR)$(PREFIX)/bin/giroctl'
	install -D -m 644 docs/man/girod.1 '$(DESTDIR)$(PREFIX)/share/man/man1/girod.1'
	install -D -m 644 docs/man/giroctl.1 '$(DESTDIR)$(PREFIX)/share/man/man1/giroctl.1'
	install -D -m 644 operator/giroctl.bash '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/giroctl'

uninstall: ## take away what install put there
	rm -f $(addprefix '$(DESTDIR)$(PREFIX)'/,bin/girod bin/giroctl share/man/man1/girod.1 \
	  share/man/man1/giroctl.1 share/bash-completion/completions/giroctl)

# ---- unit tests: one binary per module; fakes replace members of the archive ------------------------

$(OUT)/tests/%_test: tests/unit/%_test.c $(wildcard tests/unit/*.h tests/unit/fake_*.c) $(OUT)/libgiro.a
	@mkdir -p $(@D)
	@echo "  TEST  $<"
	@$(CC) $(CPPFLAGS) -Itests/unit $(CFLAGS) -Wno-missing-prototypes -o $@ $< \
	  $$(sed -n 's|^ \* Fakes: ||p' $<) $(OUT)/libgiro.a $(LDLIBS) -lcmocka

.PHONY: test-unit
test-unit: $(UNIT_TESTS:%=$(OUT)/tests/%) ## unit tests (cmocka)
	@tests/run.sh unit $(OUT)/logs/unit $^

.PHONY: test-sql
test-sql: ## the participant functions inside one Postgres (pgTAP)
	@tests/run.sh sql $(OUT)/logs/sql tests/sql/run.sh

.PHONY: lint
lint: ## layout, sizes, include rules, clang-tidy
	@tests/lint.sh

# ---- a cluster on this machine; variables: docker/up.sh ----------------------------------------------

# Packages come first: without them nothing compiles. The sub-make starts when they are there.
.PHONY: packages up down demo
packages: ## install what building and testing needs (Debian 12)
	@bash docker/packages.sh

up: packages ## start a cluster, or what is missing of it, and wait until it is ready
	@$(MAKE) -s --no-print-directory all
	@GIRO_BIN="$${GIRO_BIN:-$(CURDIR)/$(OUT)/girod}" bash docker/up.sh

down: ## stop the cluster; the data stays
	@bash docker/down.sh

demo: packages ## build, start a cluster and walk through what it does
	@$(MAKE) -s --no-print-directory all
	@GIRO_BIN="$${GIRO_BIN:-$(CURDIR)/$(OUT)/girod}" bash docker/demo.sh

# ---- integration tests: one program each, which starts the clusters that it needs -------------------

HARNESS := $(patsubst %.c,$(OUT)/%.o,$(filter-out %_test.c,$(wildcard tests/integration/*.c)))
INTEGRATION_TESTS := $(patsubst tests/integration/%.c,%,$(sort $(wildcard tests/integration/*_test.c)))
$(HARNESS): CPPFLAGS += -Itests/integration
DEPENDENCIES += $(HARNESS:.o=.d)

$(OUT)/tests/integration/%_test: tests/integration/%_test.c $(HARNESS) $(OUT)/libgiro.a
	@mkdir -p $(@D)
	@echo "  TEST  $<"
	@$(CC) $(CPPFLAGS) -Itests/integration $(CFLAGS) -Wno-missing-prototypes \
	  -Wno-missing-field-initializers -o $@ $< $(HARNESS) \
	  $(OUT)/libgiro.a $(LDLIBS) -lcmocka -lcurl -lpthread

.PHONY: test-integration
test-integration: $(OUT)/girod $(OUT)/giroctl $(INTEGRATION_TESTS:%=$(OUT)/tests/integration/%) ## integration tests
	@GIRO_BIN=$(CURDIR)/$(OUT)/girod tests/run.sh integration $(OUT)/logs/integration \
	  $(INTEGRATION_TESTS:%=$(OUT)/tests/integration/%)

# ---- faults: one program that runs the whole matrix, or with FAULTS_QUICK=1 a third of it -----------

FAULTS := $(patsubst %.c,$(OUT)/%.o,$(wildcard tests/faults/*.c))
$(FAULTS): CPPFLAGS += -Itests/integration -Itests/faults -Wno-missing-field-initializers
DEPENDENCIES += $(FAULTS:.o=.d)

$(OUT)/tests/faults/faults: $(FAULTS) $(HARNESS) $(OUT)/libgiro.a
	@echo "  TEST  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) -lcmocka -lcurl -lpthread

.PHONY: test-faults
test-faults: $(OUT)/girod $(OUT)/tests/faults/faults ## a fault of every kind at every stage (FAULTS_FILTER, FAULTS_JOBS)
	@GIRO_BIN=$(CURDIR)/$(OUT)/girod $(OUT)/tests/faults/faults

# ---- chaos: two coordinators and three shards under everything at once ------------------------------

# How long the nemesis is at work, and what it does; without a seed one is drawn, and printed.
CHAOS_SECONDS ?= 60
CHAOS_SEED ?=
export CHAOS_SECONDS CHAOS_SEED

CHAOS := $(patsubst %.c,$(OUT)/%.o,$(filter-out %_test.c,$(wildcard tests/chaos/*.c)))
CHAOS_PROGRAMS := $(OUT)/tests/chaos/checker_test $(OUT)/tests/chaos/chaos_test
$(CHAOS): CPPFLAGS += -Itests/integration -Itests/chaos
DEPENDENCIES += $(CHAOS:.o=.d)

$(OUT)/tests/chaos/%_test: tests/chaos/%_test.c $(CHAOS) $(HARNESS) $(OUT)/libgiro.a
	@mkdir -p $(@D)
	@echo "  TEST  $<"
	@$(CC) $(CPPFLAGS) -Itests/integration -Itests/chaos $(CFLAGS) -Wno-missing-prototypes -o $@ $< \
	  $(CHAOS) $(HARNESS) $(OUT)/libgiro.a $(LDLIBS) -lcmocka -lcurl -lpthread

.PHONY: chaos test-chaos
chaos: $(OUT)/girod $(CHAOS_PROGRAMS) ## everything at once (CHAOS_SECONDS, CHAOS_SEED), and what it took
	@$(OUT)/tests/chaos/checker_test
	@GIRO_BIN=$(CURDIR)/$(OUT)/girod $(OUT)/tests/chaos/chaos_test

test-chaos: $(OUT)/girod $(CHAOS_PROGRAMS)
	@GIRO_BIN=$(CURDIR)/$(OUT)/girod GIRO_TEST_JOBS=1 tests/run.sh chaos $(OUT)/logs/chaos $(CHAOS_PROGRAMS)

.PHONY: test-contract
test-contract: $(OUT)/girod ## all that girod answers, held against its OpenAPI description
	@GIRO_BIN=$(CURDIR)/$(OUT)/girod tests/run.sh contract $(OUT)/logs/contract tests/contract/run.sh

# ---- the bench: options are variables, see docs/performance.md --------------------------------------

BENCH_OBJECTS := $(patsubst %.c,$(OUT)/%.o,$(wildcard tests/bench/*.c))
$(BENCH_OBJECTS): CPPFLAGS += -Itests/integration -Itests/bench
DEPENDENCIES += $(BENCH_OBJECTS:.o=.d)

$(OUT)/tests/bench/bench: $(BENCH_OBJECTS) $(HARNESS) $(OUT)/libgiro.a
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) -lcmocka -lcurl -lpthread -lm

.PHONY: bench bench-check
bench: $(OUT)/girod $(OUT)/tests/bench/bench ## measure, compare, print a table, write bench.json (20 minutes; BENCH_FILTER=2pc.c256 for less)
	@GIRO_BIN=$(CURDIR)/$(OUT)/girod BENCH_FILTER='$(value BENCH_FILTER)' $(OUT)/tests/bench/bench

bench-check: ## hold bench.json against the targets
	@python3 tests/bench/check.py $(or $(BENCH_JSON),bench.json)

.PHONY: test-model model
test-model: $(OUT)/girod ## models of the protocols, explored by spin in small bounds; known mistakes are found
	@GIRO_BIN=$(CURDIR)/$(OUT)/girod tests/run.sh model $(OUT)/logs/model tests/model/run.sh

model: $(OUT)/girod ## the same in larger bounds: minutes, up to 8 GB
	@GIRO_BIN=$(CURDIR)/$(OUT)/girod tests/model/run.sh --all

.PHONY: growth
growth: $(OUT)/girod ## what a million transfers cost later, and on disk (GROWTH_TRANSFERS=1000000)
	@GIRO_BIN=$(CURDIR)/$(OUT)/girod tests/growth/run.sh

# ---- all of it ---------------------------------------------------------------------------------------

# `make asan-short` runs the programs that reach most of girod under the sanitizers; `make asan` runs all.
SANITIZED := transfers_test saga_test batch_test

.PHONY: test asan asan-short
test: packages ## everything: unit, sql, model, integration, contract, chaos
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@$(MAKE) --no-print-directory test-unit test-sql test-model test-integration test-contract
	@$(MAKE) --no-print-directory test-chaos

asan-short: ## unit and the heart of integration under ASan and UBSan
	@$(MAKE) --no-print-directory BUILD=asan -j$$(nproc) all
	@$(MAKE) --no-print-directory BUILD=asan test-unit
	@$(MAKE) --no-print-directory BUILD=asan INTEGRATION_TESTS="$(SANITIZED)" test-integration

asan: ## all unit and integration tests under ASan and UBSan
	@$(MAKE) --no-print-directory BUILD=asan -j$$(nproc) all
	@$(MAKE) --no-print-directory BUILD=asan test-unit test-integration

-include $(DEPENDENCIES)
