# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Allocations that fail on purpose, see Documentation/fault-injection/ of the
# kernel. Sourced after lib.sh by scripts that run in a guest.

DEBUG=/sys/kernel/debug
FAULTS="$DEBUG/failslab $DEBUG/fail_page_alloc"
PLENTY=1000000000

# faults NAME VALUE: one setting of both kinds of faults
faults() {
	for dir in $FAULTS; do
		[ ! -e "$dir/$1" ] || set_file "$2" "$dir/$1"
	done
}

# only_within FROM TO: only allocations with a caller between these addresses
only_within() {
	faults require-start "$1"
	faults require-end "$2"
}

# within_modules: the kernel maps all modules in the top GiB, and no other code
within_modules() { only_within 0xffffffffc0000000 0xffffffffff000000; }

# within_loader: in what loads a module, which calls its init function, too
within_loader() {
	# shellcheck disable=SC2046 # two words
	only_within $(sort /proc/kallsyms | awk '$3 == "load_module" { print "0x" $1; found = 1; next }
		found { print "0x" $1; exit }')
}

# within_blog: in blog.ko, and not in a driver, whose text may be right after
within_blog() {
	only_within "$(cat /sys/module/blog/sections/.text)" \
		"0x$(awk '$4 == "[blog]" && tolower($2) == "t" { print $1 }' /proc/kallsyms |
			sort | tail -n 1)"
}

# injected: sets $injected, how many allocations have failed on purpose so far
injected() {
	injected=$((2 * PLENTY))
	for dir in $FAULTS; do
		read -r left < "$dir/times"
		injected=$((injected - left))
	done
}

# faults_ready: sets all up; none fails yet
faults_ready() {
	[ -d "$DEBUG/failslab" ] || die "a kernel without fault injection"
	faults probability 0
	faults verbose 0
	faults interval 1
	faults times $PLENTY
	faults ignore-gfp-wait N
	faults ignore-gfp-highmem N
	faults min-order 0
}
