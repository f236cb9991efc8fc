# The front door. Meson builds everything below build/; each target installs what is missing
# (tools/setup) and nothing is done twice.

MESON = /usr/bin/meson
NINJA = /usr/bin/ninja
BUILD = build
TARGETS =
PREFIX = /usr/local
FUZZ_SECONDS = 60
SOAK_FUZZ_SECONDS = 600
WERROR = false
comma = ,

# Interpreters that the Python package is built for and tested with.
PYTHONS = $$(tools/pythons --comma)
PYTHON = $$(tools/pythons | head -n 1)

# $(call COMPILE,folder,options,targets): sets build/folder up the first time, then compiles what changed
# of the targets, or of all.
COMPILE = @test -f $(BUILD)/$(1)/build.ninja || \
	$(MESON) setup $(BUILD)/$(1) -Dtests=enabled -Dwerror=$(WERROR) $(2) && \
	$(NINJA) --quiet -C $(BUILD)/$(1) $(3)

.PHONY: help
help:
	@echo 'Stepscope: where does the time of a training run go?'
	@echo
	@echo '  make demo     build, train a small network, see where its time went'
	@echo '  make test     run all tests; the last line says how many passed'
	@echo '  make wheels   make wheels for x86_64 and aarch64 in build/wheels, for all CPythons'
	@echo '  make pythons  get CPython 3.14 and 3.15 into build/, for the tests of the package'
	@echo '  make free-threaded-pythons   build CPython without the GIL there, for the same'
	@echo '  make test-frameworks   only those with real frameworks'
	@echo '  make lint     check format, dependencies, exported symbols, headers'
	@echo '  make format   let clang-format write the C files'
	@echo '  make bench    run all benchmarks'
	@echo '  make bench-against REV=...   whether anything is slower than in that revision'
	@echo '  make soak     run the long tests'
