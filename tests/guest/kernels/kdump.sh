#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Logs, loads the crash kernel, and panics. That kernel runs tests/guest/crash/kdump.sh.
. /lib.sh

OF=/sys/module/blog_kernels/parameters

modprobe blog || die "modprobe blog"
modprobe blog_kernels || die "modprobe blog_kernels"
set_file log $OF/step
/bin/kexec-load /crash/bzImage /crash/initrd \
	"console=ttyS0 panic=-1 quiet nr_cpus=1 reset_devices irqpoll no_timer_check rdinit=/init" ||
	die "loading the crash kernel"
say "ready"
echo panic > $OF/step
# A thread does that.
while :; do sleep 60; done
