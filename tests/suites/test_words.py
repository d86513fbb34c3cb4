# SPDX-License-Identifier: GPL-2.0
"""Last words: what the kernel prints to its log at a panic, an oops and a hang decodes to the last
records."""

import os
import re
import subprocess
import zlib
from pathlib import Path

import pytest
import vm
from conftest import TOP, Run

pytestmark = pytest.mark.kernels("uml")

LINES = 2000
PANIC, OOPS, HANG, STUCK = 1, 2, 4, 8


def console(work: Path, args: str, flavour: str = "uml") -> Path:
    """The console of a guest that panics in the end."""
    kernel = vm.kernel(flavour)
    work.mkdir(exist_ok=True)
    script = TOP / "tests/guest/e2e/words.sh"
    initrd = vm.initrd(work / "initrd", kernel.busybox, script, kernel.files(), {})
    machine = vm.Machine(2, 512, f"rdinit=/run {args}")
    with vm.Guest(work, kernel, initrd, machine, 0) as guest:
        guest.wait("Kernel panic - not syncing: Attempted to kill init", 100)
        guest.wait_end(60)
    return guest.console


@pytest.fixture(scope="module")
def panic(work: Path) -> Path:
    return console(work / "panic", f"last={PANIC | OOPS}")


def command(decoder: Path, text: Path, flavour: str = "uml") -> list[str | Path]:
    """What else the tasks have logged, in other components, has an address."""
    tables = vm.kernel(flavour).build / "vmlinux"
    return [decoder, "show", "--sidetable", tables, "--modules", "/nowhere",
            "--component", "rnull", "--format", "{comm}[{pid}] {message}", text]  # fmt: skip


def words(console: Path, why: str) -> list[str]:
    """The lines of the first event; all of its text is 4 KiB at most."""
    text = console.read_text(errors="replace")
    tag = re.findall(rf"blog-words:{why}:./.:(\w*)", text)[0]
    lines = re.findall(rf"blog-words:{why}:./.:{tag}:\S*", text)
    assert sum(len(line) + 1 for line in lines) <= 4096
    return lines


def test_the_last_records_are_there(panic: Path, decoder: Path, sh: Run) -> None:
    """Without a gap, up to the last one; as many as 4 KiB of text hold beside other rings."""
    assert words(panic, "panic")
    said = sh(*command(decoder, panic))
    first, *lines = said.splitlines()
    assert len(lines) > 40
    before = LINES - len(lines)
    assert first == f"run[1] {before} older records overwritten"
    assert lines == [f"run[1] line {n}" for n in range(before + 1, LINES + 1)]


def test_a_task_that_hangs_and_who_blocks_it(work: Path, decoder: Path, sh: Run) -> None:
    """The last records of both, and who waits for whom. The machine goes on."""
    text = console(work / "hang", f"hang last={HANG}")
    assert re.search("^guest: goes on", text.read_text(errors="replace"), re.MULTILINE)
    words(text, "hang")
    said = sh(*command(decoder, text))
    for what in ("has", "wants"):
        numbers = [int(n) for n in re.findall(rf" {what} (\d+)$", said, re.MULTILINE)]
        assert len(numbers) > 20
        assert numbers == list(range(301 - len(numbers), 301))


def test_a_log_in_another_form_decodes_to_the_same(
    panic: Path, work: Path, decoder: Path, sh: Run
) -> None:
    lines = panic.read_text(errors="replace").splitlines()
    journal = work / "journal"
    journal.write_text("".join(f"Nov 27 18:00:0{n % 10} box kernel: {line}\r\nother: {n}\n"
                               for n, line in enumerate(lines)))  # fmt: skip
    assert sh(*command(decoder, journal)) == sh(*command(decoder, panic))


