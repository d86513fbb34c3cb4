#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs the test of tools/testing/selftests/blog that /selftests/name names, where it is installed
# as kselftest does. Captures are for the runner.

read -r name < /selftests/name
{
	BLOG_OUT=/out "/selftests/blog/$name.sh"
	echo $? > /tmp/status
} 2>&1 | while IFS= read -r line; do echo "guest: $line"; done
exit "$(cat /tmp/status)"
