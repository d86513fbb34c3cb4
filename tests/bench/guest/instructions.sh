#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The calls of BLog alone, in all contexts, and the bytes of its records. Where
# instructions are counted nothing depends on time, so few rounds will do.
# shellcheck disable=SC1091,SC2154
# shellcheck source=tests/bench/guest/lib.sh
. /bench/lib.sh
# shellcheck source=tests/bench/guest/bytes.sh
. /bench/bytes.sh

load_blog
facts
run "cases task $rounds $n empty. blog_ floor_ clock_ function_ none. none_"
run "cases softirq $rounds $n empty. blog_on."
run "cases hardirq $rounds $n empty. blog_on."
run "each 4000"
run "new $new"
bytes_of_blog
keep_results
if [ "$fio" = yes ]; then
	# shellcheck source=tests/bench/guest/fio.sh
	. /bench/fio.sh
	fio_rounds
fi
