#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# usage: capture.sh PATCH HEADERS OUT
#
# Writes to OUT the headers of a kernel that have macros for debug messages, with BLog's changes, for
# drivers that BLog captures. Each change is to a macro of its own; one that doesn't fit is named, and
# messages of that macro aren't recorded. All others need those to dynamic_debug.h.

set -eu
patch=$1 headers=$2 out=$3
rm -rf "$out"
for file in $(sed -n 's|^+++ b/\([^[:space:]]*\).*|\1|p' "$patch"); do
	[ -f "$headers/$file" ] || continue
	mkdir -p "$out/$(dirname "${file#include/}")"
	cp "$headers/$file" "$out/${file#include/}"
done
# nothing WHY: no header has changes
nothing() {
	echo "  nothing can be captured: $1"
	rm -rf "$out"
	mkdir "$out"
	exit
}

command -v patch >/dev/null || nothing "there is no program patch: apt install patch"
patch -p2 -f --fuzz=0 -r - --no-backup-if-mismatch -d "$out" -i "$patch" >"$out/patch.log" 2>&1 ||
	awk '/^patching file/ { file = $3 } / FAILED/ && /hunks? / {
		print "  " file ": " $1 " of " $4 " changes don'\''t fit this kernel: see Documentation/blog/capture.rst"
		base = base || file ~ /dynamic_debug/
	} END { exit base }' "$out/patch.log" || nothing "this kernel's dynamic_debug.h is another one"
# Kernels without dynamic debug's flag "d" lack this.
grep -q 'define __dynamic_dump_stack' "$out/linux/dynamic_debug.h" ||
	echo '#define __dynamic_dump_stack(desc) do { } while (0)' >>"$out/linux/dynamic_debug.h"
