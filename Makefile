# SPDX-License-Identifier: GPL-2.0
#
# The commands of this repository. Each target runs a script of scripts/, which prints what it
# does, how long it took, and where its log is. A kernel tree doesn't get this file:
# it has Kbuild.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

# Kernel flavours for "make kernel"
FLAVOUR ?= x86
export KERNEL KSRC KERNEL_SERIES BLOG_CACHE BLOG_DEBIAN BLOG_JOBS

# What "make mutants" changes, and whose tests must notice it
HOST_TESTS := --test-package blog-host-tests,kernel,roundtrip,postmortem
MUTANTS_pool := -p blog-host-tests $(HOST_TESTS)
MUTANTS_kernel := -p kernel $(HOST_TESTS)
MUTANTS_macros := -p macros --test-package roundtrip,kernel
MUTANTS_decoder := -p blog-decode -p blog-ctl -p blog-answers -p blog-decode-core -p blog-export \
	-p blog-file -p blog-table -p blog-vmcore \
	--test-package blog-decode,blog-ctl,blog-answers,blog-decode-core,blog-export,blog-file

##@ The two that matter
demo: ## Boot a kernel with BLog in QEMU, load rnull, decode what it logged
	@scripts/setup
	@scripts/demo

demo-stock: ## The same with a driver in C on Debian's unmodified kernel, and a hang: KERNEL=6.12
	@scripts/setup --stock
	@scripts/demo --stock

test: ## Run CI's tests; others: TIER=fast|full|deep PART=1/6 SUITE=crash CASE=abba
	@scripts/setup $(if $(filter deep,$(TIER)),--deep,--tests $(SUITE))
	@scripts/test -t $(or $(TIER),full) $(if $(PART),-p $(PART)) $(if $(CASE),-k "$(CASE)") $(SUITE)

##@ Single steps
setup: ## Install what is missing for demo and kernels (needs root; Debian, Ubuntu)
	@scripts/setup

kernel: ## Build kernels: FLAVOUR="x86 x86-y x86-debug uml..." (default x86)
	@scripts/setup
	@scripts/build-kernel $(FLAVOUR)

decode: ## Build the decoder, tools/blog-decode
	@scripts/build-decode
	@ls target/release/blog-decode

install: ## Install decoder, side table tool, man pages, completions: PREFIX=/usr/local
	@scripts/build-decode
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install

install-system: ## Install what saves logs of the last boot and of crashes, and sos's plugin
	@scripts/build-decode
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install --system

uninstall: ## Remove what both have installed
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install --uninstall

deb: ## Make Debian packages in build/: what both install, blog-dkms and blog-dkms-rust
	@scripts/setup --package
	@scripts/package-deb

deb-source: ## Make a Debian source package of the last commit in build/
	@scripts/package-deb --source

integrate: ## Put BLog into your own tree: KSRC=DIR
	@scripts/integrate "$${KSRC:?say which tree: make integrate KSRC=DIR}"

revert: ## Remove BLog from your tree again: KSRC=DIR
	@scripts/integrate --revert "$${KSRC:?say which tree: make revert KSRC=DIR}"

series: ## Make a git branch of version 1, and mails to post: KSRC=DIR (a git tree)
	@scripts/setup
	@scripts/series

release: ## Say what is missing for a release of this commit
	@scripts/setup --checks
	@scripts/release

series-check: ## Build every commit of the series, BLog off, m and y (UML; an hour, once)
	@scripts/setup
	@scripts/lib/series-check

##@ Quality
check: ## Formatting, linters of all languages, checkpatch, and the documentation
	@scripts/setup --checks
	@scripts/test -t deep style

mutants: ## Mutation testing: report changes that no test notices (a night): PART= SHARD=0/20
	@scripts/setup --tests
	@PATH="$$(scripts/fetch cargo-mutants | tail -n 1)/bin:$$PATH"; status=0; \
	$(foreach part,$(or $(PART),pool kernel macros decoder),\
		nice cargo mutants --iterate -o target/mutants/$(part) $(if $(SHARD),--shard $(SHARD)) \
		$(MUTANTS_$(part)) || status=$$?;) exit $$status

next: ## Try the newest kernel source of any Debian, or KERNEL_SERIES=7.2: fits, UML, KUnit
	@scripts/setup
	@$(if $(KERNEL_SERIES)$(KSRC),,KSRC=$$(scripts/fetch --next) || exit; export KSRC;) \
		scripts/test -t fast kunit

bench: ## Measure what a record costs, beside peers: SETUPS="instructions native fio"
	@scripts/setup --tests
	@scripts/bench $(SETUPS)

ceph: ## Run a Ceph cluster in a guest, with its client captured, and a stall
	@scripts/setup --tests
	@scripts/test -t deep ceph

bench-decode: ## Measure blog-decode beside trace-cmd and babeltrace2, same records
	@scripts/setup --tests
	@scripts/bench decode

docs: ## Build Documentation/blog as HTML, and check docs/
	@scripts/setup --checks
	@scripts/docs

##@ Tidying
clean: ## Remove what builds and tests made in this directory: build/ and target/
	@scripts/clean

distclean: ## Remove also all that BLog has in its cache
	@scripts/clean --cache

help: ## Print this
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile
	@printf '\nKSRC=DIR           build your own kernel tree (a copy of it)\n'
	@printf 'KERNEL_SERIES=7.2  another series of Debian'"'"'s kernel source\n'
	@printf 'BLOG_CACHE=DIR     sources, tools and build trees (now: %s)\n' \
		"$${BLOG_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/blog}"
	@printf 'BLOG_DEBIAN=URL    a Debian archive (default: apt'"'"'s, or http://deb.debian.org/debian)\n'
	@printf 'BLOG_JOBS=N        compile N files at once (default: one per CPU)\n'
	@printf 'IOS=N              I/Os of make demo and demo-stock (default: 100000 and 20000)\n'

.PHONY: demo demo-stock test setup kernel decode install install-system uninstall deb deb-source
.PHONY: integrate revert check mutants next bench bench-decode ceph docs clean distclean help release series series-check
