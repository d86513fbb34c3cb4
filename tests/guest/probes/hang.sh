#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A disk that stops answering, in a kernel whose driver says nothing: the runner stops it (when it
# hears "flows") and looks for the thread, live and in a dump.
. /lib.sh

modprobe blog || die "modprobe blog"
modprobe rust_blog || die "modprobe rust_blog"
until [ -b /dev/vdb ]; do sleep 0.1; done
blog-ctl probe add rust_blog \
	'f:virtio_blk:virtio_queue_rq "queue tag %d sector %llu" bd->rq->tag bd->rq->__sector' || die queue
blog-ctl probe add rust_blog \
	'f:virtio_blk:virtblk_request_done "done tag %d sector %llu" req->tag req->__sector' || die "done"
dd if=/dev/vdb of=/dev/null bs=4k count=100000000 iflag=direct &
say "flows"
# Until no read is over for a while
while before=${reads-}; read -r reads _ < /sys/block/vdb/stat; [ "$before" != "$reads" ]; do sleep 3; done
cat "$BLOG/snapshot" > /out/snapshot || die "no snapshot"
say "hangs $!"
# Until the runner lets the disk go on
kill $!
wait $!
exit 0
