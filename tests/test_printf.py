# SPDX-License-Identifier: GPL-2.0
"""C formats: what a kernel's records decode to is what its snprintf() prints of the same
arguments. tests/kunit/c_printf.c has the cases: each is a record, and its text in the next."""

import json
from pathlib import Path

import vm
from conftest import TOP, Run

KERNELS = "uml"
TESTS = 1
SECONDS = 30
TIER = "fast"


def test_records_decode_to_what_the_kernel_prints(work: Path, decoder: Path, sh: Run) -> None:
    kernel = vm.kernel(KERNELS)
    args = "kunit.enable=1 kunit.autorun=1 kunit.filter_glob=blog_api_c.formats*"
    result = vm.run(work, kernel, TOP / "tests/e2e/guest/printf.sh", machine=vm.Machine(args=args))
    assert not result.problem, result.told()
    said = sh(decoder, "--sidetable", kernel.build / "vmlinux", "--modules", "/nowhere", "--json",
              result.out / "printf.snap")  # fmt: skip
    records = [json.loads(line) for line in said.splitlines()]
    pairs = list(zip(records[::2], records[1::2], strict=True))
    differ = [
        f"{case['file']}:{case['line']} {case['format']!r}: {case['message']!r}, not {text!r}"
        for case, printed in pairs
        if case["message"] != (text := printed["message"].removeprefix("= "))
    ]
    assert len(pairs) > 2000 and not differ, "\n".join(differ[:20])
