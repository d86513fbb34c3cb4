# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The files of this repository that go into a kernel tree, their places there, and
# their commits; TREE_SERIES=NAME: only those up to that series, or up to that patch. Sourced by
# scripts/integrate and scripts/series, and by scripts/build-kernel, which checks whether any of
# these has changed.

# tree_series: prints the names of the series, in order
tree_series() { sed -n 's/^\[\(.*\)\]$/\1/p' "$BLOG_TOP/patches/series"; }

# series_lines FROM TO: prints the lines of patches/series from one series to another one, or to a
# patch; those of all before, where FROM is empty, and of all from there on, where TO is
series_lines() {
	awk -v from="$1" -v to="$2" '{ sub(/#.*/, "") }
		/^\[/ { name = substr($0, 2, length($0) - 2); if (done) exit; if (name == to) done = 1
			if (name == from) from = ""; next }
		NF && from == ""
		NF && ($1 == to || $1 == "?" to) { exit }' "$BLOG_TOP/patches/series"
}

# tree_files: prints "PATCH<TAB>PATH-HERE<TAB>PATH-IN-TREE" for every copied file of the series up
# to TREE_SERIES (none: all), with the patch that it belongs to
tree_files() {
	(
		cd "$BLOG_TOP" || exit
		series_lines '' "${TREE_SERIES-}" | sed 's/^?//' | while read -r patch places; do
			for place in $places; do
				from=${place%%:*} to=${place#*:}
				[[ -e $from ]] || die "patches/series: there is no $from"
				find "$from" -type f -regextype posix-extended \
					-regex '.*\.([chS]|rs|py|rst|svg|sh|txt|gitignore|kunitconfig)|(.*/)?(Kbuild|Kconfig|Makefile|config|settings)' \
					-printf "$patch\t%p\t$to%P\n" | sort
			done
		done | awk -F'\t' '!seen[$2]++'
	)
}

# tree_patches: prints the names of the patches of the series up to TREE_SERIES, in order, but those
# of TREE_SKIPPED. Each is a commit.
tree_patches() {
	series_lines '' "${TREE_SERIES-}" | sed 's/^?//; s/[ \t].*//' | grep -vxF -f <(echo "${TREE_SKIPPED-}")
}

# tree_skipped HAS: prints the optional patches that change a file that a tree lacks; the command
# HAS FILE says whether the tree has it
tree_skipped() {
	local patch file
	series_lines '' "${TREE_SERIES-}" | sed -n 's/^?\([^ ]*\).*/\1/p' | while read -r patch; do
		while read -r file; do
			"$1" "$file" || { echo "$patch" && break; }
		done < <(sed -n 's|^--- a/\([^\t]*\).*|\1|p' "$BLOG_TOP/patches/$patch")
	done
}

# tree_test_patches: prints patches on top, which only kernels of our own tests get
tree_test_patches() { (cd "$BLOG_TOP/patches" && ls test/*.patch); }

# patched_by: reads paths of patches, prints the files that they touch
patched_by() { xargs -rd '\n' sed -n 's|^+++ b/\([^\t]*\).*|\1|p' | sort -u; }

# tree_recorded FILE: prints the files that a tree's .blog.patch changes
tree_recorded() { sed -n 's|^+++ new/\([^\t]*\)\t.*|\1|p' "$1"; }

# patch_files DIR PATCH NAME [-R]: applies a patch to the files in DIR; reports each
# hunk that does not fit. A patch may be all message and no diff.
patch_files() {
	local out
	grep -q '^diff ' "$2" || return 0
	out=$(cd "$1" && patch -p1 -f --fuzz=0 --no-backup-if-mismatch "${@:4}" -i "$2" 2>&1) && return
	warn "$3 does not fit:"
	awk -v bad=0 '
		/^patching file / { file = $3 }
		/^Hunk #[0-9]+ FAILED/ { print "    " file ": hunk " $2 " (line " $5 ")"; bad++ }
		/No file to patch|can.t find file/ { print "    a file is missing"; bad++ }
		/already exists|previously applied|content differs/ { print "    " (/^Not/ ? "" : file ": ") $0; bad++ }
		END { if (!bad) print "    (see patch -p1 --dry-run)" }
	' <<<"$out" | sed 's/ (line \([0-9]*\)\.)/ (line \1)/' >&2
	sed -n 's/^|+++ b\/\([^\t]*\).*/    missing: \1/p' <<<"$out" >&2
	return 1
}

# header_patch: prints what the patches change in headers for drivers, without the hooks
header_patch() {
	tree_patches | sed "s|^|$BLOG_TOP/patches/|" | xargs -d '\n' \
		awk '/^diff --git / { on = $3 ~ /^a\/include\// && $3 !~ /(sched|sys_info|vmlinux\.lds)\.h$/ } FNR == 1 { on = 0 } on'
}

# Lists of what may be in a tree: each row names a folder beside its list.
TREE_LISTS='kernel/blog/parts/Kconfig kernel/blog/parts/mod.rs'

# has_rows DIR: has the lists in a tree name only what is there
has_rows() {
	local list
	for list in $TREE_LISTS; do
		[[ -e $1/$list ]] || continue
		awk -v dir="$1/kernel/blog/parts" '
			/^source "/ { split($2, path, "/"); name = path[4] }
			/^ +CONFIG_[A-Z_]+ [a-z_]+;$/ { name = substr($2, 1, length($2) - 1) }
			name != "" { if (system("test -d " dir "/" name)) { name = ""; next } name = "" }
			1' "$BLOG_TOP/${list#kernel/}" >"$1/$list"
		echo "$list"
	done
}

# tree_commit DIR PATCH: makes one commit of the series in DIR: patches the files there
# and copies the files that belong to it. Prints the paths of the copies.
tree_commit() {
	local with from to mode parts=''
	patch_files "$1" "$BLOG_TOP/patches/$2" "patches/$2" || return
	while IFS=$'\t' read -r with from to; do
		[[ $with == "$2" ]] || continue
		mode=644
		[[ ! -x $BLOG_TOP/$from ]] || mode=755
		install -D -m $mode "$BLOG_TOP/$from" "$1/$to"
		[[ $to != kernel/blog/parts/* ]] || parts=yes
		[[ " $TREE_LISTS " == *" $to "* ]] || echo "$to"
	done <<<"$TREE_FILES"
	[[ -z $parts ]] || has_rows "$1"
}

# small_tree DIR: makes a git tree with only those kernel files that patches change
small_tree() {
	local f to
	mkdir -p "$1"
	to=$(cd "$1" && pwd)
	{ tree_patches && tree_test_patches; } | sed "s|^|$BLOG_TOP/patches/|" | patched_by |
		(cd "$(kernel_pristine)" && while read -r f; do
			[[ ! -e $f ]] || cp --parents -t "$to" "$f"
		done)
	git -C "$to" init -q
	git -C "$to" add -Af
	git -C "$to" -c user.name=Nobody -c user.email=nobody@example.org commit -qm "Linux"
}

# tree_key: prints a hash of everything that goes into a tree, except what no kernel is built from
tree_key() {
	(
		cd "$BLOG_TOP" || exit
		files=$(tree_files | grep -vE $'\t(Documentation|tools)/')
		echo "$files"
		cut -f2 <<<"$files" | xargs -d '\n' sha256sum
		{ tree_patches && tree_test_patches; } | sed 's|^|patches/|' |
			xargs -d '\n' sed -sn "/^diff /,\$p"
		cat scripts/integrate scripts/lib/tree.sh
	) | sha256sum | cut -c1-16
}
