# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What of this repository goes into a kernel tree, and where it goes.
# Sourced by scripts/integrate, which does it, and by scripts/build-kernel,
# which needs to know whether anything of it has changed.

# tree_files: prints "PATH-HERE<TAB>PATH-IN-TREE" for every file that is copied
tree_files() {
	(
		cd "$BLOG_TOP" || exit
		tree_map Kconfig blog/Kconfig
		tree_map Kbuild blog/Kbuild
		tree_map blog blog
		tree_map rust/kernel/blog.rs rust/kernel/blog.rs
		tree_map rust/kernel/blog rust/kernel/blog
		tree_map rust/macros/blog.rs rust/macros/blog.rs
		tree_map rust/macros/blog rust/macros/blog
		tree_map rust/helpers/blog.c rust/helpers/blog.c
		tree_map tests/kunit blog/tests
		tree_map tests/torture/module blog/torture
		tree_map tests/crash/module blog/crash
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

# tree_patches: names of the patches, in order
tree_patches() { sed 's/#.*//; /^[[:space:]]*$/d' "$BLOG_TOP/patches/series"; }

# tree_key: hash of everything that goes into a tree, and of how it goes there
tree_key() {
	(
		cd "$BLOG_TOP" || exit
		{
			tree_files
			tree_files | cut -f1
			tree_patches | sed 's|^|patches/|'
		} | awk -F'\t' 'NF == 1' | xargs -d '\n' sha256sum
		tree_files
		sha256sum patches/series scripts/integrate scripts/tree.sh
	) | sha256sum | cut -c1-16
}
