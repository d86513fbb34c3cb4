# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the scripts of the benchmark share: the modules that measure and that are
# compared with, and the guest's initrd.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
# shellcheck source=scripts/versions.sh
. "$BLOG_TOP/scripts/versions.sh"
# shellcheck source=scripts/env.sh
. "$BLOG_TOP/scripts/env.sh"
# shellcheck source=scripts/kernel.sh
. "$BLOG_TOP/scripts/kernel.sh"

BENCH=$BLOG_TOP/tests/bench

# module_build BUILD ARCH SOURCE DIR [VARIABLE=VALUE]...: builds the modules of a
# folder against a kernel that is built; DIR gets the result
module_build() (
	kernel_env
	mkdir -p "$4"
	make -C "$1" ARCH="$2" LLVM=1 -j"${BLOG_JOBS:-$(nproc)}" M="$3" MO="$4" "${@:5}" modules
)

# bench_module BUILD ARCH DIR: the module that measures
bench_module() { module_build "$1" "$2" "$BENCH/module" "$3"; }

# site_bytes BUILD ARCH DIR: leaves in DIR/sites.json what a call site takes
site_bytes() {
	rm -rf "$3/sites" "$3/sites.json"
	"$BENCH/sites" generate "$3/sites/source" &&
		module_build "$1" "$2" "$3/sites/source" "$3/sites/built" &&
		"$BENCH/sites" measure "$3/sites/built" "llvm-readelf-$LLVM_MAJOR" >"$3/sites.json"
}

# rnull_module BUILD ARCH DIR PEER: rnull by itself, see rnull/Kbuild
rnull_module() {
	local source=$3/source rnull
	rnull=$(kernel_pristine)/drivers/block/rnull
	rm -rf "$3"
	mkdir -p "$source"
	cp "$BENCH"/rnull/{Kbuild,*.c,*.h} "$rnull"/{rnull,configfs}.rs "$source/"
	case $4 in
	plain) ;;
	# What it changes in the kernel crate, the kernel has.
	blog) sed '/^diff .* a\/rust\//,$d' "$BLOG_TOP/patches/rnull-blog.patch" |
		patch -d "$source" -p4 --no-backup-if-mismatch ;;
	*) patch -d "$source" -p1 --no-backup-if-mismatch <"$BENCH/rnull/peer.patch" ;;
	esac
	module_build "$1" "$2" "$source" "$3/out" PEER="$4"
}

# lttng_modules BUILD ARCH DIR: lttng-modules with the probes of the benchmark and
# no others. They are many, so a folder is used again.
lttng_modules() {
	local source=$3/source lttng
	lttng=$("$BLOG_TOP/scripts/fetch" lttng)
	if [[ ! -d $source ]]; then
		mkdir -p "$3"
		rm -rf "$source.part"
		cp -a "$lttng"/usr/src/lttng-modules-* "$source.part"
		# Its own first lines (version tests), and one probe
		sed -i '/^obj-/,$d' "$source.part/src/probes/Kbuild"
		cat >>"$source.part/src/probes/Kbuild" <<-'END'
			ccflags-y += -I$(BENCH_MODULE)
			obj-$(CONFIG_LTTNG) += lttng-probe-blog_bench.o
		END
		# UML's BUG() calls printk(), which a call of printk() can't have as an
		# argument: two messages for debugging LTTng itself.
		sed -i '/dbg_printk("ref \(load\|get context\) string/d' \
			"$source.part/src/lttng-bytecode-interpreter.c"
		mv "$source.part" "$source"
	fi
	cp -u "$BENCH/lttng/blog_bench.h" "$source/include/instrumentation/events/"
	cp -u "$BENCH/lttng/lttng-probe-blog_bench.c" "$source/src/probes/"
	(
		kernel_env
		make -C "$1" ARCH="$2" LLVM=1 -j"${BLOG_JOBS:-$(nproc)}" M="$source/src" \
			CONFIG_LTTNG=m BENCH_MODULE="$BENCH/module" modules
	)
}

# host_facts [ARCH]: what a run's facts have beside those of the guest
host_facts() {
	local cpu
	cpu=$(sed -n '/^model name/{s/.*: //p;q}' /proc/cpuinfo)
	[[ ${1-} != x86_64 ]] ||
		cpu="QEMU $(qemu-system-x86_64 --version | sed -n 's/.*version \([0-9.]*\).*/\1/p') on $cpu"
	echo "cpu $cpu"
	echo "commit $(git -C "$BLOG_TOP" describe --always --dirty=+ --exclude='*')"
}

# blog_ko BUILD: where blog.ko is
blog_ko() { echo "$1/blog/blog.ko"; }

# write_params FILE NAME=VALUE...: for the guest's shell
write_params() {
	local word
	for word in "${@:2}"; do printf "%s='%s'\n" "${word%%=*}" "${word#*=}"; done >"$1"
}

# bench_initrd WORK SCRIPT OPTION...: packs $WORK/initrd, with $WORK/params
bench_initrd() {
	local f options=()
	for f in "$BENCH"/guest/*.sh "$BENCH"/guest/*.fio; do
		options+=(-f "$f=bench/${f##*/}")
	done
	"$BLOG_TOP/scripts/guest/initrd" -o "$1/initrd" -r "$BENCH/guest/$2" \
		-f "$1/params=bench/params" "${options[@]}" "${@:3}"
}
