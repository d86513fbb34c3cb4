# SPDX-License-Identifier: GPL-2.0
"""The output of "blog-decode convert", read back by the tools that it is meant for.

CTF is read by babeltrace2, Perfetto's format by Perfetto's own definitions, the HTML report by a
headless Chromium without a network. From the golden snapshot, and from 20003
records of four rings; in the deep tier from five million. BLOG_BLESS=1 makes the golden texts
anew.
"""

import base64
import json
import os
import re
import shutil
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


def test_counts_are_the_same_by_any_number_of_threads(work: Path, decoder: Path, sh: Run) -> None:
    """So many records are counted by as many threads as there are CPUs."""
    log = big_log(work / "threads", 120_000, rings=7)
    (log / "cut.snap").write_bytes((log / "log.snap").read_bytes()[:1_500_000])
    for snap, status in (("log.snap", 0), ("cut.snap", 1)):
        counts = [decoder, "stats", "--by", "comm,arg.0", "--sum", "arg.sector", "--json",
                  "-s", log / "log.ko", log / snap]  # fmt: skip
        said = sh(*counts, status=(status,))
        assert said == sh("taskset", "-c", "0", *counts, status=(status,))
        rows = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        count = sh(decoder, "--count", "-s", log / "log.ko", log / snap, status=(status,))
        records = sum(row["records"] for row in rows)
        assert records == int(count.splitlines()[-1]) > 50_000


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
        (
            lambda trace: setattr(events_of(trace)[0], "name_iid", 777),
            "of event_names is not interned",
        ),
        (
            lambda trace: setattr(events_of(trace)[0].debug_annotations[0], "name_iid", 777),
            "of debug_annotation_names is not interned",
        ),
    ],
    ids=["field", "track", "event", "id", "name", "argument"],
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
        page.goto(link or path.as_uri())
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
        """It shows no error, requests only itself, and throws no exception."""
        assert self.page.locator("#error").text_content() == ""
        assert {url.split("#")[0] for url in self.requests} == {self.path.as_uri()}
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
    for wrong, what in (
        ("/(/", "Unterminated group"),
        ("/[/", "Unterminated character class"),
        ("/a{2,1}/i", "numbers out of order"),
    ):
        small.search(wrong)
        small.wait(f"document.getElementById('wrong').textContent.includes({what!r})")
        small.shows("0 of 20 shown")
        assert small.rows() == []
    small.search("")
    small.shows("20 of 20 shown")
    assert small.page.locator("#wrong").inner_text() == ""


def test_html_component_filters(small: Report) -> None:
    small.page.locator("#component").select_option("net")
    small.shows("8 of 20 shown")
    small.page.locator("#component").select_option("")
    small.shows("20 of 20 shown")
    assert small.rows()[0] == "5 older records overwritten"


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
    assert small.count().endswith(" of 20 shown")
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


def test_html_lanes_are_drawn(small: Report) -> None:
    assert len(drawn(small)) > 100


def lane_names(report: Report) -> list[str]:
    names: list[str] = report.page.evaluate("items.map(item => item.name)")
    return names


def test_html_lanes_can_be_arranged(small: Report) -> None:
    """Found, sorted, grouped, folded and hidden."""
    small.page.locator("#sort").select_option("name")
    all_lanes = lane_names(small)
    small.page.locator("#find").fill("FIO")
    small.wait("items.length < 3")
    assert all("fio" in name for name in lane_names(small))
    small.page.locator("#find").fill("")
    small.wait(f"items.length === {len(all_lanes)}")
    small.page.locator("#sort").select_option("activity")
    counts = small.page.evaluate(
        "items.map(item => hits.filter(i => lanes[i] === item.lanes[0]).length)"
    )
    assert counts == sorted(counts, reverse=True) != sorted(counts)
    small.page.locator("#sort").select_option("name")
    small.page.locator("#group").select_option("component")
    names = lane_names(small)
    assert len(names) > len(all_lanes)
    disk = next(i for i, name in enumerate(names) if name.startswith("disk ("))
    box = small.page.locator("#lanes").bounding_box()
    assert box
    x, y = box["x"] + 20, box["y"] + 18 * disk + 9
    small.page.mouse.click(x, y)
    small.wait(f"items.length < {len(names)}")
    assert small.page.evaluate(f"items[{disk}].lanes.length") > 0
    small.page.mouse.click(x, y)
    small.page.locator("#group").select_option("")
    assert lane_names(small) == all_lanes
    small.page.mouse.click(box["x"] + 20, box["y"] + 9)
    small.wait("muted.size === 1 && hits.length < n")
    small.page.mouse.dblclick(box["x"] + 20, box["y"] + 9)
    small.wait("items[0].lanes.every(l => !muted.has(l)) && muted.size === items.length - 1")
    small.page.locator("#lanesall").click()
    small.page.locator("#sort").select_option("suspicion")
    small.shows("20 of 20 shown")


