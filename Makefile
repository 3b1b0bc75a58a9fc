# Thin: what it does is in meson.build and tools/. Try `make help`.

BUILD ?= build
ARGS  ?=

.PHONY: all run test bench check-long install uninstall format clean help setup setup-test configure
.DEFAULT_GOAL := all

help:
	@echo 'make              install what the build needs (Debian: apt-get) and build into $(BUILD)/'
	@echo "make run          build, fetch the default model (94 MB, once) and chat with it; ARGS='...' is passed on"
	@echo "                    make run ARGS='\"Why is the sky blue?\" -n 64'"
	@echo 'make test         build and run the fast tests; ends with "N passed, N failed"'
	@echo "make bench        the proof of speed: machine, kernels, the default model; about 5 minutes. Writes docs/bench/"
	@echo "                    make bench ARGS='--quick' or ARGS='--model m.gguf --peers llamacpp,ik'"
	@echo "make check-long   what takes hours (fuzzing, valgrind); resumable, records in check-long/; ARGS='--list'"
	@echo 'make install      program, library, headers, manual pages and completions into PREFIX (default /usr/local);'
	@echo '                  DESTDIR is honoured; make uninstall removes what the last one put there'
	@echo 'make format       clang-format over all C files'
	@echo 'make clean        remove the build folders; models and check-long records stay'

# One after the other: what is installed first is what the configuration finds.
.NOTPARALLEL:

all: setup-test configure
	@ninja -C $(BUILD)

setup:
	@tools/setup.sh run

setup-test:
	@tools/setup.sh run test

configure: setup
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)

run: configure
	@ninja -C $(BUILD) sluice
	@tools/fetch-model.sh
	@$(BUILD)/sluice run smollm2 $(ARGS)

test: setup-test configure
	@ninja -C $(BUILD)
	@tools/fetch-model.sh || echo 'Tests that need the default model will be skipped.'
	@tools/run-tests.sh $(BUILD) fast scalar

bench: setup-test configure
	@ninja -C $(BUILD) sluice bench/roofline tests/checkasm/checkasm
	@tools/fetch-model.sh
	@python3 bench/report.py --build $(BUILD) $(ARGS)

check-long:
	@tools/setup.sh run test ci
	@python3 tools/check-long.py $(ARGS)

# Copies what was listed, since any other `meson install` (the tests have some) writes a list of its own.
install: configure
	@$(if $(PREFIX),meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX)))
	@ninja -C $(BUILD) package
	@meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))
	@cp $(BUILD)/meson-logs/install-log.txt $(BUILD)/installed.txt
	@$(if $(DESTDIR),,test "$$(id -u)" != 0 || ldconfig)

uninstall:
	@test -f $(BUILD)/installed.txt || { echo 'make install was not run with $(BUILD)/' >&2; exit 1; }
	@grep -v '^#' $(BUILD)/installed.txt | while IFS= read -r file; do \
	    if [ -d "$$file" ] && [ ! -L "$$file" ]; then rmdir "$$file" 2> /dev/null || true; else rm -fv "$$file"; fi; \
	done
	@rm $(BUILD)/installed.txt

format:
	@tools/setup.sh ci
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build build-*
