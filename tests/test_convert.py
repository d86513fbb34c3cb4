# SPDX-License-Identifier: GPL-2.0
"""What "blog-decode convert" writes, read by those who it is for.

CTF is read by babeltrace2, Perfetto's format by protoc with Perfetto's own definitions, the
HTML report by a headless Chromium without a network. From the golden snapshot, and from 20003
records of four rings. BLOG_BIG=RECORDS takes as many instead, and prints how long a report of
that size needs. BLOG_BLESS=1 makes the golden texts anew.
"""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import TOP, Run
from convert.check_perfetto import check
from playwright.sync_api import Browser, Page, sync_playwright

TESTS = 27
SECONDS = 30

GOLDEN = TOP / "tools/blog-decode/tests/golden/expected"
RECORDS = int(os.environ.get("BLOG_BIG", "20003"))
FORMS = ("ctf", "perfetto", "html")


@pytest.fixture(scope="module")
def converted(work: Path, decoder: Path, sh: Run) -> Path:
    """The folder with golden.FORM and big.FORM."""
    big = work / "big"
    big.mkdir()
    sh("cargo", "test", "--quiet", "--offline", "--locked", "--test", "biglog",
       "--manifest-path", TOP / "tools/blog-decode/Cargo.toml",
       env=os.environ | {"BLOG_BIG_LOG": f"{RECORDS} 4 {big}"})  # fmt: skip
    convert = [decoder, "convert", "--modules", "nowhere", "--to"]
    for form in FORMS:
        # Of the golden snapshot, a part is damaged.
        sh(*convert, form, "-o", work / f"golden.{form}", "-s", GOLDEN / "golden_mod.blogfmt",
           GOLDEN / "new.snap", status=(1,))  # fmt: skip
        sh(*convert, form, "-o", work / f"big.{form}", "-s", big / "log.ko", big / "log.snap")
    return work


def same_as_golden(text: str, name: str) -> None:
    if "BLOG_BLESS" in os.environ:
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()


@pytest.mark.parametrize("form", FORMS)
def test_converts(converted: Path, form: str) -> None:
    for name in ("golden", "big"):
        assert (converted / f"{name}.{form}").exists()


# --- CTF --------------------------------------------------------------------------


def babeltrace(trace: Path) -> str:
    """Its text, with UTC and without a word of complaint."""
    command = ["babeltrace2", "--clock-gmt", "--clock-date", "--no-delta", str(trace)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout


def test_ctf_is_golden(converted: Path) -> None:
    same_as_golden(babeltrace(converted / "golden.ctf"), "babeltrace2.txt")


def test_ctf_has_what_blog_decode_prints(converted: Path, decoder: Path, sh: Run) -> None:
    lines = babeltrace(converted / "big.ctf").splitlines()
    big = converted / "big"
    said = sh(decoder, "--format", "{message}", "-s", big / "log.ko", big / "log.snap")
    assert re.findall(r'\{ msg = "([^"]*)"', "\n".join(lines)) == said.splitlines()
    times = [line.split()[:2] for line in lines]
    assert times == sorted(times)
    assert len(lines) == RECORDS


# --- Perfetto ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def as_text(converted: Path, sh: Run) -> Callable[[str], str]:
    """What protoc makes of a trace."""
    said = sh("cargo", "metadata", "--format-version=1", "--locked", "--offline", "--all-features",
              "--manifest-path", TOP / "tests/convert/Cargo.toml")  # fmt: skip
    packages = json.loads(said[said.index("{") :])["packages"]
    paths = [Path(p["manifest_path"]) for p in packages if p["name"] == "tracing-perfetto"]
    protos = paths[0].parent / "protos"

    def decode(name: str) -> str:
        with (converted / f"{name}.perfetto").open() as trace:
            command = ["protoc", "-I", str(protos), "--decode", "perfetto.protos.Trace"]
            return subprocess.run(
                [*command, str(protos / "perfetto_trace.proto")], stdin=trace, check=True,
                stdout=subprocess.PIPE, text=True).stdout  # fmt: skip

    return decode


def test_perfetto_is_golden(as_text: Callable[[str], str]) -> None:
    same_as_golden(as_text("golden"), "perfetto.txt")


@pytest.mark.parametrize("name", ["golden", "big"])
def test_perfetto_rules(as_text: Callable[[str], str], name: str) -> None:
    """No field is unknown, no rule of the trace processor broken, and no event missing."""
    events = len((GOLDEN / "babeltrace2.txt").read_text().splitlines())
    check(as_text(name).splitlines(), events if name == "golden" else RECORDS)


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        (r"(?m)^    uuid: 3$", r"\g<0>\n    4711: 1", "unknown"),
        ("track_uuid: 5", "track_uuid: 55", "which is not described"),
        ("track_event {", "nothing {", "an empty packet"),
        ("(?m)^    category_iids: 2$", "    category_iids: 77", "was not told of"),
    ],
    ids=["field", "track", "event", "id"],
)
def test_perfetto_damage_is_noticed(
    as_text: Callable[[str], str], before: str, after: str, complaint: str
) -> None:
    text = as_text("golden")
    spoilt = re.sub(before, after, text)
    assert spoilt != text
    with pytest.raises(AssertionError, match=complaint):
        check(spoilt.splitlines(), text.count("track_event {"))