def test_html_colours_and_legend(small: Report) -> None:
    legend = small.page.locator("#legend span")
    by_level, marks = legend.all_text_contents(), set(drawn(small))
    assert by_level[-1] == "lost" and {"err", "info"} <= set(by_level)
    small.page.locator("#colour").select_option("component")
    assert set(legend.all_text_contents()) == {"disk", "net", "lost"}
    small.rows()
    assert set(drawn(small)) - marks
    small.page.locator("#colour").select_option("level")


def test_html_tooltip(small: Report) -> None:
    x, y = small.page.evaluate(
        "(() => { const i = Array.from({ length: n }, (_, i) => i).find(i => message(i)"
        ".startsWith('read 8 ')), box = document.getElementById('lanes').getBoundingClientRect();"
        "const row = items.findIndex(item => item.lanes[0] === lanes[i]);"
        "return [box.left + LABEL + (times[i] - view[0]) / (view[1] - view[0]) *"
        " (box.width - LABEL - PAD), box.top + row * LANE + 9] })()"
    )
    small.page.mouse.move(x + 1, y)
    small.wait("!document.getElementById('tip').hidden")
    said = small.page.locator("#tip").inner_text()
    assert re.fullmatch(r"8\.00\d+ \w+ disk fio\[4242\]\n.*\nand \d+ more here", said)
    small.page.mouse.move(5, 5)
    small.wait("document.getElementById('tip').hidden")


def test_html_columns(small: Report) -> None:
    small.page.locator("summary").click()
    for column in ("delta", "wall", "args"):
        small.page.locator(f"[value={column}]").check()
    small.page.locator("[value=source]").uncheck()
    small.rows()
    row = small.page.locator(".row").nth(1)
    cells = row.locator("span").all_text_contents()
    assert cells[0] == "8.000001234"
    assert cells[1].startswith("+")
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", cells[2])
    assert cells[-2:] == ["count=8 sector=0x1000", "read 8 sectors at 0x1000"]
    heads = small.page.locator("#head span").all_text_contents()
    assert len(heads) == len(cells) and heads[0] == "s since boot" and heads[-2] == "arguments"
    for column in ("delta", "wall", "args", "source"):
        small.page.locator(f"[value={column}]").click()
    small.page.locator("summary").click()


def test_html_has_what_its_filters_chose(
    browser: Browser, converted: Path, decoder: Path, sh: Run
) -> None:
    """Conditions apply when a report is made; the page has none."""
    log, condition = converted / "big", "arg.count == 7 && arg.sector > 0x1000"
    choose = ("-w", condition, "-s", log / "log.ko", log / "log.snap")
    sh(decoder, "convert", "--to", "html", "-o", converted / "chosen.html", *choose)
    said = sh(decoder, "--format", "{message}", *choose).splitlines()
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, converted / "chosen.html")
    assert 0 < len(said) < RECORDS
    assert report.count() == f"{len(said):,} of {len(said):,} shown"
    rows = report.rows()
    assert rows == said[: len(rows)]
    page.close()