def test_a_lost_line_costs_only_its_records(panic: Path, work: Path, decoder: Path) -> None:
    text = panic.read_text(errors="replace")
    lines = words(panic, "panic")
    for n, word in enumerate(lines):
        part = work / f"without-{n}"
        part.write_text(text.replace(word, "[ something else ]"))
        done = subprocess.run(command(decoder, part), capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"1 of {len(lines)} lines is missing" in done.stderr
        found = re.findall(r"^run\[1\] line (\d+)$", done.stdout, re.MULTILINE)
        assert found and set(found) <= {str(n) for n in range(LINES + 1)}


def test_a_task_that_spins(work: Path, decoder: Path, sh: Run) -> None:
    """Its last records, by the detector of soft lockups; the machine goes on."""
    text = console(work / "lockup", f"lockup last={STUCK}")
    assert re.search("^guest: goes on", text.read_text(errors="replace"), re.MULTILINE)
    words(text, "stuck")
    said = sh(*command(decoder, text))
    numbers = [int(n) for n in re.findall(r" spins (\d+)$", said, re.MULTILINE)]
    assert len(numbers) > 20
    assert numbers == list(range(301 - len(numbers), 301))


@pytest.mark.kernels("stock")
def test_an_oops_of_a_thread(work: Path, decoder: Path, sh: Run) -> None:
    """Its last records; the machine goes on. User Mode Linux panics at what others call an oops."""
    text = console(work / "oops", f"oops last={OOPS}", "stock")
    words(text, "oops")
    modules = vm.kernel("stock").modules / "blog"
    said = sh(decoder, "show", "--sidetable", modules, "--component", "crash", text)
    numbers = [int(n) for n in re.findall(r" s=(\d+) ", said)]
    assert len(numbers) > 20
    assert numbers == list(range(100 - len(numbers), 100))


# What blog_crash stores over: bits as in blog/tests/crash/crash.rs. An event looks at 8 rings.
MEMORY, DESCRIPTIONS, LIST = 0x03F, 0x3C0, 0x400


@pytest.mark.kernels("stock")
@pytest.mark.parametrize("spoilt", [MEMORY, DESCRIPTIONS, LIST])
def test_a_machine_with_spoilt_memory_restarts(
    work: Path, decoder: Path, sh: Run, spoilt: int
) -> None:
    """Where pointers of rings, pages and tables lead nowhere, words of the other rings are there."""
    kernel, out = vm.kernel("stock"), work / f"spoilt-{spoilt:x}"
    initrd = vm.initrd(work / "spoilt-initrd", kernel.busybox, TOP / "tests/guest/e2e/spoilt.sh",
                       kernel.files(), {})  # fmt: skip
    machine = vm.Machine(2, 512, f"panic=1 spoil={spoilt}")
    with vm.Guest(out, kernel, initrd, machine, 0) as guest:
        guest.wait("Kernel panic - not syncing: blog_crash: wild stores", 200)
        guest.wait_end(60)
    assert "Oops" not in guest.text()
    if spoilt == LIST:
        return
    said = sh(decoder, "show", "--sidetable", kernel.modules / "blog", guest.console)
    numbers = [int(n) for n in re.findall(r" s=(\d+) ", said)]
    assert len(numbers) > 20 and numbers == list(range(100 - len(numbers), 100))


@pytest.mark.parametrize(
    "args",
    [f"last={HANG}", "last=0", "lockdown=confidentiality quiet_driver panic_sys_info=blog"],
)
def test_nothing_is_said_that_is_not_wanted(work: Path, args: str) -> None:
    name = re.sub("[^a-z]", "-", args)
    assert "blog-words:" not in console(work / name, args).read_text(errors="replace")


@pytest.mark.parametrize("choice", ["panic_sys_info=blog", "panic_sys_info=mem,blog"])
def test_the_kernel_s_command_line_chooses(work: Path, choice: str) -> None:
    """What else the first process has logged, as lockdown doesn't forbid it."""
    text = console(work / choice.partition("=")[2], f"quiet_driver {choice}")
    assert "blog-words:panic:" in text.read_text(errors="replace")


def test_by_default_no_event_is_chosen(work: Path) -> None:
    text = console(work / "default", "quiet_driver").read_text(errors="replace")
    assert "blog-words:" not in text


@pytest.mark.kernels("stock")
def test_without_patches_a_panic_is_the_default(work: Path) -> None:
    text = console(work / "default-stock", "", "stock").read_text(errors="replace")
    assert "blog-words:panic:" in text


# --- the QR code of drm_panic -----------------------------------------------------

# drm_panic_qr_max_data_size(40, length of the URL), and MAX_ZLIB_RATIO of drm_panic.c
QR_MAX = 2956
RATIO = 3


def encoder(work: Path) -> Path:
    """The kernel's own encoder, as a program."""
    source = (vm.places()[1] / "drivers/gpu/drm/drm_panic_qr.rs").read_text()
    for what, other in {
        r"^//!.*\n": "", r"^#\[export\]\n": "", r"^use kernel::prelude::\*;\n": "",
        r"\bkernel::ffi::": "core::ffi::", r"CStr::from_char_ptr": "CStr::from_ptr",
    }.items():  # fmt: skip
        source = re.sub(what, other, source, flags=re.MULTILINE)
    (work / "encoder.rs").write_text(source)
    subprocess.run(
        ["rustc", "--edition", "2021", "-O", "-o", work / "qr", TOP / "tests/words_qr.rs"],
        env=os.environ | {"ENCODER": str(work / "encoder.rs")}, check=True)  # fmt: skip
    return work / "qr"


def test_a_qr_code_has_the_last_records(panic: Path, work: Path, decoder: Path, sh: Run) -> None:
    """What drm_panic puts into its code is the end of the log, which our lines are. The steps are
    those of drm_panic_get_qr_code_url(); the encoder is the kernel's; another program reads it."""
    text = panic.read_text(errors="replace").replace("\r", "")
    log = text[: text.rindex("blog-words:")] + words(panic, "panic")[-1] + "\n"
    url = "https://panic.example.org/report?a=x86_64&v=7.3.4-blog&z="
    most = (QR_MAX - len(url) - 5) * 39 // 40
    log = log[-RATIO * most :]
    while True:
        packer = zlib.compressobj(6, zlib.DEFLATED, 12)
        packed = packer.compress(log.encode()) + packer.flush()
        if len(packed) <= most:
            break
        log = log.split("\n", 1)[1]
    done = subprocess.run(
        [encoder(work), url], input=packed, stdout=subprocess.PIPE, check=True)  # fmt: skip
    # The program wants several pixels for a bit.
    _, size, *rows = done.stdout.decode().splitlines()
    width = 3 * int(size.split()[0])
    wide = [re.sub(r"\d", lambda bit: 3 * f"{bit[0]} ", row) for row in rows for _ in range(3)]
    (work / "code.pbm").write_text("\n".join(["P1", f"{width} {width}", *wide]))
    said = sh("zbarimg", "--quiet", "--nodbus", "--raw", work / "code.pbm")
    (work / "scanned").write_text(said)
    found = sh(*command(decoder, work / "scanned"), status=(0, 1))
    numbers = [int(n) for n in re.findall(r"^run\[1\] line (\d+)$", found, re.MULTILINE)]
    print(f"{len(numbers)} records, of {len(packed)} bytes")
    # The newest are there, without a gap.
    assert len(numbers) > 40 and numbers == list(range(LINES - len(numbers) + 1, LINES + 1))
