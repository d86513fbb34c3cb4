# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash disable=SC2154
#
# fio on rnull, with BLog and without by turns. Sourced by scripts in the guest.

DISK=/sys/kernel/config/rnull/rnullb0

# disk_on: a disk that completes requests as a real one does, in softirq; but on a
# machine with one CPU blk-mq completes them at once, in the task
disk_on() {
	mkdir $DISK || die "mkdir rnullb0"
	set_file 1 $DISK/irqmode
	set_file 512 $DISK/blocksize
	set_file 1024 $DISK/size
	set_file 1 $DISK/power
	set_file 2 /sys/block/rnullb0/queue/nomerges
	set_file none /sys/block/rnullb0/queue/scheduler
}

disk_off() {
	set_file 0 $DISK/power
	rmdir $DISK || die "rmdir rnullb0"
}

# logged: records of rnull so far
logged() { sed -n 's/^records //p' $BLOG/rnull/stats; }

# requests: reads and writes of the disk so far
requests() { awk '{ print $1 + $5 }' /sys/block/rnullb0/stat; }

# fio_once NAME ROUND ENGINE BYTES: what fio has measured; with BLog, every request
# must be in its counters twice, or not at all
fio_once() {
	case $1 in blog_*) was=$(logged) before=$(requests) ;; esac
	FIO_BYTES="$4" fio --output-format=json --output="/out/fio/$3.$1.$2.json" "/bench/$3.fio" ||
		die "fio: $?"
	case $1 in
	blog_on) expected=$((was + 2 * ($(requests) - before))) ;;
	blog_off) expected=$was ;;
	*) return 0 ;;
	esac
	[ "$(logged)" = $expected ] || die "$1: $(logged) records, not $expected"
}

# fio_way NAME ROUND BYTES: both engines, with that kind of rnull
fio_way() {
	module=rnull_${1%_*}
	load "$module"
	if [ "$1" != plain ]; then
		set_file 1024 $BLOG/rnull/size_kb
		set_file 256 $BLOG/rnull/ring_kb
		set_file debug $BLOG/rnull/level
		if [ "$1" = blog_on ]; then set_file 1 $BLOG/rnull/enable; else set_file 0 $BLOG/rnull/enable; fi
	fi
	disk_on
	for engine in batch single; do
		fio_once "$1" "$2" "$engine" "$3"
	done
	disk_off
	rmmod "$module" || die "rmmod $module"
}

# fio_rounds: a round with fewer bytes, which warms up, and one that counts. Of
# instructions, one is enough
fio_rounds() {
	mkdir -p /out/fio
	for way in plain blog_off blog_on; do fio_way $way warm "$fio_warm_up"; done
	for way in plain blog_off blog_on; do fio_way $way run "$fio_bytes"; done
	say "fio has run"
}
