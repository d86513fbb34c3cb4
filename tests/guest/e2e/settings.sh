#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Settings that the command line has for components, those that are written at run time, and what
# is wrong among them. Prints TAP for the runner. The command line is that of test_control.py.
. /lib.sh

WISHES=/sys/module/blog/parameters/component
SAMPLE=$BLOG/rust_blog

# settings DIR: as the parameter has them
settings() {
	echo "enable=$(cat "$1/enable"),level=$(cat "$1/level"),mode=$(cat "$1/mode"),private=$(cat \
		"$1/private"),size_kb=$(cat "$1/size_kb"),ring_kb=$(cat "$1/ring_kb")"
}

same "what is wrong is left out" "$(tr '\n' ' ' < $WISHES)" \
	"*:enable=0 rust_blog:level=err,private=keep,size_kb=64 rnull*:enable=1,mode=discard,ring_kb=32 "
same "and reported" "$(dmesg | grep -c 'component=.*left out')" 3
same "a built-in component" "$(settings "$SAMPLE")" \
	"enable=0,level=err,mode=overwrite,private=keep,size_kb=64,ring_kb=$(cat "$SAMPLE/ring_kb")"
same "one that is off takes no memory" "$(get bytes "$SAMPLE/stats")" 0
modprobe rnull_mod || die "modprobe"
same "one of a module that comes" "$(settings "$RNULL")" \
	"enable=1,level=$(cat "$RNULL/level"),mode=discard,private=hash,size_kb=$(cat "$RNULL/size_kb"),ring_kb=32"

set_file 'rust_blog:enable=1,level=trace; rnull:size_kb=128' $WISHES
same "at run time, at once" "$(cat "$SAMPLE/enable" "$SAMPLE/level" "$RNULL/size_kb" | tr '\n' ' ')" \
	"1 trace 128 "
for n in 1 2 3; do set_file "rust_blog:enable=$((n % 2)),level=debug,private=omit,size_kb=64" $WISHES; done
same "the last one of its kind is kept" "$(grep -c rust_blog $WISHES)" 1
# The unit of the package does the same with a file.
mkdir -p /etc
cat > /etc/blog.conf << 'END'
# for the disk that hangs
rust_blog:level=warn   # the sample
rnull:size_kb=256
END
eval "$(sed -n 's/^ExecStart=//p' /blog.service)"
same "a file's settings" "$(cat "$SAMPLE/level" "$RNULL/size_kb" | tr '\n' ' ')" "warn 256 "
before=$(get records "$RNULL/stats")
set_file "a line of a test" "$RNULL/marker"
same "a marker is a record" "$(get records "$RNULL/stats")" $((before + 1))
echo 'rust_blog:level=nonsense' > /etc/blog.conf
eval "$(sed -n 's/^ExecStart=//p' /blog.service)" 2> /dev/null && not_ok "an error in the file" ||
	ok "an error in the file"

before=$(cat $WISHES; settings "$SAMPLE"; settings "$RNULL")
for bad in rust_blog rust_blog: :level=err 'rust_blog:level' 'rust_blog:level=' 'rust_blog:level=6' \
	'rust_blog:Level=err' 'rust_blog:level=err,' 'rust_blog:level=err,level=err' 'a*b:enable=1' \
	'rust_blog:size_kb=1' 'rust_blog:ring_kb=0x10' 'rust_blog:clear=1' \
	'rust_blog:level=err rnull:nonsense=1'; do
	if echo "$bad" 2> /dev/null > $WISHES; then
		not_ok "takes '$bad'"
	elif [ "$before" = "$(cat $WISHES; settings "$SAMPLE"; settings "$RNULL")" ]; then
		ok "refuses '$bad'"
	else
		not_ok "refuses '$bad' and changes something"
	fi
done
# More than there is room for is refused, and what was there stays.
n=0
while echo "component_with_a_long_name_$n:level=err" 2> /dev/null > $WISHES; do n=$((n + 1)); done
[ $n -gt 50 ] && [ $n -lt 120 ] && ok "there is an end" || not_ok "there is an end: $n"
same "the first one is still there" "$(head -n 1 $WISHES)" "*:enable=0"
tap_end
