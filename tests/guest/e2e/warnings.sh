#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Errors stay in their share of a component that is busy with other records, whose tasks and
# softirqs go on for several times what a ring holds; without a share, they go. Prints TAP for
# the runner, which decodes the snapshots.
. /lib.sh

# refuse VALUE: has the driver log an error, by a task that ends
refuse() { (echo "$1" > "$CONFIG/rnullb0/blocksize") 2> /dev/null; }

chatter() { dd if=/dev/rnullb0 of=/dev/null bs=4k count=20000 iflag=direct 2> /dev/null; }

blog_on
rings 256 64 overwrite
disk_on 128
before=$(get records "$RNULL/stats")
refuse first
chatter
refuse second
chatter
[ $(($(get records "$RNULL/stats") - before)) -gt 75000 ] && ok "there is chatter"
[ "$(get bytes_warn "$RNULL/stats")" -gt 0 ] && ok "and memory for errors"
cat "$RNULL/snapshot" > /out/share || not_ok "no snapshot"
set_file 0 "$RNULL/warn_share"
refuse third
cat "$RNULL/snapshot" > /out/there || not_ok "no snapshot"
# By more tasks than there is memory for: each fills a ring of 64 KiB.
for _ in 1 2 3 4 5 6; do chatter; done
# By more tasks than there are rings: few records of a task that has ended stay as long as no other
# task needs its ring.
n=0
while [ $((n += 1)) -le 500 ]; do
	dd if=/dev/rnullb0 of=/dev/null bs=4k count=1 iflag=direct 2> /dev/null
done
cat "$RNULL/snapshot" > /out/gone || not_ok "no snapshot"
tap_end
