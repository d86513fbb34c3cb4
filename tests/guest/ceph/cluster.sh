#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Starts Ceph on this machine: a monitor, an OSD that stores in memory, an MDS; and a file
# system. It needs no authentication.

set -euo pipefail
at() { echo "[$(cut -d' ' -f1 /proc/uptime)] $*"; }

cat >/etc/ceph/ceph.conf <<END
[global]
fsid = $(</proc/sys/kernel/random/uuid)
mon_host = [v2:127.0.0.1:3300,v1:127.0.0.1:6789]
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
osd_pool_default_size = 1
osd_pool_default_min_size = 1
mon_allow_pool_size_one = true
mon_data_avail_crit = 0
osd_objectstore = memstore
memstore_device_bytes = 268435456
osd_crush_chooseleaf_type = 0
END
mkdir -p /var/lib/ceph/{mon/ceph-a,osd/ceph-0,mds/ceph-a}
monmaptool --create --addv a '[v2:127.0.0.1:3300,v1:127.0.0.1:6789]' \
	--fsid "$(sed -n 's/^fsid = //p' /etc/ceph/ceph.conf)" /tmp/monmap
ceph-mon --mkfs -i a --monmap /tmp/monmap
ceph-mon -i a
timeout 120 ceph -s
at "monitor"
uuid=$(</proc/sys/kernel/random/uuid)
timeout 120 ceph osd new "$uuid"
ceph-osd -i 0 --mkfs --osd-uuid "$uuid"
ceph-osd -i 0
ceph-mds -i a
timeout 120 ceph osd pool create cephfs_meta 8
timeout 120 ceph osd pool create cephfs_data 8
timeout 120 ceph fs new cephfs cephfs_meta cephfs_data
at "file system"
for _ in {1..60}; do
	! timeout 60 ceph mds stat | grep -q up:active || break
	sleep 1
done
at "$(ceph mds stat)"
