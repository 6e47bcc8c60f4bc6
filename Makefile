# SPDX-License-Identifier: Apache-2.0
# Thin: each target is a few commands of cmake and ctest, which work by themselves as well.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

# WEB=OFF: without the web console, and without what only that needs. WEB=FOLDER: with one that is built
# already. Else as it was configured before, and ON at first.
ifdef WEB
web_flags = $(if $(filter ON OFF,$(WEB)),-DSKEIN_WEB=$(WEB) -DSKEIN_WEB_DIST=,-DSKEIN_WEB_DIST="$(abspath $(WEB))")
export SKEIN_WEB = $(if $(filter ON,$(WEB)),ON,OFF)
endif

# A repeated build is fast where ccache is there.
ifneq ($(shell command -v ccache 2>/dev/null),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
endif

.PHONY: help deps build demo test bench install uninstall hooks clean

help:
	@echo "make demo     start collector, agent and a Redis, and watch a stall being captured"
	@echo "              (ONCE=1: exit after the findings)"
	@echo "make test     build and run all tests"
	@echo "make bench    build and run the benches, each figure beside its peer"
	@echo "make install  into PREFIX ($(PREFIX)), below DESTDIR where given"
	@echo "              (WEB=OFF: without the web console, for which Node and npm are needed)"
	@echo "make uninstall  take away what make install has put there"
	@echo "make deps     install what is missing (the targets above do it by themselves)"
	@echo "make hooks    have git refuse a commit that is not formatted"
	@echo "make clean    remove build/ and demo-out/"

deps:
	@tools/deps.sh

build: deps
	@cmake --preset release $(web_flags) --log-level=WARNING >/dev/null
	@cmake --build --preset release --parallel $(JOBS)

demo: build
	@ONCE=$(ONCE) tools/demo.sh

# They wait more than they compute: three places for each processor (cmake/SkeinTargets.cmake).
test: build
	@SKEIN_CONTRACT_ALL=1 ctest --preset release --parallel $$((3 * $(JOBS)))

bench: build
	@tools/deps.sh --bench || echo "bench: goes on without LTTng"
	@cmake --preset release >/dev/null && cmake --build --preset release --parallel $(JOBS)
	@tools/bench.sh

# Libraries and programs alone, in a folder of their own: needs nothing that only tests need.
install:
	@tools/deps.sh --build
	@cmake --preset install $(web_flags) -DCMAKE_INSTALL_PREFIX="$(PREFIX)" --log-level=WARNING >/dev/null
	@cmake --build --preset install --parallel $(JOBS)
	@cmake --install build/install

uninstall:
	@tools/uninstall.sh build/install/install_manifest.txt "$(DESTDIR)"

hooks:
	@git config core.hooksPath tools/hooks

clean:
	rm -rf build demo-out
