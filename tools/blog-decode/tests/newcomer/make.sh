#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# Makes the snapshot of Documentation/blog/first-five-minutes.rst again, with the kernel
# x86 that scripts/build-kernel has built: needed if the format of snapshots changes.
# The page's numbers are then those of the new one, by hand; tests/it/newcomer.rs of
# tools/blog-decode says which.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../../../scripts/lib/lib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fio=$("$BLOG_TOP/scripts/fetch" fio)/fio
modules=$(find "$(kernel_modules x86)/lib/modules" -mindepth 1 -maxdepth 1 -type d | head -n 1)
"$BLOG_TOP/tests/vm.py" --out "$work" --mem 512 -f "$modules=lib/modules/${modules##*/}" \
	-x "$fio=bin/fio" "$here/guest.sh"
cp "$work/out/snap" "$here/snap"
cp "$work/out/blog/rnull_mod.blogfmt" "$here/tables/7.3.4-blog/blog/"
