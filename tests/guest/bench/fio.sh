#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# fio on rnull, with BLog and without, by turns: a round with few bytes, which warms up, and one
# that counts. Of instructions, one is enough.
# shellcheck disable=SC2154
. /lib.sh
. /params

# logged: records of rnull so far
logged() { get records "$RNULL/stats"; }

# requests: reads and writes of the disk so far
requests() { awk '{ print $1 + $5 }' "$STAT"; }

# once NAME ENGINE BYTES OPTION...: what fio measures; with BLog, each request has two records, or
# none
once() {
	name=$1 engine=$2 bytes=$3
	shift 3
	case $name in blog_*) was=$(logged) before=$(requests) ;; esac
	fio --name="$engine" --filename=/dev/rnullb0 --direct=1 --bs=4k --norandommap --randrepeat=1 \
		--gtod_reduce=1 --io_size="$bytes" --output-format=json \
		--output="/out/$engine.$name.json" "$@" || die "fio: $?"
	case $name in
	blog_on) same "$name" "$(logged)" $((was + 2 * ($(requests) - before))) ;;
	blog_off) same "$name" "$(logged)" "$was" ;;
	esac
}

[ -d "$BLOG" ] || modprobe blog "clock=$clock" || die "modprobe blog"
for bytes in 64m 1g; do
	for way in plain blog_off blog_on; do
		module=rnull_${way%_*}
		insmod "/$module.ko" || die "insmod $module"
		if [ $way != plain ]; then
			set_file 1024 "$RNULL/size_kb"
			set_file 256 "$RNULL/ring_kb"
			set_file debug "$RNULL/level"
			[ $way = blog_on ] && on=1 || on=0
			set_file $on "$RNULL/enable"
		fi
		disk_on 1024
		once $way batch $bytes --rw=randread --ioengine=io_uring --iodepth=32 \
			--iodepth_batch_submit=16 --iodepth_batch_complete_min=8 \
			--iodepth_batch_complete_max=32
		once $way single $bytes --rw=randrw --ioengine=psync
		disk_off
		rmmod "$module" || die "rmmod $module"
	done
done
echo "kernel $(uname -r)" > /out/facts
tap_end