def test_html_keys_and_markers(small: Report) -> None:
    press = small.page.keyboard.press
    press("Enter")  # leaves the field that the last test was in
    press("Escape")
    press("n")
    press("n")
    assert small.page.evaluate("chosen") == 1
    press("[")
    press("ArrowDown")
    press("n")
    press("]")
    assert small.page.evaluate("markers") == small.page.evaluate("[times[1], times[3]]")
    said = small.page.locator("#between").inner_text()
    assert "B − A" in said and "records" in said
    press("N")
    assert small.page.evaluate("chosen") == 2
    for key, wider in (("w", False), ("s", True)):
        width = small.page.evaluate("view[1] - view[0]")
        press(key)
        assert (small.page.evaluate("view[1] - view[0]") > width) == wider
    press("w")
    start = small.page.evaluate("view[0]")
    press("d")
    assert small.page.evaluate("view[0]") > start
    press("a")
    press("z")
    assert small.page.evaluate("view[1] - view[0]") <= max(
        100, small.page.evaluate("markers[1] - markers[0]")
    )
    press("/")
    assert small.page.evaluate("document.activeElement.id") == "search"
    press("Escape")
    press("?")
    assert small.page.locator("#help").is_visible()
    press("Escape")
    press("Escape")
    press("0")
    small.shows("20 of 20 shown")
    assert small.page.evaluate("chosen") == -1
    assert small.page.locator("#between").inner_text() == ""


def test_html_link_to_a_view(small: Report, browser: Browser) -> None:
    small.search("read")
    small.page.locator("#colour").select_option("component")
    small.page.locator("#level").select_option("3")
    small.page.locator("#component").select_option("disk")
    small.page.locator("#lost").uncheck()
    small.shows("2 of 20 shown")
    small.page.keyboard.press("Enter")
    small.page.locator("#keys").focus()
    small.page.keyboard.press("n")
    link = small.path.as_uri() + small.page.evaluate("link()")
    page = browser.new_page()
    other = Report(page, small.path, link)
    assert other.count() == "2 of 20 shown"
    assert other.page.locator("#search").input_value() == "read"
    assert other.page.evaluate("chosen") == 1
    assert other.page.evaluate("link()") == small.page.evaluate("link()")
    page.close()
    small.page.keyboard.press("Escape")
    small.page.locator("#colour").select_option("level")
    small.page.locator("#level").select_option("5")
    small.page.locator("#component").select_option("")
    small.page.locator("#lost").check()
    small.search("")
    small.shows("20 of 20 shown")


def test_html_lanes_say_from_when_on_they_are_complete(small: Report) -> None:
    lost = small.page.evaluate(
        "items.map(item => hits.filter(i => lanes[i] === item.lanes[0] && site(i).level < 0).length)"
    )
    assert any(lost) and not all(lost)
    said = small.page.evaluate("items.map(reach)")
    assert ["since" in text for text in said] == [count > 0 for count in lost], said
    row = lost.index(max(lost))
    box = small.page.locator("#lanes").bounding_box()
    assert box
    small.page.mouse.move(box["x"] + 20, box["y"] + 18 * row + 9)
    small.wait("!document.getElementById('tip').hidden")
    assert said[row] in small.page.locator("#tip").inner_text()


def test_html_spans(browser: Browser, converted: Path) -> None:
    """They have lanes, a bar, a tooltip, and are counted between the markers."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, converted / "spans.html")
    assert lane_names(report)[0] == "1 span: read * → state *"
    report.rows()
    assert drawn(report, top=18, height=17)
    x, y = page.evaluate(
        "(() => { const box = document.getElementById('lanes').getBoundingClientRect();"
        "const pairs = about.spans[0].pairs, at = (times[pairs[0]] + times[pairs[1]]) / 2;"
        "return [box.left + LABEL + (at - view[0]) / (view[1] - view[0]) * (box.width - LABEL - PAD),"
        " box.top + LANE + 9] })()"
    )
    page.mouse.move(x, y)
    report.wait("!document.getElementById('tip').hidden")
    assert " later\nstate " in page.locator("#tip").inner_text()
    page.mouse.move(5, 5)
    page.evaluate("markers = [...span]; between()")
    assert "1 span read * → state *: p50 " in page.locator("#between").inner_text()
    report.is_quiet()
    page.close()


def test_html_lists_the_slowest_spans(browser: Browser, converted: Path) -> None:
    """The slowest first; a click shows one, between markers."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, converted / "slow.html")
    report.page.locator("#spans").click()
    report.rows()
    lengths = page.evaluate("slowest.map(span => span.length)")
    assert lengths == sorted(lengths, reverse=True) and lengths[0] > lengths[-1]
    assert page.locator(".row").nth(0).locator("span").nth(0).text_content() == page.evaluate(
        "long(slowest[0].length)"
    )
    assert 0 < page.locator(".row.slow").count() < page.locator(".row").count()
    page.locator(".row").nth(1).click()
    assert page.evaluate("markers[1] - markers[0]") == lengths[1]
    view = page.evaluate("view")
    assert view[0] <= page.evaluate("markers[0]") <= page.evaluate("markers[1]") <= view[1]
    assert page.evaluate("link()").count("spans=1") == 1
    page.locator("#records").click()
    report.rows()
    assert page.locator(".row.slow").count() == 0
    report.is_quiet()
    page.close()


