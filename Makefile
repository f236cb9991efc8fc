# The front door. Meson builds everything below build/; each target installs what is missing
# (tools/setup) and nothing is done twice.

MESON = /usr/bin/meson
NINJA = /usr/bin/ninja
BUILD = build
PREFIX = /usr/local
FUZZ_SECONDS = 60
WERROR = false
comma = ,

# Interpreters that the Python package is built for and tested with.
PYTHONS = $$(tools/pythons --comma)
PYTHON = $$(tools/pythons | head -n 1)

# $(call COMPILE,folder,options): sets build/folder up the first time, then compiles what changed.
COMPILE = @test -f $(BUILD)/$(1)/build.ninja || \
	$(MESON) setup $(BUILD)/$(1) -Dtests=enabled -Dwerror=$(WERROR) $(2) && \
	$(NINJA) --quiet -C $(BUILD)/$(1)

.PHONY: help
help:
	@echo 'Stepscope: where does the time of a training run go?'
	@echo
	@echo '  make demo     build, train a small network, see where its time went'
	@echo '  make test     run all tests; the last line says how many passed'
	@echo '  make test-frameworks   only those with real frameworks'
	@echo '  make lint     check format, dependencies, exported symbols, headers'
	@echo '  make format   let clang-format write the C files'
	@echo '  make bench    run all benchmarks'
	@echo '  make soak     run the long tests'
	@echo '  make diagnosis-matrix   train with faults of known size, see how often they are named'
	@echo '  make fuzz     fuzz each parser for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo '  make install  install below PREFIX=$(PREFIX), DESTDIR is respected'
	@echo '  make clean    remove build/'

# Optimised, with debug information and without assertions: what is installed. ALSO names more groups
# of packages, so that one line asks for all that is missing.
.PHONY: release
release:
	@tools/setup build $(ALSO)
	@tools/web
	$(call COMPILE,release,-Db_ndebug=true -Dpythons=$(PYTHONS))

.PHONY: demo
demo: ALSO = demo
demo: release
	@tools/demo $(BUILD)/release

# ThreadSanitizer does not understand the fence of the reader (-Wtsan); it runs the recorder only.
.PHONY: test
test: ALSO = demo web browser
test: release
	@$(MAKE) --no-print-directory -j 2 test-builds frameworks
	@tests/run_all $(BUILD)

.PHONY: test-builds
test-builds:
	$(call COMPILE,asan,-Dpython=disabled -Db_sanitize=address$(comma)undefined -Db_lundef=false)
	$(call COMPILE,asan-python,-Dtests=disabled -Dman=disabled -Dpythons=$(PYTHON) -Db_sanitize=address$(comma)undefined -Db_lundef=false)
	$(call COMPILE,tsan,-Dpython=disabled -Db_sanitize=thread -Db_lundef=false -Dc_args=-Wno-tsan)

# Mostly waits for the network and the disk.
.PHONY: frameworks
frameworks:
	@tools/frameworks $(BUILD)

.PHONY: test-frameworks
test-frameworks: release frameworks
	@tests/run_all $(BUILD) --frameworks

.PHONY: soak
soak: ALSO = demo web browser
soak: release
	$(call COMPILE,asan,-Db_sanitize=address$(comma)undefined -Db_lundef=false)
	@tests/run_all $(BUILD) --soak

# What has been trained in build/matrix is not trained again. ONLY=PATTERN trains a part.
.PHONY: diagnosis-matrix
diagnosis-matrix: release frameworks
	@STEPSCOPE_BIN=$(abspath $(BUILD)/release/stepscope) \
	STEPSCOPE_FRAMEWORKS_PYTHON=$(abspath $(BUILD)/frameworks/bin/python) \
	tests/diagnosis/matrix.py --folder $(BUILD)/matrix $(if $(ONLY),--only '$(ONLY)',--write docs/diagnosis.md)

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
	@tools/setup build bench
	@tools/contenders $(BUILD)
	$(call COMPILE,bench,-Dbench=true -Db_ndebug=true)
	@bench/run_all $(BUILD)/bench

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
