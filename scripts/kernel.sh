# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The kernels that are built here: their flavours, and where trees and build
# directories are. Sourced by scripts/build-kernel and by what boots the result.
#
# From nothing, on two CPUs: 12 minutes for x86, 11 for x86-debug, 6 for uml-bench,
# by the times of the object files. What is built after another flavour of the same
# architecture starts with a copy of it.

# kernel_flavours: all that there are
kernel_flavours() { echo x86 x86-y x86-debug x86-rt x86-parallel x86-kcsan x86-lto uml uml-n uml-bench uml-ceph; }

# kernel_fragments FLAVOUR: config fragments, later ones win. What each alone proves:
kernel_fragments() {
	case $1 in
	# BLog as a module, which comes and goes; a kernel that costs are counted in
	x86) echo common x86 crash peers blog-m ;;
	# BLog built in, from before jump labels are ready on; lockdown, masks in compound_info;
	# Binder
	x86-y) echo common x86 crash distro blog-y binder ;;
	# No allocation that fails, lock, free or arithmetic goes wrong unseen, to rmmod blog
	x86-debug) echo common x86 blog-m debug-locks debug-memory ;;
	# Softirqs that are tasks. By hand
	x86-rt) echo common x86 blog-m debug-locks rt ;;
	# No patched text: CPUs that run in parallel, in QEMU and with NMIs. Deep tier
	x86-parallel) echo common x86 blog-m parallel ;;
	# No race of plain accesses, in parallel CPUs. Deep tier
	x86-kcsan) echo common x86 blog-m parallel kcsan ;;
	# Names of static symbols with suffixes, and a linker that inlines. Deep tier
	x86-lto) echo common x86 blog-m lto ;;
	# No preemption, no jump labels, real time, and a build of a few minutes
	uml) echo common uml blog-y ;;
	# CONFIG_BLOG=n: what has lines of ours compiles to what it was without
	uml-n) echo common uml blog-n ;;
	# "make bench" only: times on one CPU
	uml-bench) echo common uml blog-m peers up ;;
	# "make ceph" only: CephFS, captured
	uml-ceph) echo common uml blog-y ceph ;;
	*) die "no such kernel flavour: $1 (there are: $(kernel_flavours))" ;;
	esac
}

# kernel_targets FLAVOUR: what is made. Without BLog, what patches change in UML is enough:
# if none of it has or needs anything of BLog, neither does vmlinux.
kernel_targets() {
	case $1 in
	*-n) echo init/init_task.o kernel/fork.o fs/exec.o drivers/block/rnull/rnull_mod.o ;;
	*) echo all ;;
	esac
}

kernel_arch() {
	case $1 in
	uml*) echo um ;;
	*) echo x86_64 ;;
	esac
}

# kernel_source_name: tells apart trees and builds of different sources
kernel_source_name() {
	if [[ -n ${KSRC-} ]]; then
		echo "ksrc-$(hash_of "$(readlink -f "$KSRC")")"
	else
		echo "$KERNEL_SERIES"
	fi
}

# kernel_pristine: the source as it came
kernel_pristine() { echo "${KSRC:-$BLOG_CACHE/src/linux-$KERNEL_SERIES}"; }

# kernel_tree: the copy of it that BLog is integrated into
kernel_tree() { echo "$BLOG_CACHE/trees/$(kernel_source_name)"; }

# kernel_build FLAVOUR: its build directory (O=)
kernel_build() { echo "$BLOG_CACHE/build/$(kernel_source_name)/$1"; }

# kernel_modules FLAVOUR: root that modules are installed under (lib/modules/…)
kernel_modules() { echo "$(kernel_build "$1")/install"; }
