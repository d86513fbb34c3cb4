#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The unit of the package, which writes the settings of a file. Prints TAP for the runner.
. /lib.sh

blog_on
service() { eval "$(sed -n 's/^ExecStart=//p' /blog.service)" 2> /dev/null; }
mkdir -p /etc
cat > /etc/blog.conf << 'END'
# for the disk that hangs
rust_blog:level=warn   # the sample
rnull:size_kb=256
END
service
same "a file's settings" "$(cat "$BLOG/rust_blog/level" "$RNULL/size_kb" | tr '\n' ' ')" "warn 256 "
echo 'rust_blog:level=nonsense' > /etc/blog.conf
service && not_ok "an error in the file" || ok "an error in the file"
tap_end
