#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Settings of components: those that the command line has, as below, if it has them; those that are
# written at run time; and what is wrong among them.
#
# blog=off blog.component=rust_blog:level=err,private=keep,size_kb=64 blog.component=nonsense
# blog.component=rust_blog:mode=x blog.component=rnull*:enable=1,mode=discard,ring_kb=32;:enable=1
HERE=$(dirname "$(readlink -f "$0")")
. "$HERE/lib.sh"

WISHES=/sys/module/blog/parameters/component
SAMPLE=$BLOG/rust_blog

# settings DIR FILE...: "FILE:VALUE " for each of its files
settings() { (cd "$1" && shift && grep . "$@" | tr '\n' ' '); }

# all_settings: those that the parameter and both components have
all_settings() {
	cat $WISHES
	for dir in "$SAMPLE" "$RNULL"; do
		settings "$dir" enable level mode private size_kb ring_kb
	done
}

[ -e $WISHES ] || skip "this kernel has no BLOG_SETTINGS"
[ -d "$SAMPLE" ] || modprobe rust_blog || die "modprobe rust_blog"
modprobe rnull_mod || die "modprobe rnull_mod"
if grep -q 'blog.component=nonsense' /proc/cmdline; then
	same "what is wrong is left out" "$(cat $WISHES)" "*:enable=0
rust_blog:level=err,private=keep,size_kb=64
rnull*:enable=1,mode=discard,ring_kb=32"
	same "and reported" "$(dmesg | grep -c 'component=.*left out')" 3
	same "a built-in component" "$(settings "$SAMPLE" enable level mode private size_kb)" \
		"enable:0 level:err mode:overwrite private:keep size_kb:64 "
	same "one that is off takes no memory" "$(get bytes "$SAMPLE/stats")" 0
	same "one of a module that comes" "$(settings "$RNULL" enable mode private ring_kb)" \
		"enable:1 mode:discard private:hash ring_kb:32 "
else
	ktap_test_skip "settings of the command line"
fi

set_file 'rust_blog:enable=1,level=trace; rnull:size_kb=128' $WISHES
same "at run time, at once" "$(settings "$SAMPLE" enable level)$(cat "$RNULL/size_kb")" \
	"enable:1 level:trace 128"
for n in 1 2 3; do
	set_file "rust_blog:enable=$((n % 2)),level=debug,private=omit,size_kb=64" $WISHES
done
same "the last one of its kind is kept" "$(grep -c rust_blog $WISHES)" 1
before=$(all_settings)
for bad in rust_blog rust_blog: :level=err 'rust_blog:level' 'rust_blog:level=' \
	'rust_blog:level=6' 'rust_blog:Level=err' 'rust_blog:level=err,' \
	'rust_blog:level=err,level=err' 'a*b:enable=1' 'rust_blog:size_kb=1' \
	'rust_blog:ring_kb=0x10' 'rust_blog:clear=1' 'rust_blog:level=err rnull:nonsense=1'; do
	if echo "$bad" 2> /dev/null > $WISHES; then
		not_ok "takes '$bad'"
	elif [ "$before" = "$(all_settings)" ]; then
		ok "refuses '$bad'"
	else
		not_ok "refuses '$bad' and changes something"
	fi
done
first=$(head -n 1 $WISHES)
# More than there is room for is refused, and what was there stays.
n=0
while echo "component_with_a_long_name_$n:level=err" 2> /dev/null > $WISHES; do n=$((n + 1)); done
[ $n -gt 50 ] && [ $n -lt 120 ] && ok "there is an end" || not_ok "there is an end: $n"
same "the first one is still there" "$(head -n 1 $WISHES)" "$first"
finish
