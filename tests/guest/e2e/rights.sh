#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Which of BLog's files root, a member of a group, and anybody can open, in tracefs and in
# debugfs, as they are mounted and with a group that may read.
. /lib.sh

mkdir -p /etc
echo 'root:x:0:0::/:/bin/sh
member:x:1000:100::/:/bin/sh
nobody:x:65534:65534::/:/bin/sh' > /etc/passwd
printf 'root:x:0:\nmembers:x:100:\nnogroup:x:65534:\n' > /etc/group

cat > /opens <<'END'
#!/bin/sh
# opens MODE FOLDER: which files can be opened: < to read, >> to write
while read -r file; do
	if (eval "exec 3$1 $2/$file") 2> /dev/null; then echo "$file"; fi
done < /files
END
chmod 755 /opens

# keep NAME FOLDER: what each user can open there
keep() {
	for user in root member nobody; do
		mkdir -p "/out/$1/$user"
		su $user -c "/opens '<' $2" > "/out/$1/$user/read"
		su $user -c "/opens '>>' $2" > "/out/$1/$user/write"
	done
}

(cd $BLOG && find . -type f) | sed 's|^\./||' | sort > /out/files
cp /out/files /files
keep tracefs /sys/kernel/tracing/blog
keep debugfs /sys/kernel/debug/blog
set_file 1 /proc/sys/kernel/kptr_restrict
mount -o remount,gid=100,mode=750 /sys/kernel/tracing || die "mount"
keep group /sys/kernel/tracing/blog
cat /sys/kernel/tracing/blog/snapshot > /out/all
su member -c 'cat /sys/kernel/tracing/blog/snapshot' > /out/two
exit 0
