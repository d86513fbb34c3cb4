# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Files out of Debian suites that the system does not use. The package lists
# live in the cache, the system's own suites and packages stay as they are, and
# a package is unpacked, never installed. What comes is trusted for the archive's
# signature, which apt checks, not for how it came. Sourced by what downloads.

APT_DIR=$BLOG_CACHE/apt
DEB_DIR=$BLOG_CACHE/debs

# apt_mirror: the archive that the system itself uses; every suite is there
apt_mirror() {
	local uris
	# shellcheck disable=SC2016 # apt's own variable
	uris=$(apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Created-By: Packages' | awk '!seen[$0]++')
	grep -m 1 -E '/debian/?$' <<<"$uris" || {
		warn "no Debian archive among apt's sources (URIs that end in /debian)"
		return 1
	}
}

# apt_suite SUITE APT-COMMAND...: runs apt with that suite only. Of sid, a mirror
# may have a state that is weeks old, which apt calls expired. That is no harm: what
# is taken from there runs in tests only, most of it has a recorded hash, and apt
# checks its signature all the same.
apt_suite() {
	local suite=$1 dir=$APT_DIR/$1 mirror any_age=()
	local key=/usr/share/keyrings/debian-archive-keyring.gpg
	shift
	[[ $suite != sid ]] || any_age=(-o Acquire::Check-Valid-Until=false)
	mirror=$(apt_mirror) || return 1
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	cat >"$dir/sources.list" <<-END
		deb [signed-by=$key] $mirror $suite main
		deb-src [signed-by=$key] $mirror $suite main
	END
	"$1" -q -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache" \
		${any_age[@]+"${any_age[@]}"} -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3 \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		-o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false "${@:2}"
}

# apt_lists SUITE: fetches the suite's lists, signatures checked by apt
apt_lists() {
	# A list that cannot be verified is an error, not a warning.
	apt_suite "$1" apt-get -o APT::Update::Error-Mode=any update
}

# deb_cached NAME_VERSION_ARCH.deb: the cached file for this package, of the
# recorded version if it is there; prints nothing if there is none
deb_cached() {
	local name=${1%%_*} f
	if [[ -s $DEB_DIR/$1 ]]; then
		echo "$DEB_DIR/$1"
		return
	fi
	for f in "$DEB_DIR/$name"_*.deb; do
		[[ ! -s $f ]] || echo "$f"
	done | sort -V | tail -n 1
}

# deb_verify FILE NAME SHA256: the recorded file must have the recorded hash
deb_verify() {
	[[ ${1##*/} == "$2" && -n $3 ]] || return 0
	sha256sum -c --status <<<"$3  $1" || {
		warn "$1 does not have the recorded sha256 $3"
		return 1
	}
	echo "$1: sha256 as recorded"
}

# deb_fetch SUITE NAME_VERSION_ARCH.deb SHA256: downloads a package into
# $DEB_DIR; in the recorded version if the suite has it and it starts with
# $DEB_MATCH, else the newest one that does.
deb_fetch() {
	local suite=$1 file=$2 sha=$3 name version versions got
	name=${file%%_*}
	version=${file#*_}
	version=${version%_*}
	mkdir -p "$DEB_DIR/partial"
	apt_lists "$suite" || return 1
	versions=$(apt_suite "$suite" apt-cache madison "$name" |
		awk -v m="${DEB_MATCH-}" 'index($3, m) == 1 { print $3 }' | sort -Vu)
	if ! grep -qxF -- "$version" <<<"$versions"; then
		version=$(tail -n 1 <<<"$versions")
		[[ -n $version ]] || { warn "$suite has no $name ${DEB_MATCH-}"; return 1; }
		echo "$suite does not have $file; taking $version"
	fi
	(cd "$DEB_DIR/partial" && rm -f "$name"_*.deb && apt_suite "$suite" apt-get download "$name=$version") || return 1
	# apt escapes the colon of an epoch in file names
	got=$(ls "$DEB_DIR/partial/$name"_*.deb)
	deb_verify "$got" "$file" "$sha" || { rm -f "$got"; return 1; }
	mv "$got" "$DEB_DIR/"
}

# deb_unpack FILE DIR: unpacks a package so that DIR appears only when whole
deb_unpack() {
	rm -rf "$2.part"
	mkdir -p "$2.part"
	dpkg -x "$1" "$2.part"
	rm -rf "$2"
	mv "$2.part" "$2"
}
