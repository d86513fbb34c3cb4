#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The guest that will crash: loads the modules, and the crash kernel if there is one,
# and starts the scene. It never returns. Parameters in /crash/params:
# scene, settings (NAME=VALUE for the module), blog (the same for blog), sysctls,
# sysrq, kdump, snapshot.
# shellcheck disable=SC2154
. /lib.sh
. /crash/params

# settings of this kernel: PATH=VALUE below /proc/sys
for setting in $sysctls; do
	echo "${setting#*=}" > "/proc/sys/${setting%%=*}" || die "$setting"
done
# shellcheck disable=SC2086
[ -d "$BLOG" ] || modprobe blog $blog || die "modprobe blog"
# shellcheck disable=SC2086
modprobe blog_crash $settings || die "modprobe blog_crash $settings"
if [ -n "$kdump" ]; then
	/bin/kexec-load /crash/bzImage /crash/initrd \
		"console=ttyS0 panic=-1 quiet nr_cpus=1 reset_devices irqpoll nokaslr rdinit=/init" ||
		die "loading the crash kernel"
	[ "$(cat /sys/kernel/kexec_crash_loaded)" = 1 ] || die "the crash kernel isn't loaded"
fi
# Memory for the rings of tasks comes while there are few of them.
sleep 1
say "scene $scene"
echo "$scene" > /sys/module/blog_crash/parameters/scene || die "scene $scene"
if [ -n "$snapshot" ]; then
	until dmesg | grep -q 'blog_crash: ready'; do sleep 1; done
	cat "$BLOG/snapshot" > /tmp/snapshot || die "$BLOG/snapshot"
	cat /tmp/snapshot > /dev/vda && sync || die "/dev/vda"
	say "snapshot $(wc -c < /tmp/snapshot) bytes"
fi
if [ -n "$sysrq" ]; then
	until dmesg | grep -q 'blog_crash: ready'; do sleep 1; done
	echo c > /proc/sysrq-trigger
fi
# Till the kernel is down, or the runner has what it wants.
while :; do sleep 60; done
