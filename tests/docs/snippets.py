#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Makes what README.md and driver-guide.rst show as code into kernel modules.

usage: snippets.py build DIR     write readme.rs, guide.rs and a Kbuild into DIR
       snippets.py compare FILE  FILE is the decoded output of readme.rs: compare
                                 it with what README.md and driver-guide.rst say

readme.rs is README.md's snippet and calls submit() as README.md says it does.
guide.rs has each Rust block of driver-guide.rst in a module of its own: it is
there to be compiled. Exit status: 0 all is well, 1 it is not, 2 wrong usage.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEAD = """// SPDX-License-Identifier: GPL-2.0

//! Made from {page} by tests/docs/snippets.py.

#![allow(dead_code, missing_docs, unreachable_pub, unused_imports)]

use kernel::{{blog::*, prelude::*}};

module! {{
    type: Snippet,
    name: "{name}",
    authors: ["BLog developers"],
    description: "Snippets of the documentation",
    license: "GPL",
}}

struct Snippet;

impl kernel::Module for Snippet {{
    fn init(_module: &'static ThisModule) -> Result<Self> {{
        {init}
        Ok(Self)
    }}
}}

"""
PRELUDE = "use kernel::prelude::*;\n"


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


def readme_blocks(language):
    return re.findall(r"```%s\n(.*?)```" % language, read("README.md"), re.S)


def guide_blocks(directive):
    text = read("Documentation/blog/driver-guide.rst")
    blocks = re.findall(directive + r"\n\n((?:(?:  .*)?\n)+)", text)
    return [re.sub("^  ", "", b, flags=re.M).rstrip() + "\n" for b in blocks]


def build(directory):
    snippet = next(b for b in readme_blocks("rust") if "fn submit" in b)
    calls = re.findall(r"`submit\((\d+, \d+)\)`", read("README.md"))
    if not calls:
        sys.exit("snippets: README.md doesn't say with what submit() is called")
    init = "\n        ".join(f"let _ = submit({c});" for c in calls)
    sources = {"readme": HEAD.format(page="README.md", name="readme", init=init)
               + snippet.replace(PRELUDE, "")}
    guide = HEAD.format(page="driver-guide.rst", name="guide", init="")
    guide += 'blog_component! { DISK, name: "guide" }\n'
    blocks = guide_blocks(r"\.\. code-block:: rust")
    for i, block in enumerate(blocks):
        guide += f"\nmod block{i} {{\nuse super::*;\n{block.replace(PRELUDE, '')}}}\n"
    sources["guide"] = guide
    for name, text in sources.items():
        with open(os.path.join(directory, name + ".rs"), "w", encoding="utf-8") as f:
            f.write(text)
    with open(os.path.join(directory, "Kbuild"), "w", encoding="utf-8") as f:
        f.write("obj-m += " + " ".join(name + ".o" for name in sources) + "\n")
    print(f"snippets: README.md's and {len(blocks)} of driver-guide.rst")
    return 0


def masked(text):
    """Lines without what differs from run to run."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [re.sub(r"^\[ *\d+\.\d+\] | \w+\[\d+\]:", " ", line) for line in lines]


def compare(path):
    with open(path, encoding="utf-8") as f:
        real = masked(f.read())
    pages = {
        "README.md": readme_blocks("text")[:1],
        "driver-guide.rst": guide_blocks("decodes to::")[:1],
    }
    status = 0
    for page, blocks in pages.items():
        said = masked("".join(blocks))
        if said != real or not real:
            print(f"{page} says {said}, but it is {real}")
            status = 1
    return status


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "build":
        return build(sys.argv[2])
    if len(sys.argv) == 3 and sys.argv[1] == "compare":
        return compare(sys.argv[2])
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