# --- HTML -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(work: Path) -> Iterator[Browser]:
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert program, "no Chromium: run scripts/setup --tests"
    # Not every container lets one have a network of one's own.
    alone = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
    if alone.returncode:
        pytest.skip(f"a browser without a network: {alone.stderr.strip()}")
    start = work / "browser"
    start.write_text(f'#!/bin/sh\nexec unshare --net {program} "$@"\n')
    start.chmod(0o755)
    flags = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--enable-precise-memory-info",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=start, args=flags)
        yield browser
        browser.close()


class Report:
    """The page, as a reader uses it."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.path = path
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(120_000)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        start = time.monotonic()
        page.goto(path.as_uri())
        self.wait(
            "document.body.dataset.ready !== undefined || !document.getElementById('error').hidden"
        )
        self.times = {"load": time.monotonic() - start}

    def wait(self, expression: str) -> None:
        """Until it is true. (The page's policy forbids what Playwright waits with.)"""
        end = time.monotonic() + 120
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def count(self) -> str:
        return self.page.locator("#count").inner_text()

    def rows(self) -> list[str]:
        """Text of the rows that are shown, once they are drawn."""
        rows: list[str] = self.page.evaluate(
            "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => "
            "r([...document.querySelectorAll('.row .m')].map(e => e.textContent)))))"
        )
        return rows

    def shows(self, count: str, what: str = "") -> None:
        """Waits for what the count says."""
        start = time.monotonic()
        self.wait(f"document.getElementById('count').textContent === {count!r}")
        if what:
            self.times[what] = time.monotonic() - start

    def search(self, text: str) -> None:
        self.page.locator("#search").fill(text)

    def wheel(self, delta: int) -> None:
        """Over the lanes."""
        box = self.page.locator("#lanes").bounding_box()
        assert box
        self.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
        self.page.mouse.wheel(0, delta)

    def is_quiet(self) -> None:
        """It shows no error, asks for nothing but itself, and throws nothing."""
        assert self.page.locator("#error").text_content() == ""
        assert set(self.requests) == {self.path.as_uri()}
        assert not self.errors


@pytest.fixture(scope="module")
def small(browser: Browser, converted: Path) -> Iterator[Report]:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, converted / "golden.html")
    yield report
    page.close()


def test_html_rows(small: Report) -> None:
    assert small.count() == "20 of 20 shown"
    assert small.rows()[:3] == [
        "5 older records overwritten",
        "read 8 sectors at 0x1000",
        '"sda \\"1\\"\\t\\u{1b}[2J é": EIO',
    ]


def test_html_message_is_never_markup(small: Report) -> None:
    marked = [row for row in small.rows() if "<b>" in row]
    assert marked == ['two ⏎ lines, "quoted", <b>&amp;</b>']


def test_html_level_filters_and_leaves_losses(small: Report) -> None:
    small.page.locator("#level").select_option("2")
    small.shows("8 of 20 shown")
    assert len(small.rows()) == 8


def test_html_losses_can_be_left_out(small: Report) -> None:
    small.page.locator("#lost").click()
    small.shows("4 of 20 shown")
    assert [row.split()[0] for row in small.rows()] == ['"sda', "q7", "<site", "two"]
    small.page.locator("#level").select_option("5")
    small.page.locator("#lost").click()
    small.shows("20 of 20 shown")


