#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Checks what README.md and Documentation/blog refer to.

- A literal that looks like a path into one of BLog's folders must exist here
  (or be what scripts/integrate makes of something here).
- A relative link of README.md must lead to a file, a fragment to a heading.
- "make TARGET" must be a target of the Makefile, where there is one.

References between the pages are sphinx's business (-n -W). Exit status: 0 all
resolve, 1 some don't.
"""

import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OURS = re.compile(r"(?:blog|rust/kernel/blog|rust/macros|rust/helpers|samples/rust|scripts|"
                  r"tools|tests|patches|Documentation/blog|\.ci)/[\w./*-]+|"
                  r"include/linux/blog\.h|rust/kernel/blog\.rs")
# Names in the kernel tree, and where they come from.
IN_TREE = {
    "blog/Kconfig": "Kconfig",
    "blog/Kbuild": "Kbuild",
    "include/linux/blog.h": "patches/task_struct-blog-tls.patch",
}
KERNEL_TARGETS = {"modules_install", "htmldocs", "menuconfig", "olddefconfig"}
# Files of the kernel itself, made by the build, or in debugfs.
NOT_OURS = re.compile(r"scripts/(checkpatch\.pl|config|Makefile\S*)|"
                      r"\S+\.(o|ko|blogfmt)$|samples/rust/(Kconfig|Makefile)$|"
                      r"scripts/blog-fmt-sidetable/blog-fmt-sidetable$")
DEBUGFS = re.compile(r"^blog/(components|clock|stats|tasks|snapshot|control|"
                     r"<component>\S*|[a-z0-9_-]+/(enable|level|mode|size_kb|ring_kb|"
                     r"snapshot|stream|stats|clear)?)$")


def exists(path):
    path = IN_TREE.get(path, path).rstrip("/")
    path = re.sub(r"^blog/tests", "tests/kunit", path)
    return bool(glob.glob(os.path.join(TOP, path)))


def literals(text, is_rst):
    return re.findall(r"``([^`\n]+)``" if is_rst else r"`([^`\n]+)`", text)


def anchors(markdown):
    out = set()
    for heading in re.findall(r"^#+ +(.+)$", markdown, re.M):
        out.add(re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-"))
    return out


def make_targets():
    path = os.path.join(TOP, "Makefile")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        rules = re.findall(r"^([\w. -]+?) *:(?!=)", f.read(), re.M)
    return {t for rule in rules for t in rule.split()}


def check(path, targets):
    errors = []
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for literal in literals(text, path.endswith(".rst")):
        if m := re.fullmatch(r"make ([a-z][\w-]*)", literal):
            if targets is not None and m[1] not in targets | KERNEL_TARGETS:
                errors.append(f"no make target {m[1]}")
        word = literal.split()[0]
        if not OURS.fullmatch(word) or NOT_OURS.match(word) or DEBUGFS.match(word):
            continue
        if not exists(word):
            errors.append(f"no file {word}")
    if path.endswith(".md"):
        for link in re.findall(r"\]\(([^)]+)\)", text):
            if re.match(r"[a-z]+:", link):
                continue
            file, _, fragment = link.partition("#")
            if file and not os.path.exists(os.path.join(os.path.dirname(path), file)):
                errors.append(f"dead link {link}")
            if fragment and not file and fragment not in anchors(text):
                errors.append(f"dead link {link}")
    return errors


def main():
    targets = make_targets()
    pages = [os.path.join(TOP, "README.md"),
             *sorted(glob.glob(os.path.join(TOP, "Documentation/blog/*.rst")))]
    failed = False
    for page in pages:
        for error in check(page, targets):
            print(f"{os.path.relpath(page, TOP)}: {error}")
            failed = True
    if not failed:
        print(f"check-links: {len(pages)} pages, all references resolve")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
