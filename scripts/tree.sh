# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What of this repository goes into a kernel tree, where it goes, and as which
# commit. Sourced by scripts/integrate and scripts/series, which do it, and by
# scripts/build-kernel, which needs to know whether anything of it has changed.
# Needs lib.sh.

# tree_files: prints "PATH-HERE<TAB>PATH-IN-TREE" for every file that is copied
tree_files() {
	(
		cd "$BLOG_TOP" || exit
		tree_map Kconfig blog/Kconfig
		tree_map Kbuild blog/Kbuild
		tree_map blog blog
		tree_map rust/kernel/shrinker.rs rust/kernel/shrinker.rs
		tree_map rust/kernel/blog.rs rust/kernel/blog.rs
		tree_map rust/kernel/blog rust/kernel/blog
		tree_map rust/kernel/fs rust/kernel/fs
		tree_map rust/macros/blog.rs rust/macros/blog.rs
		tree_map rust/macros/blog rust/macros/blog
		tree_map rust/helpers/blog.c rust/helpers/blog.c
		tree_map tests/kunit blog/tests
		tree_map tests/modules/testmod.h blog/testmod.h
		tree_map tests/modules/torture blog/torture
		tree_map tests/modules/crash blog/crashtest
		tree_map samples/rust samples/rust
		tree_map scripts/blog-fmt-sidetable scripts/blog-fmt-sidetable
		tree_map Documentation/blog Documentation/blog
	)
}

# tree_map FROM TO: one file, or a folder's sources
tree_map() {
	local f
	if [[ -f $1 ]]; then
		printf '%s\t%s\n' "$1" "$2"
	elif [[ -d $1 ]]; then
		find "$1" -type f \( -name '*.rs' -o -name '*.[chS]' -o -name '*.rst' \
			-o -name '*.svg' -o -name Kbuild -o -name Makefile -o -name Kconfig \) |
			sort | while read -r f; do
			printf '%s\t%s\n' "$f" "$2${f#"$1"}"
		done
	fi
}

# tree_patches: names of the patches, in order. Each is a commit.
tree_patches() { sed 's/#.*//' "$BLOG_TOP/patches/series" | awk 'NF { print $1 }'; }

# tree_test_patches: those on top that only kernels of our own tests get
tree_test_patches() { (cd "$BLOG_TOP/patches" && ls test/*.patch); }

# tree_commits: prints "PATCH<TAB>PATH-HERE<TAB>PATH-IN-TREE" for every file that is
# copied: which patch it comes with. "-" is none, and a mistake.
tree_commits() {
	tree_files | awk -F'\t' -v series="$BLOG_TOP/patches/series" '
		BEGIN {
			while ((getline line < series) > 0) {
				sub(/#.*/, "", line)
				n = split(line, field, /[ \t]+/)
				for (i = 2; i <= n; i++) {
					if (field[i] == "") continue
					paths++
					patch[paths] = field[1]
					path[paths] = field[i]
				}
			}
		}
		{
			with = "-"
			for (i = paths; i > 0; i--)
				if ($2 == path[i] || path[i] ~ /\/$/ && index($2, path[i]) == 1)
					with = patch[i]
			print with "\t" $0
		}'
}

# patched_by: reads paths of patches, prints the files that they touch
patched_by() { xargs -rd '\n' sed -n 's|^+++ b/\([^\t]*\).*|\1|p' | sort -u; }

# patch_files DIR PATCH NAME [-R]: applies a patch to the files in DIR; reports each
# hunk that does not fit. A patch may be all message and no diff.
patch_files() {
	local out
	grep -q '^diff ' "$2" || return 0
	out=$(cd "$1" && patch -p1 -f --fuzz=0 --no-backup-if-mismatch "${@:4}" -i "$2" 2>&1) && return
	warn "patches/$3 does not fit:"
	awk -v bad=0 '
		/^patching file / { file = $3 }
		/^Hunk #[0-9]+ FAILED/ { print "    " file ": hunk " $2 " (line " $5 ")"; bad++ }
		/No file to patch|can.t find file/ { print "    a file is missing"; bad++ }
		/already exists|previously applied/ { print "    " file ": " $0; bad++ }
		END { if (!bad) print "    (see patch -p1 --dry-run)" }
	' <<<"$out" | sed 's/ (line \([0-9]*\)\.)/ (line \1)/' >&2
	sed -n 's/^|+++ b\/\([^\t]*\).*/    missing: \1/p' <<<"$out" >&2
	return 1
}

# tree_commit DIR PATCH: makes one commit of the series of the files in DIR: patches
# them and copies what comes with it. Prints the paths of the copies.
tree_commit() {
	local with from to
	patch_files "$1" "$BLOG_TOP/patches/$2" "$2" || return
	while IFS=$'\t' read -r with from to; do
		[[ $with == "$2" ]] || continue
		mkdir -p "$1/$(dirname "$to")"
		cp "$BLOG_TOP/$from" "$1/$to"
		chmod 644 "$1/$to"
		echo "$to"
	done <<<"$TREE_COMMITS"
}

# small_tree DIR: a git tree with just the files of the kernel that patches change
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

# tree_key: hash of everything in a tree that a build depends on, and of how it gets
# there: documentation is not among it
tree_key() {
	(
		cd "$BLOG_TOP" || exit
		{
			tree_files | cut -f1 | grep -v '^Documentation/'
			{ tree_patches && tree_test_patches; } | sed 's|^|patches/|'
		} | xargs -d '\n' sha256sum
		tree_files | grep -v '^Documentation/'
		sha256sum patches/series scripts/integrate scripts/tree.sh
	) | sha256sum | cut -c1-16
}
