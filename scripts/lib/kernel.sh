# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The kernels of this repository: their flavours, and where trees and build
# directories are. Sourced by scripts/build-kernel and by the guest runner.
#
# From nothing, on two CPUs: 12 minutes for x86, 11 for x86-debug, 6 for uml-bench,
# by the times of the object files. A later flavour of the same architecture starts
# with a copy of the first one's build.

# kernel_flavours: prints all flavours
kernel_flavours() { echo x86 x86-y x86-core x86-debug x86-rt x86-parallel x86-kcsan x86-lto arm64 riscv64 uml uml-core uml-first uml-n-first uml-part uml-n uml-bench uml-net uml-kcov; }

# kernel_fragments FLAVOUR: prints config fragments, later ones win. Each flavour's purpose:
kernel_fragments() {
	case $1 in
	# BLog as a module; the kernel of the counted costs
	x86) echo common x86 crash trace blog-m ;;
	# BLog built in, from before jump labels are ready on; masks in compound_info;
	# Binder. Deep tier
	x86-y) echo common x86 crash distro lockdown blog-y binder ;;
	# BLog built in, without any of its parts: its costs. Deep tier
	x86-core) echo common x86 crash trace blog-core ;;
	# Catches failed allocations, locking, use-after-free and overflows. Deep tier
	x86-debug) echo common x86 blog-m debug-contexts debug-memory lockdep kasan faults ;;
	# Softirqs are tasks. Run by hand
	x86-rt) echo common x86 blog-m debug-contexts lockdep rt ;;
	# No patched text, so that CPUs can run in parallel in QEMU, with NMIs. Deep tier
	x86-parallel) echo common x86 blog-m parallel ;;
	# No race of plain accesses, in parallel CPUs. Deep tier
	x86-kcsan) echo common x86 blog-m parallel kcsan ;;
	# Names of static symbols with suffixes, and a linker that inlines. Deep tier
	x86-lto) echo common x86 blog-m lto ;;
	# Another architecture: weak memory order, CPUs in parallel, pseudo-NMI
	arm64) echo common arm64 crash trace blog-m ;;
	# What no file of BLog knows: the generic way. Deep tier
	riscv64) echo common riscv64 trace blog-m ;;
	# BLog built in: no preemption, no jump labels, real time; lockdown. Catches sleep
	# where there is none, and overflows
	uml) echo common uml trace lockdown debug-contexts debug-memory blog-y ;;
	# BLog built in, without any of its parts
	uml-core) echo common uml trace lockdown debug-contexts debug-memory blog-core ;;
	# Version 1 of the series alone, built in, and rnull. Deep tier
	uml-first) echo common uml trace lockdown debug-contexts debug-memory blog-first ;;
	# The same with CONFIG_BLOG=n. Deep tier
	uml-n-first) echo common uml trace lockdown debug-contexts debug-memory blog-n ;;
	# The same as uml-core with the part that BLOG_PART names, KUnit, and tasks in a hash table. Deep tier
	uml-part) echo common uml trace lockdown debug-contexts debug-memory blog-core blog-part ;;
	# CONFIG_BLOG=n: patched files compile to the same code as without BLog
	uml-n) echo common uml trace lockdown debug-contexts debug-memory blog-n ;;
	# "make bench" only: times on one CPU
	uml-bench) echo common uml blog-m trace up ;;
	# CephFS and NFS, captured. Deep tier
	uml-net) echo common uml blog-y net ;;
	# Which code a program reaches, for syzkaller and for texts at random. Deep tier
	uml-kcov) echo common uml trace lockdown debug-contexts debug-memory blog-y kcov ;;
	*) die "no such kernel flavour: $1 (there are: $(kernel_flavours))" ;;
	esac
}

# kernel_targets FLAVOUR: prints make's targets. Without BLog, the patched files of UML are enough:
# if none of them contains or needs a symbol of BLog, neither does vmlinux.
kernel_targets() {
	case $1 in
	*-n | *-n-first) echo init/init_task.o kernel/fork.o fs/exec.o drivers/block/rnull/rnull_mod.o ;;
	*) echo all ;;
	esac
}

# kernel_series FLAVOUR: prints what TREE_SERIES is for its tree, where that hasn't all
kernel_series() { [[ $1 != *-first ]] || echo "${TREE_SERIES:-first}"; }

kernel_arch() {
	case $1 in
	uml*) echo um ;;
	arm64*) echo arm64 ;;
	riscv64*) echo riscv ;;
	*) echo x86_64 ;;
	esac
}

# kernel_source_name: a name for trees and builds of this source
kernel_source_name() {
	if [[ -n ${KSRC-} ]]; then
		echo "ksrc-$(hash_of "$(readlink -f "$KSRC")")"
	else
		echo "$KERNEL_SERIES"
	fi
}

# kernel_pristine: the unmodified source
kernel_pristine() { echo "${KSRC:-$BLOG_CACHE/src/linux-$KERNEL_SERIES}"; }

# kernel_tree: the copy of it that BLog is integrated into, or a part of its series
kernel_tree() { echo "$BLOG_CACHE/trees/$(kernel_source_name)${TREE_SERIES:+-first}"; }

# kernel_build FLAVOUR: its build directory (O=)
kernel_build() { echo "$BLOG_CACHE/build/$(kernel_source_name)/$1"; }

# kernel_modules FLAVOUR: root that modules are installed under (lib/modules/…)
kernel_modules() { echo "$(kernel_build "$1")/install"; }
