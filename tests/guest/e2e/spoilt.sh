#!/bin/sh
# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0
#
# A driver stores to where BLog has its pointers, and panics: which ones is on the kernel's command
# line, "spoil=". The runner reads the console, and sees whether the machine restarts.
. /lib.sh

modprobe blog || die "modprobe blog"
# An oops kills the task, and nothing else.
set_file 0 /proc/sys/kernel/panic_on_oops
read -r cmdline < /proc/cmdline
for word in $cmdline; do
	case $word in
	spoil=*) modprobe blog_crash records=100 "$word" || die "modprobe blog_crash" ;;
	esac
done
set_file spoilt /sys/module/blog_crash/parameters/scene
sleep 1000
