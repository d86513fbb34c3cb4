# SPDX-License-Identifier: GPL-2.0
"""What one call site takes of the kernel's memory: BLog's beside those of its peers.

Each site logs a u32 and a u64 that its function is given, and says something else than the others.
Loaded memory is what has the ALLOC flag and stays after the module's init; of two modules of the
same kind, the difference is due to the sites.
"""

import re
from collections import Counter
from pathlib import Path

from images.blogelf import Image

FEW, MANY = 4, 36
KINDS = ("empty", "blog", "blog_err", "blog_c", "trace_printk", "pr_debug", "event")

MACROS = {"blog": "blog_log", "blog_err": "blog_err"}

MODULE_C = """
#include <linux/module.h>
MODULE_DESCRIPTION("Call sites to be measured");
MODULE_LICENSE("GPL and additional rights");
"""

HEADER = """
#undef TRACE_SYSTEM
#define TRACE_SYSTEM {system}
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE {system}
#if !defined({guard}) || defined(TRACE_HEADER_MULTI_READ)
#define {guard}
#include <linux/tracepoint.h>
{events}
#endif
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#include <trace/define_trace.h>
"""

EVENT = """
TRACE_EVENT(sites_{i},
	TP_PROTO(u32 sectors, u64 start),
	TP_ARGS(sectors, start),
	TP_STRUCT__entry(__field(u32, sectors) __field(u64, start)),
	TP_fast_assign(__entry->sectors = sectors; __entry->start = start;),
	TP_printk("request {i}: %u sectors at %llu", __entry->sectors, __entry->start)
);
"""


def c_function(i: int, body: str) -> str:
    return (
        f"void sites_call_{i}(u32 sectors, u64 start);\n"
        f"noinline void sites_call_{i}(u32 sectors, u64 start)\n{{\n\t{body}\n}}\n"
    )


def rust(count: int, macro: str) -> str:
    call = macro + '!(SITES, "request {i}: {{sectors}} sectors at {{start}}");'
    functions = "".join(
        f'#[no_mangle]\n#[inline(never)]\nextern "C" fn sites_call_{i}(sectors: u32, start: u64) '
        f"{{\n    {call.format(i=i)}\n}}\n\n"
        for i in range(count)
    )
    return (
        "// SPDX-License-Identifier: GPL-2.0\n//! Generated.\n\n"
        f"use kernel::blog::{{blog_component, {macro}}};\n\n"
        'blog_component! { SITES, name: "sites" }\n\n' + functions
    )


def generate(folder: Path) -> None:
    """Sources of modules with FEW and with MANY sites."""
    folder.mkdir(parents=True, exist_ok=True)
    kbuild = []
    for kind in KINDS:
        for count in (FEW, MANY):
            name = f"sites_{kind}_{count}"
            (folder / f"{name}_module.c").write_text(MODULE_C)
            kbuild.append(f"obj-m += {name}.o\n{name}-y := {name}_module.o {name}_calls.o")
            calls = folder / f"{name}_calls.c"
            if kind in MACROS:
                (folder / f"{name}_calls.rs").write_text(rust(count, MACROS[kind]))
            elif kind == "event":
                header = f"{name}_events"
                events = "".join(EVENT.format(i=i) for i in range(count))
                text = HEADER.format(system=header, guard=header.upper(), events=events)
                (folder / f"{header}.h").write_text(text)
                body = "".join(
                    c_function(i, f"trace_sites_{i}(sectors, start);") for i in range(count)
                )
                calls.write_text(f'#define CREATE_TRACE_POINTS\n#include "{header}.h"\n{body}')
                kbuild.append(f"CFLAGS_{name}_calls.o := -I$(src)")
            else:
                body = {
                    "empty": 'asm volatile("" : : "r" (sectors), "r" (start));',
                    "blog_c": 'blog_log(sites, "request {i}: %u sectors at %llu", sectors, start);',
                    "trace_printk": 'trace_printk("request {i}: %u sectors at %llu\\n", sectors, start);',
                    "pr_debug": 'pr_debug("request {i}: %u sectors at %llu\\n", sectors, start);',
                }[kind]
                include = "#include <linux/ftrace.h>\n#include <linux/printk.h>\n"
                if kind == "blog_c":
                    include = "#include <linux/blog.h>\nBLOG_COMPONENT(sites);\n"
                calls.write_text(
                    include
                    + "".join(c_function(i, body.replace("{i}", str(i))) for i in range(count))
                )
    (folder / "Kbuild").write_text("\n".join(kbuild) + "\n")


# Sections that are dropped after a module's init, or are for the loader only
NOT_KEPT = re.compile(r"^\.(init|exit|modinfo|note|gnu\.linkonce|rel|return_sites|retpoline|ibt_)")


def sections(path: Path) -> dict[str, int]:
    """{name: size} of what stays in memory, code and strings apart."""
    sizes: Counter[str] = Counter()
    for section in Image(path).sections.values():
        if section.loaded and not NOT_KEPT.match(section.name):
            sizes[section.name] += section.size
    return sizes


def measure(folder: Path) -> dict[str, dict[str, float]]:
    """Bytes for each site beyond a function that does nothing, by kind and what they are for."""

    def each(kind: str) -> dict[str, float]:
        found = {"code": 0.0, "data": 0.0, "unwind tables": 0.0}
        few, many = (sections(folder / f"sites_{kind}_{n}.ko") for n in (FEW, MANY))
        for name, size in many.items():
            part = "data"
            if name.startswith((".text", ".ltext")):
                part = "code"
            elif "orc" in name or "eh_frame" in name:
                part = "unwind tables"
            found[part] += (size - few.get(name, 0)) / (MANY - FEW)
        return found

    empty = each("empty") | {"data": 0.0}
    result = {}
    for kind in KINDS[1:]:
        parts = {part: max(size - empty[part], 0.0) for part, size in each(kind).items()}
        result[kind] = parts | {"sum": sum(parts.values())}
    return result
