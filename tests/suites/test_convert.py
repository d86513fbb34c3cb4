# SPDX-License-Identifier: GPL-2.0
"""The output of "blog-decode convert", read back by the tools that it is meant for.

CTF is read by babeltrace2, Perfetto's format by Perfetto's own definitions, the HTML report by a
headless Chromium without a network. From the golden snapshot, and from 20003
records of four rings; in the deep tier from five million. BLOG_BLESS=1 makes the golden texts
anew.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import TOP, Run, biglog, offline
from convert import check_perfetto
from convert.check_perfetto import Message
from playwright.sync_api import Browser, Page, sync_playwright

GOLDEN = TOP / "tools/blog-decode/tests/golden/expected"
NEWCOMER = TOP / "tools/blog-decode/tests/newcomer"
HANG = TOP / "tools/blog-decode/tests/hang"
RECORDS = 20003
FORMS = ("ctf", "perfetto", "html")


def big_log(folder: Path, records: int, rings: int = 4) -> Path:
    """The folder with log.ko and log.snap."""
    folder.mkdir()
    return biglog("log", records, rings, folder)


@pytest.fixture(scope="module")
def converted(work: Path, decoder: Path, sh: Run) -> Path:
    """The folder with golden.FORM and big.FORM."""
    big = big_log(work / "big", RECORDS)
    convert = [decoder, "convert", "--modules", "nowhere", "--to"]
    for form in FORMS:
        # Of the golden snapshot, a part is damaged.
        sh(*convert, form, "-o", work / f"golden.{form}", "-s", GOLDEN / "golden_mod.blogfmt",
           GOLDEN / "new.snap", status=(1,))  # fmt: skip
        sh(*convert, form, "-o", work / f"big.{form}", "-s", big / "log.ko", big / "log.snap")
    sh(*convert, "html", "-o", work / "slow.html", "-s", NEWCOMER / "tables", "--span", "queue *",
       "complete *", "--key", "arg.tag", NEWCOMER / "snap")  # fmt: skip
    for form in ("perfetto", "html"):
        sh(*convert, form, "-o", work / f"spans.{form}", "-s", GOLDEN / "golden_mod.blogfmt",
           "--span", "read *", "state *", "--key", "component", GOLDEN / "new.snap",
           status=(1,))  # fmt: skip
    return work


def same_as_golden(text: str, name: str) -> None:
    if "BLOG_BLESS" in os.environ:
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()


# --- CTF --------------------------------------------------------------------------


def babeltrace(trace: Path) -> str:
    """Its text, in UTC and without a warning."""
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
    fields = re.findall(r"count = (\d+), sector = (\d+) ", "\n".join(lines))
    assert [f"read {n} sectors at {int(sector):#x}" for n, sector in fields] == said.splitlines()
    assert (converted / "big.ctf" / "records").stat().st_size <= 30 * RECORDS
    times = [line.split()[:2] for line in lines]
    assert times == sorted(times)
    assert len(lines) == RECORDS


# --- Perfetto ---------------------------------------------------------------------


def events_of(trace: Message) -> list[Message]:
    return [packet.track_event for packet in trace.packet if packet.HasField("track_event")]


@pytest.mark.parametrize("name", ["golden", "big"])
def test_perfetto_rules(converted: Path, name: str) -> None:
    """No field is unknown, no rule of the trace processor broken, and no event missing. (The
    decoder's own tests compare the bytes with perfetto.pb.)"""
    events = len((GOLDEN / "babeltrace2.txt").read_text().splitlines())
    trace = check_perfetto.read(converted / f"{name}.perfetto")
    check_perfetto.check(trace, events if name == "golden" else RECORDS)


def test_perfetto_spans(converted: Path) -> None:
    """A slice, in a track of its own."""
    trace = check_perfetto.read(converted / "spans.perfetto")
    plain = check_perfetto.read(converted / "golden.perfetto")
    events = events_of(trace)
    assert len(events) == len(events_of(plain)) + 2
    slices = [e for e in events if e.type in (e.TYPE_SLICE_BEGIN, e.TYPE_SLICE_END)]
    begin, end = slices
    assert (begin.type, end.type) == (begin.TYPE_SLICE_BEGIN, begin.TYPE_SLICE_END)
    assert begin.track_uuid == end.track_uuid
    # From the first record over the slice to the last one.
    (ended,) = [flow for event in events for flow in event.terminating_flow_ids]
    assert [flow for event in events for flow in event.flow_ids].count(ended) == 2
    check_perfetto.check(trace, len(events))
    names = [packet.track_descriptor.name for packet in trace.packet]
    names += [name.name for packet in trace.packet for name in packet.interned_data.event_names]
    assert names.count("read * → state *") == 2


def add_field(trace: Message) -> None:
    trace.packet[3].track_descriptor.MergeFromString(b"\xb8\xa6\x02\x01")


def lose_event(trace: Message) -> None:
    next(p for p in trace.packet if p.HasField("track_event")).ClearField("track_event")


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (add_field, "unknown"),
        (lambda trace: setattr(events_of(trace)[0], "track_uuid", 55), "which is not described"),
        (lose_event, "an empty packet"),
        (lambda trace: events_of(trace)[0].category_iids.append(777), "is not interned"),
    ],
    ids=["field", "track", "event", "id"],
)
def test_perfetto_damage_is_noticed(
    converted: Path, spoil: Callable[[Message], None], complaint: str
) -> None:
    trace = check_perfetto.read(converted / "golden.perfetto")
    events = len(events_of(trace))
    spoil(trace)
    with pytest.raises(AssertionError, match=complaint):
        check_perfetto.check(trace, events)


