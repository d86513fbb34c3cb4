#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR MIT
#
# Makes report.png from the snapshot here: what a browser shows of its report. Takes the decoder of "make decode", or the one in DECODE.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${DECODE:-$here/../../../../target/release/blog-decode}" report -o "$dir/report.html" \
	--modules "$here/tables" \
	--span "queue *" "complete *" --key arg.tag "$here/snap"
chromium-headless-shell --no-sandbox --hide-scrollbars --window-size=1200,560 \
	--screenshot="$here/report.png" "file://$dir/report.html"
