#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Uses an HTML report as a reader does, in a headless Chromium, and prints TAP: it loads
without a request to anywhere, counts its records, filters, searches, zooms, chooses.
The report is that of tests/golden/expected/new.snap, or with --big of a log made by
BLOG_BIG_LOG, where times are printed, too.

usage: check_html.py [--big RECORDS] REPORT
"""

import argparse
import sys
import time

from browser import Browser

failed = []


def check(name, got, want):
    """One test."""
    good = want(got) if callable(want) else got == want
    print(("ok - " if good else "not ok - ") + f"html: {name}", flush=True)
    if not good:
        failed.append(name)
        print(f"  | got {got!r}, want {want!r}")


class Report:
    """The page, by what a reader sees of it."""

    def __init__(self, browser, path):
        self.browser = browser
        start = time.monotonic()
        browser.open(path)
        browser.wait("document.body.dataset.ready !== undefined || !document.getElementById('error').hidden")
        self.load = time.monotonic() - start

    def count(self):
        return self.browser.value("document.getElementById('count').textContent")

    def rows(self):
        """Text of the rows that are shown."""
        return self.browser.value(
            "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => "
            "r([...document.querySelectorAll('.row .m')].map(e => e.textContent)))))")

    def act(self, what, until):
        """Does something, and waits for what the count says then."""
        start = time.monotonic()
        what()
        self.browser.wait(f"document.getElementById('count').textContent === {until!r}")
        return time.monotonic() - start

    def search(self, text):
        self.browser.value("document.getElementById('search').focus();"
                           "document.getElementById('search').select()")
        if text:
            self.browser.type(text)
        else:
            self.browser.value("const s = document.getElementById('search'); s.value = '';"
                               "s.dispatchEvent(new Event('input'))")

    def set(self, name, value):
        self.browser.value(f"{{ const e = document.getElementById('{name}'); e.value = '{value}';"
                           "e.dispatchEvent(new Event('change')) }")

    def middle(self, name):
        """Where an element is."""
        return self.browser.value(
            f"(() => {{ const b = document.getElementById('{name}').getBoundingClientRect();"
            "return [b.x + b.width * 0.6, b.y + b.height / 2] })()")


def common(report, path):
    browser = report.browser
    check("the page shows no error", browser.value("document.getElementById('error').textContent"), "")
    check("it asks for nothing but itself", [r for r in browser.requests if not r.endswith(path)], [])
    check("nothing is thrown", browser.errors, [])


def small(browser, path):
    report = Report(browser, path)
    check("all records and losses are counted", report.count(), "20 of 20 shown")
    rows = report.rows()
    check("rows are in the order of time", rows[:3], [
        "5 older records overwritten", "read 8 sectors at 0x1000",
        '"sda \\"1\\"\\t\\u{1b}[2J é": EIO'])
    check("a message is text, never markup",
          [r for r in report.rows() if "<b>" in r], ['two ⏎ lines, "quoted", <b>&amp;</b>'])
    report.act(lambda: report.set("level", "2"), "8 of 20 shown")
    check("a level filters, and leaves losses", len(report.rows()), 8)
    report.act(lambda: browser.value("document.getElementById('lost').click()"), "4 of 20 shown")
    check("losses can be left out", [r.split()[0] for r in report.rows()],
          ['"sda', "q7", "<site", "two"])
    report.set("level", "5")
    browser.value("document.getElementById('lost').click()")
    report.act(lambda: report.search("READ"), "2 of 20 shown")
    check("a search finds words, capital or not", report.rows(),
          ["read 8 sectors at 0x1000", "read 16 sectors at 0xffffffffffffffff"])
    report.act(lambda: report.search("/^(state (Busy|Idle)|sense)/"), "3 of 20 shown")
    check("and regular expressions", report.rows()[1], "state Idle")
    report.search("/(/")
    browser.wait("document.getElementById('search').classList.contains('bad')")
    report.act(lambda: report.search(""), "20 of 20 shown")
    report.act(lambda: report.set("component", "net"), "8 of 20 shown")
    report.act(lambda: report.set("component", ""), "20 of 20 shown")
    check("without filters, all rows are back", report.rows()[0], "5 older records overwritten")
    x, y = browser.value("(() => { const b = document.querySelectorAll('.row')[1].getBoundingClientRect();"
                         "return [b.x + 300, b.y + 5] })()")
    browser.click(x, y)
    detail = browser.value("document.getElementById('detail').textContent")
    check("a click on a row shows the record", detail.splitlines(), [
        "8.000001  info  disk  fio[4242]", "read 8 sectors at 0x1000",
        "drivers/block/test.rs:11  test::inner", "read {} sectors at {sector:#x}"])
    x, y = report.middle("lanes")
    browser.wheel(x, y, -800)
    browser.wait("!document.getElementById('count').textContent.startsWith('20 ')")
    check("the wheel zooms", report.count(), lambda c: c.endswith(" of 20 shown"))
    report.act(lambda: browser.value("document.getElementById('all').click()"), "20 of 20 shown")
    check("lanes are drawn", browser.value(
        "(() => { const c = document.getElementById('lanes'); const d = c.getContext('2d')"
        ".getImageData(240, 0, c.width - 240, c.height).data; let n = 0;"
        "for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n })()"), lambda n: n > 100)
    common(report, path)


def big(browser, path, records):
    shown = f"{records:,} of {records:,} shown"
    report = Report(browser, path)
    check("all records are counted", report.count(), shown)
    times = {"load": report.load}
    found = browser.value("hits.filter(i => message(i).includes('at 0x1f40')).length")
    part = f"{found:,} of {records:,} shown"
    times["search"] = report.act(lambda: report.search("at 0x1f40"), part)
    check("a search finds all", len(report.rows()) > 0, True)
    found = browser.value("Array.from({ length: n }, (_, i) => message(i).startsWith('read 7 '))"
                          ".filter(Boolean).length")
    part = f"{found:,} of {records:,} shown"
    times["regular expression"] = report.act(lambda: report.search("/^read 7 /"), part)
    times["all again"] = report.act(lambda: report.search(""), shown)
    x, y = report.middle("lanes")
    start = time.monotonic()
    for _ in range(10):
        browser.wheel(x, y, -300)
        report.rows()
    times["one step of zoom, drawn"] = (time.monotonic() - start) / 10
    start = time.monotonic()
    for _ in range(10):
        browser.value("document.getElementById('tablebox').scrollTop += 5000")
        report.rows()
    times["one scroll, drawn"] = (time.monotonic() - start) / 10
    check("zooming leaves records in view", report.count() != shown, True)
    memory = browser.value("performance.memory ? performance.memory.usedJSHeapSize : 0")
    for name, seconds in times.items():
        print(f"# {name}: {seconds:.2f} s")
    print(f"# JavaScript heap: {memory >> 20} MiB")
    common(report, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--big", type=int)
    parser.add_argument("report")
    args = parser.parse_args()
    try:
        browser = Browser()
    except (EOFError, OSError, TimeoutError) as e:
        # Whether there is one at all is another test.
        print(f"  | the browser does not start: {e}")
        return 1
    with browser:
        if args.big:
            big(browser, args.report, args.big)
        else:
            small(browser, args.report)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