def test_html_search(small: Report) -> None:
    """Words, capital or not; and regular expressions."""
    small.search("READ")
    small.shows("2 of 20 shown")
    assert small.rows() == ["read 8 sectors at 0x1000", "read 16 sectors at 0xffffffffffffffff"]
    small.search("/^(state (Busy|Idle)|sense)/")
    small.shows("3 of 20 shown")
    assert small.rows()[1] == "state Idle"
    # It is about characters, not about their bytes.
    small.search('/2J ."/')
    small.shows("1 of 20 shown")
    small.search("É")
    small.shows("1 of 20 shown")
    small.search("/(/")
    small.wait("document.getElementById('search').classList.contains('bad')")
    small.search("")
    small.shows("20 of 20 shown")


def test_html_component_filters(small: Report) -> None:
    small.page.locator("#component").select_option("net")
    small.shows("8 of 20 shown")
    small.page.locator("#component").select_option("")
    small.shows("20 of 20 shown")
    assert small.rows()[0] == "5 older records overwritten"


def test_html_click_shows_the_record(small: Report) -> None:
    small.page.locator(".row").nth(1).click(position={"x": 300, "y": 5})
    assert (small.page.locator("#detail").text_content() or "").splitlines() == [
        "8.000001  info  disk  fio[4242]",
        "read 8 sectors at 0x1000",
        "drivers/block/test.rs:11  test::inner",
        "read {} sectors at {sector:#x}",
    ]


def test_html_wheel_zooms(small: Report) -> None:
    small.wheel(-800)
    small.wait("!document.getElementById('count').textContent.startsWith('20 ')")
    assert small.count().endswith(" of 20 shown")
    small.page.locator("#all").click()
    small.shows("20 of 20 shown")


def test_html_lanes_are_drawn(small: Report) -> None:
    drawn = small.page.evaluate(
        "(() => { const c = document.getElementById('lanes'); const d = c.getContext('2d')"
        ".getImageData(240, 0, c.width - 240, c.height).data; let n = 0;"
        "for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n })()"
    )
    assert drawn > 100


def test_html_is_quiet(small: Report) -> None:
    small.is_quiet()


@pytest.fixture(scope="module")
def many(browser: Browser, converted: Path) -> Iterator[Report]:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, converted / "big.html")
    yield report
    if "BLOG_BIG" in os.environ:
        for what, seconds in report.times.items():
            print(f"{what}: {seconds:.2f} s")
        heap = page.evaluate("performance.memory ? performance.memory.usedJSHeapSize : 0")
        print(f"JavaScript heap: {heap >> 20} MiB")
    page.close()


def test_html_of_many_counts_all(many: Report) -> None:
    assert many.count() == f"{RECORDS:,} of {RECORDS:,} shown"


@pytest.mark.parametrize(
    ("text", "found", "what"),
    [
        ("at 0x1f40", "hits.filter(i => message(i).includes('at 0x1f40'))", "search"),
        (
            "/^read 7 /",
            "Array.from({ length: n }, (_, i) => message(i).startsWith('read 7 ')).filter(Boolean)",
            "regular expression",
        ),
    ],
    ids=["word", "expression"],
)
def test_html_of_many_search(many: Report, text: str, found: str, what: str) -> None:
    number = many.page.evaluate(f"{found}.length")
    assert number > 0
    many.search(text)
    many.shows(f"{number:,} of {RECORDS:,} shown", what)
    assert many.rows()
    many.search("")
    many.shows(f"{RECORDS:,} of {RECORDS:,} shown", "all again")


def test_html_of_many_zooms_and_scrolls(many: Report) -> None:
    for what, act in (
        ("one step of zoom, drawn", lambda: many.wheel(-300)),
        (
            "one scroll, drawn",
            lambda: many.page.evaluate("document.getElementById('tablebox').scrollTop += 5000"),
        ),
    ):
        start = time.monotonic()
        for _ in range(10):
            act()
            many.rows()
        many.times[what] = (time.monotonic() - start) / 10
    assert many.count() != f"{RECORDS:,} of {RECORDS:,} shown"
    assert many.rows()


def test_html_of_many_is_quiet(many: Report) -> None:
    many.is_quiet()
