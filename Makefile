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
	@echo '  make soak     run the long tests, then fuzz each parser for SOAK_FUZZ_SECONDS=$(SOAK_FUZZ_SECONDS)'
	@echo '  make diagnosis-matrix   train with faults of known size, see how often they are named'
	@echo '  make advice-trials      follow the advice that is printed, and measure what it gains'
	@echo '  make foreign-scripts    run trainings as people write them, see what is said about them'
	@echo '  make fuzz     fuzz each parser for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo '  make install  install below PREFIX=$(PREFIX), DESTDIR is respected'
	@echo '  make clean    remove build/'

# Optimised, with debug information and without assertions: what is installed. ALSO names more groups
# of packages, so that one line asks for all that is missing; TARGETS names less than all.
.PHONY: release
release:
	@tools/setup build $(ALSO)
	@tools/web
	$(call COMPILE,release,-Db_ndebug=true -Dpythons=$(PYTHONS),$(TARGETS))

.PHONY: demo
demo: ALSO = demo
demo: TARGETS = package-contents
demo: release
	@tools/demo $(BUILD)/release

# tests/run_all installs the frameworks beside the tests that need none.
.PHONY: test
test: ALSO = demo web browser disks models mpi
test: newer-pythons release
	@$(MAKE) --no-print-directory test-builds
	@tests/run_all $(BUILD)

# Sanitizers make the compiler's optimiser slow and tests hardly faster; the release build has judged
# what GCC guesses about formats with less of it. ThreadSanitizer does not understand the fence of the
# reader (-Wtsan); it runs the recorder and the threads of the supervisor only, which load fake_nvml*.so.
SANITIZED = -Db_lundef=false -Dman=disabled -Doptimization=1 -Ddebug=false
SANITIZED_ARGS = -g1 -Wno-format-truncation
ASAN = $(SANITIZED) -Dpythons=$(PYTHON) -Db_sanitize=address$(comma)undefined -Dc_args='$(SANITIZED_ARGS)'
TSAN = $(SANITIZED) -Dpython=disabled -Db_sanitize=thread -Dc_args='$(SANITIZED_ARGS) -Wno-tsan'
TSAN_TESTS = $$($(MESON) test -C $(BUILD)/tsan --no-rebuild --list --suite record --suite threads \
	--no-suite soak 2>/dev/null | sed 's|.* / ||') fake_nvml.so fake_nvml_old.so

.PHONY: test-builds
test-builds:
	$(call COMPILE,asan,$(ASAN))
	$(call COMPILE,tsan,$(TSAN),$(TSAN_TESTS))

# A build that is there is made for them too.
MAKE_FOR_PYTHONS = @test ! -f $(BUILD)/release/build.ninja || \
	$(MESON) configure $(BUILD)/release -Dpythons=$(PYTHONS)

.PHONY: pythons
pythons:
	@tools/debian-pythons $(BUILD)
	$(MAKE_FOR_PYTHONS)

# Where the mirror cannot be reached, tests/python/test_newer.py says so.
.PHONY: newer-pythons
newer-pythons:
	@tools/debian-pythons $(BUILD) || true
	$(MAKE_FOR_PYTHONS)

.PHONY: free-threaded-pythons
free-threaded-pythons:
	@tools/free-threaded-pythons $(BUILD)
	$(MAKE_FOR_PYTHONS)

# MACHINES=aarch64 makes one of them.
.PHONY: wheels
wheels:
	@tools/setup build wheels web
	@tools/web
	@tools/wheels $(BUILD) $(MACHINES)

# Mostly waits for the network and the disk.
.PHONY: frameworks
frameworks:
	@tools/frameworks $(BUILD)

.PHONY: test-frameworks
test-frameworks: release
	@tests/run_all $(BUILD) --frameworks

.PHONY: soak
soak: ALSO = demo web browser disks models mpi
soak: pythons free-threaded-pythons release wheels
	$(call COMPILE,asan,$(ASAN))
	@tests/run_all $(BUILD) --soak
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=$(SOAK_FUZZ_SECONDS)

# What has been trained in build/matrix is not trained again. ONLY=PATTERN trains a part.
.PHONY: diagnosis-matrix
diagnosis-matrix: release frameworks
	@STEPSCOPE_BIN=$(abspath $(BUILD)/release/stepscope) \
	STEPSCOPE_FRAMEWORKS_PYTHON=$(abspath $(BUILD)/frameworks/bin/python) \
	tests/diagnosis/matrix.py --folder $(BUILD)/matrix $(if $(ONLY),--only '$(ONLY)',--write docs/diagnosis.md)

# The same for what following the printed advice gains, in build/trials.
.PHONY: advice-trials
advice-trials: release frameworks
	@STEPSCOPE_BIN=$(abspath $(BUILD)/release/stepscope) \
	STEPSCOPE_FRAMEWORKS_PYTHON=$(abspath $(BUILD)/frameworks/bin/python) \
	tests/diagnosis/advice_trials.py --folder $(BUILD)/trials $(if $(ONLY),--only '$(ONLY)',--write docs/diagnosis.md)

# The same for trainings as people write them, in build/foreign.
.PHONY: foreign-scripts
foreign-scripts: release frameworks
	@STEPSCOPE_BIN=$(abspath $(BUILD)/release/stepscope) \
	STEPSCOPE_FRAMEWORKS_PYTHON=$(abspath $(BUILD)/frameworks/bin/python) \
	tests/diagnosis/foreign.py --folder $(BUILD)/foreign $(if $(ONLY),--only '$(ONLY)',--write docs/diagnosis.md)

.PHONY: lint
lint: ALSO = lint
lint: release
	@tools/lint $(BUILD)/release

.PHONY: format
format:
	@tools/setup lint
	@tools/sources c | xargs clang-format -i

.PHONY: bench
bench:
	@tools/setup build bench mpi
	@tools/contenders $(BUILD)
	$(call COMPILE,bench,-Dbench=true -Db_ndebug=true)
	@bench/run_all $(BUILD)/bench

# The revision REV is built beside this one, which must not be slower.
.PHONY: bench-against
bench-against: export REV := $(REV)
bench-against:
	@tools/setup build
	$(call COMPILE,bench,-Dbench=true -Db_ndebug=true)
	@tools/revision $(BUILD)/against "$$REV"
	@bench/bench_revisions.py $(BUILD)/bench $(BUILD)/against/build

.PHONY: fuzz
fuzz: export CC = clang
fuzz:
	@tools/setup build fuzz
	$(call COMPILE,fuzz,-Dfuzzing=enabled -Db_sanitize=address$(comma)undefined -Db_lundef=false)
	@tools/fuzz $(BUILD)/fuzz $(FUZZ_SECONDS)

.PHONY: install
install: release
	@$(MESON) configure $(BUILD)/release -Dprefix=$(PREFIX)
	@$(MESON) install -C $(BUILD)/release --quiet

.PHONY: clean
clean:
	rm -rf $(BUILD)
