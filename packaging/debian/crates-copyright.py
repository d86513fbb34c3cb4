#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Prints, for Debian's copyright file, who holds the copyright of the crates that are
linked into blog-decode, and under which license each is used. Takes what "cargo
metadata" knows and what the crates' own license files say; fails on a license that
it doesn't know, so that a new crate is looked at.

usage: crates-copyright.py Cargo.toml TARGET-TRIPLE
"""

import json
import pathlib
import re
import subprocess
import sys

# What we choose of alternatives, best first
KNOWN = ("MIT", "BSD-3-Clause", "BSD-2-Clause", "Zlib", "Apache-2.0")
MIT_START = "Permission is hereby granted"


def metadata(manifest, triple):
    command = [
        "cargo",
        "metadata",
        "--format-version=1",
        "--locked",
        "--offline",
        "--features=otlp,parquet,static-xz",
        "--manifest-path",
        manifest,
        "--filter-platform",
        triple,
    ]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def linked(data):
    """Packages whose code is in the program: no build scripts, macros or tests."""
    packages = {p["id"]: p for p in data["packages"]}
    nodes = {n["id"]: n for n in data["resolve"]["nodes"]}
    root = data["resolve"]["root"]
    seen, todo = set(), [root]
    while todo:
        for dep in nodes[todo.pop()]["deps"]:
            name = dep["pkg"]
            is_macro = any("proc-macro" in t["kind"] for t in packages[name]["targets"])
            normal = any(k["kind"] is None for k in dep["dep_kinds"])
            if normal and not is_macro and name not in seen:
                seen.add(name)
                todo.append(name)
    # Those without a registry are of this repository.
    others = (packages[name] for name in seen if packages[name]["source"])
    return sorted(others, key=lambda p: (p["name"], p["version"]))


def chosen(package):
    """The licenses of our choice, more than one of a crate with an AND; one without any that we
    know is an error."""
    license = package["license"] or ""
    all_of_them = re.split(r"\s+AND\s+", license)
    if "OR" not in license and set(all_of_them) <= set(KNOWN):
        return all_of_them
    options = [o.strip("() ") for o in re.split(r"\s+OR\s+|/", license)]
    for known in KNOWN:
        if known in options:
            return [known]
    sys.exit(f"{package['name']} {package['version']}: look at its license first: {license!r}")


def license_text(package, license):
    """Text of the license from the crate's own files, if it is there."""
    folder = pathlib.Path(package["manifest_path"]).parent
    named = [f for f in folder.iterdir() if re.match("(?i)(licen[cs]e|copying)", f.name)]
    # A folder of them, as REUSE has it.
    inner = [f for folder in named if folder.is_dir() for f in folder.iterdir()]
    files = sorted(
        (f for f in named + inner if f.is_file()), key=lambda f: (license not in f.name, f)
    )
    for f in files:
        text = f.read_text(encoding="utf-8", errors="replace")
        if license == "MIT" and MIT_START in text:
            return text
        if license != "MIT" and license.split("-")[0].lower() in text.lower():
            return text
    return ""


def holders(package, text):
    """Copyright lines of the license file, else the authors."""
    lines = [line.strip(" *#") for line in text.splitlines()]
    found = [line for line in lines if re.match(r"(?i)copyright +(\(c\)|©|[0-9])", line)]
    return found or [
        f"the authors of {package['name']}" + "".join(f", {a}" for a in package["authors"])
    ]


def indented(text):
    lines = text.strip().splitlines()
    return "".join(f" {line.rstrip()}\n" if line.strip() else " .\n" for line in lines)


def main():
    texts: dict[str, str] = {}
    for package in linked(metadata(*sys.argv[1:])):
        found = {license: license_text(package, license) for license in chosen(package)}
        print(f"\nFiles: crates/{package['name']}-{package['version']}/*")
        print("Copyright: " + "\n ".join(holders(package, "\n".join(found.values()))))
        print("License: " + " and ".join(found))
        for license, text in found.items():
            # Some crates name it and have no file of it.
            if not text and license != "Apache-2.0":
                sys.exit(f"{package['name']}: no text of {license}")
            # What comes before has both: they are the same words everywhere.
            if license not in ("Apache-2.0", "MIT"):
                texts.setdefault(license, text)
    for license, text in sorted(texts.items()):
        print(f"\nLicense: {license}\n{indented(text)}", end="")


if __name__ == "__main__":
    main()