# --- HTML -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(work: Path) -> Iterator[Browser]:
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert program, "no Chromium: run scripts/setup --tests"
    start = work / "browser"
    start.write_text(f'#!/bin/sh\nexec {" ".join(offline())} {program} "$@"\n')
    start.chmod(0o755)
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=start, args=flags)
        yield browser
        browser.close()


class Report:
    """The page, as a reader uses it."""

    def __init__(self, page: Page, path: Path, link: str = "") -> None:
        self.page = page
        self.path = path
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(120_000)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        start = time.monotonic()
        page.goto(path.as_uri() + link)
        self.wait(
            "document.body.dataset.ready !== undefined || !document.getElementById('error').hidden"
        )
        self.times = {"load": time.monotonic() - start}

    def wait(self, expression: str) -> None:
        """Waits until it is true. (The page's policy forbids Playwright's own way to wait.)"""
        end = time.monotonic() + 60
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def rows(self) -> list[str]:
        """Text of the rows that are shown, once they are drawn."""
        rows: list[str] = self.page.evaluate(
            "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => "
            "r([...document.querySelectorAll('.row .m')].map(e => e.textContent)))))"
        )
        return rows

    def shows(self, count: str) -> None:
        """Waits for what the count says."""
        self.wait(f"document.getElementById('count').textContent === {count!r}")

    def choose(self, field: str, value: str) -> None:
        self.page.locator(f"#{field}").select_option(value)

    def fill(self, field: str, text: str) -> None:
        self.page.locator(f"#{field}").fill(text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def lanes(self) -> list[str]:
        """Their names."""
        names: list[str] = self.page.evaluate("items.map(item => item.name)")
        return names

    def place(self, right: float, below: float) -> tuple[float, float]:
        """A place among the lanes: a share of their width, pixels below the top."""
        box = self.page.locator("#lanes").bounding_box()
        assert box
        return box["x"] + box["width"] * right, box["y"] + below

    def tip(self) -> str:
        """The tooltip, once it is there."""
        self.wait("!document.getElementById('tip').hidden")
        return self.page.locator("#tip").inner_text()

    def wheel(self, delta: int) -> None:
        """Over the lanes."""
        self.page.mouse.move(*self.place(0.6, 20))
        self.page.mouse.wheel(0, delta)

    def is_quiet(self) -> None:
        """It shows no error, requests only itself, and throws no exception."""
        assert self.page.locator("#error").text_content() == ""
        assert {url.split("#")[0] for url in self.requests} == {self.path.as_uri()}
        assert not self.errors


Opener = Callable[..., Report]


@pytest.fixture
def opened(browser: Browser, converted: Path) -> Iterator[Opener]:
    """Opens a report by its name. At the end of the test, all of them have been quiet."""
    reports: list[Report] = []

    def opener(name: str, link: str = "", width: int = 1400, dark: bool = False) -> Report:
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        reports.append(Report(page, converted / f"{name}.html", link))
        return reports[-1]

    yield opener
    for report in reports:
        report.is_quiet()
        report.page.close()


@pytest.fixture
def small(opened: Opener) -> Report:
    return opened("golden")


def test_html_rows(small: Report) -> None:
    """A message is never markup."""
    small.shows("20 of 20 shown")
    rows = small.rows()
    assert rows[:3] == [
        "5 older records overwritten",
        "read 8 sectors at 0x1000",
        '"sda \\"1\\"\\t\\u{1b}[2J é": EIO',
    ]
    assert [row for row in rows if "<b>" in row] == ['two ⏎ lines, "quoted", <b>&amp;</b>']


def test_html_filters(small: Report) -> None:
    """By level, which leaves losses; without losses; by component."""
    small.choose("level", "2")
    small.shows("8 of 20 shown")
    assert len(small.rows()) == 8
    small.page.locator("#lost").click()
    small.shows("4 of 20 shown")
    assert [row.split()[0] for row in small.rows()] == ['"sda', "q7", "<site", "two"]
    small.page.locator("#lost").click()
    small.choose("level", "5")
    small.choose("component", "net")
    small.shows("8 of 20 shown")


def test_html_search(small: Report) -> None:
    """Words, capital or not; and regular expressions."""
    small.fill("search", "READ")
    small.shows("2 of 20 shown")
    assert small.rows() == ["read 8 sectors at 0x1000", "read 16 sectors at 0xffffffffffffffff"]
    small.fill("search", "/^(state (Busy|Idle)|sense)/")
    small.shows("3 of 20 shown")
    assert small.rows()[1] == "state Idle"
    # It is about characters, not about their bytes.
    for text in ('/2J ."/', "É", "eio"):
        small.fill("search", text)
        small.shows("1 of 20 shown")
    small.fill("search", "/(/")
    small.wait("document.getElementById('wrong').textContent.includes('Unterminated group')")
    small.shows("0 of 20 shown")
    small.fill("search", "")
    small.shows("20 of 20 shown")
    assert small.page.locator("#wrong").inner_text() == ""


def test_html_click_shows_the_record(small: Report) -> None:
    small.page.locator(".row").nth(1).click(position={"x": 300, "y": 5})
    assert (small.page.locator("#detail").text_content() or "").splitlines() == [
        "8.000001234  info  disk  fio[4242]",
        "read 8 sectors at 0x1000",
        "drivers/block/test.rs:11  test::inner",
        "read {} sectors at {sector:#x}",
        "  count = 8",
        "  sector = 0x1000",
    ]


def test_html_wheel_zooms(small: Report) -> None:
    small.wheel(-800)
    small.wait("!document.getElementById('count').textContent.startsWith('20 ')")
    small.page.locator("#all").click()
    small.shows("20 of 20 shown")


def drawn(report: Report, top: int = 0, height: int = 1000) -> list[str]:
    """The colours of the lanes, beside their names."""
    colours: list[str] = report.page.evaluate(
        "(() => { const c = document.getElementById('lanes'); const d = c.getContext('2d')"
        f".getImageData(260, {top}, c.width - 260, Math.min({height}, c.height)).data;"
        "const all = []; for (let i = 0; i < d.length; i += 4)"
        "if (d[i + 3]) all.push([...d.slice(i, i + 4)].join(' ')); return all })()"
    )
    return colours


def test_html_lanes_can_be_arranged(small: Report) -> None:
    """Found, sorted, grouped, folded and hidden."""
    mouse = small.page.mouse
    assert len(drawn(small)) > 100
    small.choose("sort", "name")
    all_lanes = small.lanes()
    small.fill("find", "FIO")
    small.wait("items.length < 3")
    assert all("fio" in name for name in small.lanes())
    small.fill("find", "")
    small.choose("sort", "activity")
    counts = small.page.evaluate(
        "items.map(item => hits.filter(i => lanes[i] === item.lanes[0]).length)"
    )
    assert counts == sorted(counts, reverse=True) != sorted(counts)
    small.choose("sort", "name")
    small.choose("group", "component")
    names = small.lanes()
    assert len(names) > len(all_lanes)
    disk = next(i for i, name in enumerate(names) if name.startswith("disk ("))
    mouse.click(*small.place(0.02, 18 * disk + 9))
    small.wait(f"items.length < {len(names)}")
    small.choose("group", "")
    assert small.lanes() == all_lanes
    mouse.click(*small.place(0.02, 9))
    small.wait("muted.size === 1 && hits.length < n")
    mouse.dblclick(*small.place(0.02, 9))
    small.wait("items[0].lanes.every(l => !muted.has(l)) && muted.size === items.length - 1")


@pytest.mark.parametrize(
    ("name", "by", "legend"),
    [("golden", "component", ["disk", "net", "lost"]), ("slow", "site", ["queue {op"])],
)
def test_html_colours_and_legend(opened: Opener, name: str, by: str, legend: list[str]) -> None:
    report = opened(name)
    report.rows()
    spans, marks = report.page.locator("#legend span"), set(drawn(report))
    assert "info" in spans.all_text_contents()
    report.choose("colour", by)
    report.rows()
    assert all(any(text.startswith(x) for text in spans.all_text_contents()) for x in legend)
    assert set(drawn(report)) - marks
    assert f"colour={by}" in report.page.evaluate("link()")


def test_html_tooltip(small: Report) -> None:
    """Of records; and of lanes, which are complete from some time on."""
    x, y = small.page.evaluate(
        "(() => { const i = Array.from({ length: n }, (_, i) => i).find(i => message(i)"
        ".startsWith('read 8 ')), box = document.getElementById('lanes').getBoundingClientRect();"
        "const row = items.findIndex(item => item.lanes[0] === lanes[i]);"
        "return [box.left + LABEL + (times[i] - view[0]) / (view[1] - view[0]) *"
        " (box.width - LABEL - PAD), box.top + row * LANE + 9] })()"
    )
    small.page.mouse.move(x + 1, y)
    assert re.fullmatch(r"8\.00\d+ \w+ disk fio\[4242\]\n.*\nand \d+ more here", small.tip())
    small.page.mouse.move(5, 5)
    small.wait("document.getElementById('tip').hidden")
    lost = small.page.evaluate(
        "items.map(item => hits.filter(i => lanes[i] === item.lanes[0] && site(i).level < 0).length)"
    )
    said = small.page.evaluate("items.map(reach)")
    assert ["since" in text for text in said] == [count > 0 for count in lost]
    row = lost.index(max(lost))
    small.page.mouse.move(*small.place(0.02, 18 * row + 9))
    assert min(lost) == 0 < max(lost) and said[row] in small.tip()


def test_html_columns(small: Report) -> None:
    small.page.locator("summary").click()
    for column in ("delta", "wall", "args", "source"):
        small.page.locator(f"[value={column}]").click()
    small.rows()
    cells = small.page.locator(".row").nth(1).locator("span").all_text_contents()
    assert cells[0] == "8.000001234" and cells[1].startswith("+")
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", cells[2])
    assert cells[-2:] == ["count=8 sector=0x1000", "read 8 sectors at 0x1000"]
    heads = small.page.locator("#head span").all_text_contents()
    assert len(heads) == len(cells) and heads[0] == "s since boot" and heads[-2] == "arguments"


def test_html_keys_and_markers(small: Report) -> None:
    of = small.page.evaluate
    small.press("n", "n", "[", "ArrowDown", "n", "]")
    assert of("markers") == of("[times[1], times[3]]")
    assert re.search(r"B − A.* records", small.page.locator("#between").inner_text(), re.DOTALL)
    small.press("N")
    assert of("chosen") == 2
    for key, shown in (
        ("w", "view[1] - view[0] < was[1] - was[0]"),
        ("s", "view[1] - view[0] > was[1] - was[0]"),
        ("w", "true"),
        ("d", "view[0] > was[0]"),
        ("a", "view[0] < was[0]"),
        ("z", "view[1] - view[0] <= Math.max(100, markers[1] - markers[0])"),
    ):
        of("window.was = [...view]")
        small.press(key)
        assert of(shown), key
    small.press("/")
    assert of("document.activeElement.id") == "search"
    small.press("Escape", "?")
    assert small.page.locator("#help").is_visible()
    small.press("Escape", "Escape", "0")
    small.shows("20 of 20 shown")
    assert of("chosen") == -1 and small.page.locator("#between").inner_text() == ""


def test_html_link_to_a_view(small: Report, opened: Opener) -> None:
    small.fill("search", "read")
    for field, value in (("colour", "component"), ("level", "3"), ("component", "disk")):
        small.choose(field, value)
    small.page.locator("#lost").uncheck()
    small.shows("2 of 20 shown")
    small.page.locator("#keys").focus()
    small.press("n")
    other = opened("golden", small.page.evaluate("link()"))
    other.shows("2 of 20 shown")
    assert other.page.locator("#search").input_value() == "read"
    assert other.page.evaluate("chosen") == 1
    assert other.page.evaluate("link()") == small.page.evaluate("link()")


def test_html_spans(opened: Opener) -> None:
    """They have lanes, a bar, a tooltip, and are counted between the markers."""
    report = opened("spans")
    page = report.page
    assert report.lanes()[0] == "1 span: read * → state *"
    report.rows()
    assert drawn(report, top=18, height=17)
    x, y = page.evaluate(
        "(() => { const box = document.getElementById('lanes').getBoundingClientRect();"
        "const pairs = about.spans[0].pairs, at = (times[pairs[0]] + times[pairs[1]]) / 2;"
        "return [box.left + LABEL + (at - view[0]) / (view[1] - view[0]) * (box.width - LABEL - PAD),"
        " box.top + LANE + 9] })()"
    )
    page.mouse.move(x, y)
    assert " later\nstate " in report.tip()
    page.evaluate("markers = [...span]; between()")
    assert "1 span read * → state *: p50 " in page.locator("#between").inner_text()


def test_html_lists_the_slowest_spans(opened: Opener) -> None:
    """The slowest first; a click shows one, between markers."""
    report = opened("slow")
    page, rows = report.page, report.page.locator(".row")
    page.locator("#spans").click()
    report.rows()
    lengths = page.evaluate("slowest.map(span => span.length)")
    assert lengths == sorted(lengths, reverse=True) and lengths[0] > lengths[-1]
    first = rows.nth(0).locator("span").nth(0).text_content()
    assert first == page.evaluate("long(slowest[0].length)")
    assert 0 < page.locator(".row.slow").count() < rows.count()
    rows.nth(1).click()
    assert page.evaluate("markers[1] - markers[0]") == lengths[1]
    assert page.evaluate("view[0] <= markers[0] && markers[1] <= view[1]")
    assert page.evaluate("link()").count("spans=1") == 1
    page.locator("#records").click()
    report.rows()
    assert page.locator(".row.slow").count() == 0


def test_html_percentiles_are_those_of_spans(opened: Opener, decoder: Path, sh: Run) -> None:
    """By nearest rank, of any number of spans; those of "spans" are exact to 1 part in 128."""
    units = {"s": 1e9, "ms": 1e6, "\u00b5s": 1e3, "ns": 1}
    pair = ("--modules", NEWCOMER / "tables", "queue *", "complete *", "-k", "arg.tag")
    page = opened("slow").page
    for count in (1, 2, 101):
        # Spans that are within the time from the start of the first.
        since, until = page.evaluate(
            f"""(() => {{
                const kind = about.spans[0], from = times[kind.pairs[0]];
                const ends = Array.from({{ length: kind.count }}, (_, k) => times[kind.pairs[2 * k + 1]]);
                markers = [from, ends.sort((a, b) => a - b)[{count} - 1]];
                between();
                return markers.map(clock);
            }})()"""
        )
        shown = page.locator("#between").inner_text()
        found = re.search(r"(\d+) spans? .*: p50 (\S+ \S+), p99 (\S+ \S+), max (\S+ \S+)", shown)
        assert found, shown
        said = sh(decoder, "spans", *pair, "--json", "-n", "0", "--since", since, "--until", until,
                  NEWCOMER / "snap")  # fmt: skip
        sums = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        (row,) = [o for o in sums if "p50_ns" in o]
        assert int(found[1]) == row["spans"] == count
        for text, key in zip(found.groups()[1:], ("p50_ns", "p99_ns", "max_ns")):
            number, unit = text.split()
            # Three digits are shown.
            assert float(number) * units[unit] == pytest.approx(row[key], rel=1 / 100)


def test_html_says_what_it_shows(small: Report) -> None:
    """To who can't see it, or no colours."""
    for name in ("overview", "lanes", "tablebox"):
        element = small.page.locator(f"#{name}")
        assert element.get_attribute("role") in ("img", "table")
        assert element.get_attribute("aria-label") and element.get_attribute("tabindex") == "0"
    assert "fio[4242]" in (small.page.locator("#lanes").get_attribute("aria-label") or "")
    levels = small.page.locator(".row .v").all_text_contents()
    assert levels[0] == "lost" and "err" in levels
    assert small.page.evaluate("css('--lost') !== css('--l1')")
    assert small.page.locator("[role=columnheader]").count() > 5


# --- Who holds up whom, in a report


@pytest.fixture(scope="module")
def hang(converted: Path, decoder: Path, sh: Run) -> Path:
    """The folder with reports of two hangs, and of one whose tasks have names like markup."""
    hostile(HANG / "blame.snap", converted / "hostile.snap")
    for snap in (HANG / "abba.snap", HANG / "blame.snap", converted / "hostile.snap"):
        sh(decoder, "report", "-o", converted / f"{snap.stem}.html", "-s", HANG, snap)
    return converted


NAME, MARKUP = b"crash_blame/4", b"<b>&\x1b[2J'</b>"


def hostile(snap: Path, path: Path) -> None:
    """The same with another name, as a task can give itself."""
    old = snap.read_bytes()
    new, at = old[:32], 32
    while at < len(old):
        head, length = old[at : at + 28], int.from_bytes(old[at + 8 : at + 16], "little")
        payload = old[at + 32 : at + 32 + length].replace(NAME, MARKUP)
        head = head[:24] + zlib.crc32(payload).to_bytes(4, "little")
        new += head + zlib.crc32(head).to_bytes(4, "little") + payload + bytes(-length % 8)
        at += 32 + length + -length % 8
    assert NAME not in new and MARKUP in new
    path.write_bytes(new)


PLACES = """[...document.querySelectorAll('.place')].map(place => {
    const box = e => e && (({ left, right }) => ({ left, right }))(e.getBoundingClientRect());
    const of = name => place.querySelector(name), bar = of('.silence');
    return {
        name: of('.node').textContent, edge: of('.edge')?.textContent ?? '',
        lines: [...place.querySelectorAll('.who i')].map(i => i.className).join(' '),
        said: of('.said span')?.textContent, silent: of('.said em')?.textContent,
        track: box(of('.track')), bar: box(bar), said_at: box(of('.said')),
        marks: [...place.querySelectorAll('u')].map(u => ({ at: +u.dataset.at, ...box(u) })),
        from: bar && +bar.dataset.from, to: bar && +bar.dataset.to,
        is_root: place.classList.contains('root'),
    };
})"""


def places(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(PLACES)
    return found


# Of two colours as "rgb(1, 2, 3)", by WCAG.
CONTRAST = """(e => {
    const light = text => text.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const own = e => { const b = getComputedStyle(e).backgroundColor;
        return b === 'rgba(0, 0, 0, 0)' ? own(e.parentElement) : b; };
    const [a, b] = [getComputedStyle(e).color, own(e)].map(light);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
})"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_html_opens_with_who_holds_up_whom(
    opened: Opener, hang: Path, decoder: Path, sh: Run, dark: bool, width: int
) -> None:
    """In words, as a tree, and what each task did last, up to the time of the snapshot."""
    said = sh(decoder, "tasks", "--json", "-n", "5", "-s", HANG, HANG / "blame.snap")
    head, *tasks = [json.loads(line) for line in said.splitlines()]
    last = {f"{t['comm']}[{t['pid']}]": t["records"][-1] for t in tasks}
    report = opened("blame", width=width, dark=dark)
    page = report.page
    texts = [finding["text"] for finding in head["findings"]]
    assert texts[0] == "crash_blame/4[120] holds up 3 tasks, for up to 3.72 s"
    assert page.locator(".banner h2").all_inner_texts() == texts[:1]
    assert page.locator(".banner .finding").all_inner_texts() == texts[1:]
    assert head["findings"][0]["more"] in page.locator(".banner").inner_text()

    rows = places(page)
    assert [(row["name"], row["edge"], row["lines"]) for row in rows] == [
        ("crash_blame/4[120]D", "", ""),
        ("crash_blame/3[119]D", "rwsem, to read", "branch"),
        ("crash_blame/2[118]D", "mutex", "through bend"),
        ("crash_blame/1[117]D", "mutex", "through  bend"),
        ("crash_blame/5[121]D", "semaphore, taken last by it", "bend"),
        ("(a task that has ended)", "", ""),
        ("crash_blame/6[122]D", "mutex", "bend"),
    ]
    assert [row["is_root"] for row in rows] == [True, False, False, False, False, True, False]
    zero = page.evaluate("about.start_s * 1e9 + about.start_ns")
    for row in rows:
        if row["name"].startswith("("):
            assert row["bar"] is None
            continue
        record, mark = last[row["name"][:-1]], row["marks"][-1]
        # A double has about 1 ns at these times.
        assert zero + row["to"] == pytest.approx(head["boot_ns"], abs=10)
        assert zero + row["from"] == pytest.approx(record["boot_ns"], abs=10)
        assert zero + mark["at"] == pytest.approx(record["boot_ns"], abs=10)
        assert row["bar"]["right"] == pytest.approx(row["track"]["right"], abs=1.5)
        assert row["bar"]["left"] == pytest.approx(mark["left"], abs=2.5)
        # Beside its mark, and within the page.
        assert row["said"] == record["message"] and row["silent"].startswith("silent 3.7")
        assert 0 <= row["said_at"]["left"] - mark["left"] < 8
        assert row["said_at"]["right"] <= row["track"]["right"] + 0.5 <= width
    assert page.locator(".scale").inner_text().split()[-1] == "snapshot"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in (".banner h2", ".banner p", ".node", ".node b", ".edge", ".said span", ".said em"):
        assert page.locator(name).first.evaluate(CONTRAST) >= 4.5, name
    # The axis of lanes ends there, too.
    assert zero + page.evaluate("span[1]") == pytest.approx(head["boot_ns"], abs=10)
    assert [name.split("  ")[0] for name in report.lanes()[:3]] == [
        row["name"].removesuffix("D") for row in rows[:3]
    ]
    controls = page.locator("#search")
    assert controls.is_visible() == (width > 640)
    if width < 640:
        page.locator("#fold").click()
        assert controls.is_visible()
    page.locator(".place.task").first.click()
    report.wait("items.length === 1")


def test_html_shows_a_deadlock_as_a_ring(opened: Opener, hang: Path) -> None:
    page = opened("abba").page
    banner = page.locator(".banner h2").inner_text()
    assert banner == "Deadlock: crash_abba/1[118] \u21c4 crash_abba/2[119], for up to 3.72 s"
    assert [(row["name"], row["edge"], row["lines"]) for row in places(page)] == [
        ("crash_abba/1[118]D", "mutex of crash_abba/2[119]", "first"),
        ("crash_abba/2[119]D", "mutex of crash_abba/1[118]", "bend"),
    ]


def test_html_names_of_tasks_are_never_markup(opened: Opener, hang: Path) -> None:
    page = opened("hostile").page
    name = "<b>&\\x1b[2J'</b>[120]"
    assert page.locator(".banner h2").inner_text() == f"{name} holds up 3 tasks, for up to 3.72 s"
    assert places(page)[0]["name"] == name + "D"
    assert MARKUP[:4] not in (hang / "hostile.html").read_bytes()


def test_html_says_that_nobody_is_blocked_or_that_nobody_knows(opened: Opener) -> None:
    """These are two answers."""
    for name, kind, text in (
        ("slow", "banner calm", "No task is blocked"),
        ("big", "banner unknown", "Not known who is blocked: this file has no states of tasks"),
        ("golden", "banner", "fio[4242] is blocked, for up to 29.0 s; no lock is known"),
    ):
        page = opened(name).page
        assert page.locator(".banner").get_attribute("class") == kind
        assert page.locator(".banner h2").inner_text().startswith(text)
        assert len(places(page)) == (name == "golden")


def test_html_lanes_are_sorted_by_suspicion(opened: Opener, decoder: Path, sh: Run) -> None:
    """Threads that were silent for longer than ten times their median interval come before others."""
    source = ("--modules", NEWCOMER / "tables", NEWCOMER / "snap")
    said = sh(decoder, "--json", *source)
    end = json.loads(sh(decoder, "tasks", "--json", *source).splitlines()[0])["boot_ns"]
    times: dict[str, list[int]] = {}
    for line in said.splitlines():
        record = json.loads(line)
        if record["type"] == "record":
            name = f"{record['comm']}[{record['pid']}]"
            name = name if record["context"] == "task" else f"{record['context']}/{record['cpu']}"
            times.setdefault(name, []).append(record["boot_ns"])

    def rank(name: str) -> tuple[int, int]:
        own = times[name][-51:]
        gaps = sorted(b - a for a, b in zip(own, own[1:]))
        silent = end - own[-1]
        strange = "[" in name and gaps and silent > 10 * gaps[-(-len(gaps) // 2) - 1]
        return (1, -silent) if strange else (3, -len(times[name]))

    names = [name.split()[0] for name in opened("slow").lanes() if name.endswith("  rnull")]
    assert [rank(name) for name in names] == sorted(rank(name) for name in times)
    assert rank(names[0])[0] == 1 and rank(names[1])[0] == 3


def test_html_has_a_lane_of_an_object(opened: Opener, decoder: Path, sh: Run) -> None:
    """Its records by any task; a click on an argument of a record makes one, too."""
    condition = ("-w", "arg.tag == 64", "--modules", NEWCOMER / "tables", NEWCOMER / "snap")
    count = int(sh(decoder, "--count", *condition))
    report = opened("slow")
    page, lanes = report.page, len(report.lanes())
    report.fill("object", "arg.tag == 0x40")
    report.wait(f"items.length === {lanes + 1}")
    assert report.lanes()[0] == f"tag == 0x40 ({count})"
    assert page.evaluate("new Set(items[0].records.map(i => lanes[i])).size") > 1
    report.rows()
    assert drawn(report, height=17)
    for wrong, what in (
        ("arg.tag > 3", "not arg.NAME == VALUE"),
        ("arg.tga == 3", "no call site has an argument tga"),
        ("arg.tag == 123456", "no record has it"),
    ):
        report.fill("object", wrong)
        report.wait(f"document.getElementById('unlike').textContent === {what!r}")
    report.fill("search", "complete")
    report.wait("hits.length < n")
    page.locator(".row").nth(3).click()
    arg = page.locator(".arg", has_text="tag = ")
    tag = arg.inner_text().split()[-1]
    arg.click()
    report.wait(f"items[0].name.startsWith('tag == {tag} (')")
    assert page.locator("#object").input_value() == f"arg.tag == {tag}"


def test_html_is_the_picture_of_readme(opened: Opener, hang: Path) -> None:
    """As far as its size shows, as letters differ by font. BLOG_BLESS=1 makes the picture anew."""
    box = opened("blame", width=1100).page.locator("#hang")
    picture = HANG / "report.png"
    shot = box.screenshot()
    if "BLOG_BLESS" in os.environ:
        picture.write_bytes(shot)
    sizes = [struct.unpack(">II", png[16:24]) for png in (shot, picture.read_bytes())]
    assert sizes[0] == pytest.approx(sizes[1], abs=9), "by less than half a row"


def test_html_of_many(opened: Opener) -> None:
    """All are counted, found, and drawn; where there are more, bars are higher."""
    many, all_shown = opened("big"), f"{RECORDS:,} of {RECORDS:,} shown"
    many.shows(all_shown)
    for text, found in (
        ("at 0x1f40", "includes('at 0x1f40')"),
        ("/^read 7 /", "startsWith('read 7 ')"),
    ):
        number = many.page.evaluate(
            f"Array.from({{ length: n }}, (_, i) => message(i).{found}).filter(Boolean).length"
        )
        many.fill("search", text)
        many.shows(f"{number:,} of {RECORDS:,} shown")
        assert number > 0 and many.rows()
    many.fill("search", "")
    many.shows(all_shown)
    many.page.evaluate("document.getElementById('tablebox').scrollTop += 5000")
    assert many.rows()
    few = len(drawn(many, height=17))
    many.page.evaluate("hits = hits.filter((_, k) => k < n / 2 || k % 40 === 0); draw()")
    many.rows()
    assert len(drawn(many, height=17)) < 0.9 * few


def memory_of_largest() -> int:
    """Bytes in memory, that are no file's, of the renderer that has most of them."""
    all_kib = [0]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (process / "cmdline").read_bytes():
                found = re.search(r"RssAnon:\s+(\d+)", (process / "status").read_text())
                all_kib.append(int(found[1]) if found else 0)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return max(all_kib) << 10


def test_html_of_five_million(opened: Opener, work: Path, decoder: Path, sh: Run) -> None:
    """The report takes 2 s of CPU for each million. They open in 5 s and need 400 MiB then, and a
    search goes through them."""
    records = 5_000_000
    big = big_log(work / "five", records)
    before = os.times()
    sh(decoder, "report", "-o", work / "five.html", "-s", big / "log.ko", big / "log.snap")
    took = [after - at for at, after in zip(before, os.times(), strict=True)]
    cpu = took[2] + took[3]  # of children
    five = opened("five")
    five.shows(f"{records:,} of {records:,} shown")
    # What it was unpacked from goes when the browser tidies up.
    end = time.monotonic() + 5
    while (memory := memory_of_largest() >> 20) >= 400 and time.monotonic() < end:
        time.sleep(0.2)
    five.fill("search", "at 0x1f40")
    five.wait("hits.length < n")
    assert five.page.evaluate("hits.length") > 0
    five.wheel(-100)
    five.rows()
    print(five.times, f"{memory} MiB, {cpu:.1f} s of CPU")
    assert cpu < 2 * records / 1e6
    assert five.times["load"] < 5
    assert memory < 400