def test_html_percentiles_are_those_of_spans(
    browser: Browser, converted: Path, decoder: Path, sh: Run
) -> None:
    """By nearest rank, of any number of spans; those of "spans" are exact to 1 part in 128."""
    units = {"s": 1e9, "ms": 1e6, "\u00b5s": 1e3, "ns": 1}
    pair = ("--modules", NEWCOMER / "tables", "queue *", "complete *", "-k", "arg.tag")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    Report(page, converted / "slow.html")
    for count in (1, 2, 3, 100, 101):
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
    page.close()


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


def test_html_shows_density(many: Report) -> None:
    """Where there are more records, bars are higher."""
    many.page.locator("#all").click()
    many.rows()
    few = len(drawn(many, height=17))
    many.page.evaluate("hits = hits.filter((_, k) => k < n / 2 || k % 40 === 0); draw()")
    many.rows()
    assert len(drawn(many, height=17)) < 0.9 * few
    many.page.evaluate("filter()")


def test_html_is_quiet(small: Report) -> None:
    small.is_quiet()


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


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1400), ("dark", 1400), ("light", 390), ("dark", 390)]
)
def test_html_opens_with_who_holds_up_whom(
    browser: Browser, hang: Path, decoder: Path, sh: Run, scheme: str, width: int
) -> None:
    """In words, as a tree, and what each task did last, up to the time of the snapshot."""
    said = sh(decoder, "tasks", "--json", "-n", "5", "-s", HANG, HANG / "blame.snap")
    head, *tasks = [json.loads(line) for line in said.splitlines()]
    last = {f"{t['comm']}[{t['pid']}]": t["records"][-1] for t in tasks}
    page = browser.new_page(
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    report = Report(page, hang / "blame.html")
    texts = [finding["text"] for finding in head["findings"]]
    assert texts[0] == "crash_blame/4[120] holds up 3 tasks, for up to 3.72 s"
    assert "waits for a mutex whose holder has ended" in texts[1]
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
        record = last[row["name"][:-1]]
        # A double has about 1 ns at these times.
        assert zero + row["to"] == pytest.approx(head["boot_ns"], abs=10)
        assert zero + row["from"] == pytest.approx(record["boot_ns"], abs=10)
        assert zero + row["marks"][-1]["at"] == pytest.approx(record["boot_ns"], abs=10)
        assert row["bar"]["right"] == pytest.approx(row["track"]["right"], abs=1.5)
        assert row["bar"]["left"] == pytest.approx(row["marks"][-1]["left"], abs=2.5)
        assert row["bar"]["right"] - row["bar"]["left"] > 0.6 * (
            row["track"]["right"] - row["track"]["left"]
        )
        # Beside its mark, and within the page.
        assert row["said"] == record["message"] and row["silent"].startswith("silent 3.7")
        assert 0 <= row["said_at"]["left"] - row["marks"][-1]["left"] < 8
        assert row["said_at"]["right"] <= row["track"]["right"] + 0.5 <= width
    assert page.locator(".scale").inner_text().split()[-1] == "snapshot"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in (".banner h2", ".banner p", ".node", ".node b", ".edge", ".said span", ".said em"):
        assert page.locator(name).first.evaluate(CONTRAST) >= 4.5, name
    # The axis of lanes ends there, too.
    assert zero + page.evaluate("span[1]") == pytest.approx(head["boot_ns"], abs=10)
    assert lane_names(report)[:3] == [
        f"crash_blame/{n}  crash" for n in ("4[120]", "3[119]", "2[118]")
    ]
    controls = page.locator("#search")
    assert controls.is_visible() == (width > 640)
    if width < 640:
        page.locator("#fold").click()
        assert controls.is_visible()
    page.locator(".place.task").first.click()
    report.wait("items.length === 1")
    report.is_quiet()
    page.close()


def test_html_shows_a_deadlock_as_a_ring(browser: Browser, hang: Path) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, hang / "abba.html")
    banner = page.locator(".banner h2").inner_text()
    assert banner == "Deadlock: crash_abba/1[118] \u21c4 crash_abba/2[119], for up to 3.72 s"
    assert [(row["name"], row["edge"], row["lines"]) for row in places(page)] == [
        ("crash_abba/1[118]D", "mutex of crash_abba/2[119]", "first"),
        ("crash_abba/2[119]D", "mutex of crash_abba/1[118]", "bend"),
    ]
    report.is_quiet()
    page.close()


