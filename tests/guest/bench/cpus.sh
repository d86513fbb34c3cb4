#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The same loop on one CPU and on all, by turns; and whether every record is in the
# counters afterwards, written or lost.
# shellcheck disable=SC2154
. /bench/lib.sh

# counted: records written and lost so far, in all components
counted() {
	awk '$1 == "records" || $1 == "lost" { n += $2 } END { print n }' $BLOG/bench/stats
}

load_blog
facts
cpus=$(nproc)
[ "$cpus" -gt 1 ] || die "one CPU only"
before=$(counted)
run "cpus $cpus $rounds $n blog_on.2"
after=$(counted)
# Each thread warms up with a quarter; two rounds warm up, too.
expected=$(((rounds + 2) * (cpus + 1) * (n + n / 4 + 1)))
say "$cpus CPUs: $expected records logged, $((after - before)) counted"
[ $((after - before)) = $expected ] || die "records are missing"
echo "logged $expected" >>/out/facts
echo "lost $(sed -n 's/^lost //p' $BLOG/bench/stats)" >>/out/facts
# What shares nothing shows what this machine can do.
run "cpus $cpus $rounds $n clock_tsc.0"
keep_results