def test_html_names_of_tasks_are_never_markup(browser: Browser, hang: Path) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, hang / "hostile.html")
    name = "<b>&\\x1b[2J'</b>[120]"
    assert page.locator(".banner h2").inner_text() == f"{name} holds up 3 tasks, for up to 3.72 s"
    assert places(page)[0]["name"] == name + "D"
    assert MARKUP[:4] not in (hang / "hostile.html").read_bytes()
    report.is_quiet()
    page.close()


def test_html_says_that_nobody_is_blocked_or_that_nobody_knows(
    browser: Browser, converted: Path
) -> None:
    """These are two answers."""
    for name, kind, text in (
        ("slow", "banner calm", "No task is blocked"),
        ("big", "banner unknown", "Not known who is blocked: this file has no states of tasks"),
        ("golden", "banner", "fio[4242] is blocked, for up to 29.0 s; no lock is known"),
    ):
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        Report(page, converted / f"{name}.html")
        banner = page.locator(".banner")
        assert banner.get_attribute("class") == kind
        assert banner.locator("h2").inner_text().startswith(text)
        assert len(places(page)) == (name == "golden")
        page.close()


def test_html_lanes_are_sorted_by_suspicion(
    browser: Browser, converted: Path, decoder: Path, sh: Run
) -> None:
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

    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, converted / "slow.html")
    names = [name.split()[0] for name in lane_names(report) if name.endswith("  rnull")]
    assert [rank(name) for name in names] == sorted(rank(name) for name in times)
    assert rank(names[0])[0] == 1 and rank(names[1])[0] == 3
    page.close()


def test_html_colours_by_call_site(browser: Browser, converted: Path) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, converted / "slow.html")
    report.rows()
    before = set(drawn(report))
    page.locator("#colour").select_option("site")
    report.rows()
    legend = page.locator("#legend span").all_text_contents()
    assert legend[0].startswith("queue {op") or legend[0].startswith("complete {op"), legend
    assert len(legend) > 2 and set(drawn(report)) - before
    assert "colour=site" in page.evaluate("link()")
    report.is_quiet()
    page.close()


def test_html_has_a_lane_of_an_object(
    browser: Browser, converted: Path, decoder: Path, sh: Run
) -> None:
    """Its records by any task; a click on an argument of a record makes one, too."""
    condition = ("-w", "arg.tag == 64", "--modules", NEWCOMER / "tables", NEWCOMER / "snap")
    count = int(sh(decoder, "--count", *condition))
    assert count > 2
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, converted / "slow.html")
    lanes = len(lane_names(report))
    page.locator("#object").fill("arg.tag == 0x40")
    report.wait(f"items.length === {lanes + 1}")
    assert lane_names(report)[0] == f"tag == 0x40 ({count})"
    assert page.evaluate("new Set(items[0].records.map(i => lanes[i])).size") > 1
    report.rows()
    assert drawn(report, height=17)
    for wrong, what in (
        ("arg.tag > 3", "not arg.NAME == VALUE"),
        ("arg.tga == 3", "no call site has an argument tga"),
        ("arg.tag == 123456", "no record has it"),
    ):
        page.locator("#object").fill(wrong)
        report.wait(f"document.getElementById('unlike').textContent === {what!r}")
    page.locator("#search").fill("complete")
    report.wait("hits.length < n")
    page.locator(".row").nth(3).click()
    arg = page.locator(".arg", has_text="tag = ")
    tag = arg.inner_text().split()[-1]
    arg.click()
    report.wait(f"items[0].name.startsWith('tag == {tag} (')")
    assert page.locator("#object").input_value() == f"arg.tag == {tag}"
    report.is_quiet()
    page.close()


# Of two pictures, which share of the pixels differs.
DIFFERS = """async pictures => {
    const pixels = await Promise.all(pictures.map(async picture => {
        const image = new Image();
        image.src = 'data:image/png;base64,' + picture;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const g = canvas.getContext('2d');
        g.drawImage(image, 0, 0);
        return g.getImageData(0, 0, image.width, image.height);
    }));
    const [a, b] = pixels;
    if (a.width !== b.width || a.height !== b.height) return 1;
    let count = 0;
    for (let i = 0; i < a.data.length; i += 4)
        count += [0, 1, 2].some(k => Math.abs(a.data[i + k] - b.data[i + k]) > 48);
    return count / (a.width * a.height);
}"""


def test_html_is_the_picture_of_readme(browser: Browser, hang: Path) -> None:
    """README.md shows this file. BLOG_BLESS=1 makes it anew."""
    page = browser.new_page(viewport={"width": 1100, "height": 700}, device_scale_factor=1)
    Report(page, hang / "blame.html")
    box = page.locator("#hang").bounding_box()
    assert box
    shot = page.screenshot(clip=box)
    picture = HANG / "report.png"
    if "BLOG_BLESS" in os.environ:
        picture.write_bytes(shot)
    assert f"]({picture.relative_to(TOP)})" in (TOP / "README.md").read_text()
    blank = browser.new_page()
    both = [base64.b64encode(bytes).decode() for bytes in (shot, picture.read_bytes())]
    # Letters look a little different with other fonts.
    assert blank.evaluate(DIFFERS, both) < 0.04
    blank.close()
    page.close()


@pytest.fixture(scope="module")
def many(browser: Browser, converted: Path) -> Iterator[Report]:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    report = Report(page, converted / "big.html")
    yield report
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


def test_html_of_five_million(browser: Browser, work: Path, decoder: Path, sh: Run) -> None:
    """The report takes 2 s of CPU for each million. They open in 5 s and need 400 MiB then, and a
    search goes through them."""
    records, report = 5_000_000, work / "five.html"
    big = big_log(work / "five", records)
    before = os.times()
    sh(decoder, "report", "-o", report, "-s", big / "log.ko", big / "log.snap")
    took = [after - at for at, after in zip(before, os.times(), strict=True)]
    cpu = took[2] + took[3]  # of children
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    five = Report(page, report)
    five.shows(f"{records:,} of {records:,} shown")
    # What it was unpacked from goes when the browser tidies up.
    end = time.monotonic() + 5
    while (memory := memory_of_largest() >> 20) >= 400 and time.monotonic() < end:
        time.sleep(0.2)
    start = time.monotonic()
    five.search("at 0x1f40")
    five.wait("hits.length < n")
    five.times["search"] = time.monotonic() - start
    assert page.evaluate("hits.length") > 0
    five.search("")
    five.shows(f"{records:,} of {records:,} shown", "all again")
    start = time.monotonic()
    for _ in range(10):
        five.wheel(-100)
        five.rows()
    five.times["a step of zoom"] = (time.monotonic() - start) / 10
    print(five.times, f"{memory} MiB, {cpu:.1f} s of CPU")
    five.is_quiet()
    page.close()
    assert cpu < 2 * records / 1e6
    assert five.times["load"] < 5
    assert memory < 400
