# SPDX-License-Identifier: GPL-2.0
"""Raw samples of one boot, and values made of them.

A guest leaves "results" (see tests/modules/bench/main.c) and "facts" in its folder. What is
measured in one boot is a run; values know theirs, and those of different runs can't be compared:
that is an error, not a number.
"""

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

# What is taken off for the loop itself: name of the case -> name of its empty loop.
EMPTY = {
    "blog_c_off": "loop",
    "blog_c_on": "loop",
    "clock_local": "loop",
    "trace_printk": "loop",
    "event_off": "loop",
    "event_on": "loop",
    "pr_debug_off": "loop",
    "pr_debug_on": "loop",
    "function_call": "function_empty",
    "function_empty": "empty",
    "none": "none_empty",
}


class DifferentRuns(ValueError):
    """Values of different boots don't compare."""


class Missing(KeyError):
    """That was not measured in this run."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Value:
    """What was measured: the median of all rounds, with the extremes."""

    name: str
    unit: str
    median: float
    min: float
    max: float
    runs: int
    setup: str
    run: str

    def __truediv__(self, other: "Value") -> float:
        if self.run != other.run:
            raise DifferentRuns(f"{self.name} and {other.name} are from different runs")
        return self.median / other.median

    def as_json(self) -> dict[str, object]:
        return {**self.__dict__}


def value(name: str, unit: str, samples: Iterable[float], setup: str, run: str) -> Value:
    """Makes a value of samples."""
    samples = list(samples)
    return Value(name, unit, median(samples), min(samples), max(samples), len(samples), setup, run)


def read_facts(folder: Path) -> dict[str, str]:
    lines = (folder / "facts").read_text().splitlines()
    return dict(line.split(" ", 1) for line in lines if " " in line)


class Run:
    """The samples of one boot."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts = read_facts(folder)
        self.setup = self.facts["setup"]
        self.id = self.facts["boot"]
        self.clock = self.facts["clock"]
        sites = self.folder.parent / "sites.json"
        self.sites = json.loads(sites.read_text()) if sites.exists() else {}
        self.unit = "instructions" if self.facts.get("icount") == "yes" else "ns"
        # mark -> (case, context) -> ticks for each round, by record
        self.cases: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.each: list[int] = []
        self.new: list[tuple[int, int]] = []
        # Of one task that logs to so many components: how many, and ticks
        self.many: list[tuple[int, int]] = []
        self.clocks: list[tuple[int, int]] = []
        # What traffic.read() finds: logger -> kind of record -> records in 1 MiB
        self.traffic: dict[str, dict[str, float]] = {}
        self._read()

    def _read(self) -> None:
        mark = ""
        for line in (self.folder / "results").read_text().splitlines():
            kind, *words = line.split()
            if kind == "mark":
                mark = words[0]
            elif kind == "case":
                name, context, n, ticks = words[0], words[1], int(words[2]), int(words[3])
                self.cases[mark][name, context].append(ticks / n)
            elif kind == "each":
                self.each.append(int(words[0]))
            elif kind == "new":
                self.new.append((int(words[0]), int(words[1])))
            elif kind == "many":
                self.many.append((int(words[0]), int(words[1])))
            elif kind == "clocks":
                self.clocks.append((int(words[0]), int(words[1])))
            else:
                raise ValueError(f"{self.folder}/results: unknown line: {line}")

    def scale(self) -> float:
        """Units for each tick: nanoseconds, or instructions, of which QEMU makes a tick each."""
        if self.unit == "instructions":
            return 1.0
        (t0, ns0), (t1, ns1) = self.clocks[0], self.clocks[-1]
        return (ns1 - ns0) / (t1 - t0)

    def make(self, name: str, samples: Iterable[float], unit: str = "") -> Value:
        return value(name, unit or self.unit, samples, self.setup, self.id)

    def has(self, what: str, shape: str, context: str = "task", mark: str = "") -> bool:
        return (f"{what}.{shape}", context) in self.cases[mark]

    def samples(self, what: str, shape: str, context: str = "task", mark: str = "") -> list[float]:
        """What a case cost in each round, without its loop."""
        base = f"{EMPTY.get(what, 'empty')}.{shape}"
        name = f"{what}.{shape}"
        rounds = self.cases[mark].get((name, context))
        empty = self.cases[mark].get((base, context))
        if not rounds or not empty:
            raise Missing(f"{name} in {context} was not measured in {self.setup}")
        scale = self.scale()
        return [(a - b) * scale for a, b in zip(rounds, empty)]

    def cost(self, what: str, shape: str, context: str = "task", mark: str = "") -> Value:
        """What a case costs, without its loop."""
        label = f"{what}.{shape}/{context}" + (f"/{mark}" if mark else "")
        return self.make(label, self.samples(what, shape, context, mark))

    def beyond(self, what: str, shape: str) -> Value:
        """What a record costs beyond reading the clock that its logger reads for it."""
        clocks = {"blog_on": self.clock, "event_on": "local", "trace_printk": "local"}
        if what not in clocks:
            raise Missing(f"which clock {what} reads isn't known")
        pairs = zip(self.samples(what, shape), self.samples(f"clock_{clocks[what]}", "0"))
        return self.make(f"{what}_beyond_clock.{shape}/task", [a - b for a, b in pairs])

    def costs(self) -> Iterator[Value]:
        """All costs of the run."""
        for mark, cases in self.cases.items():
            for name, context in cases:
                what, shape = name.split(".")
                if what not in ("loop", "empty", "none_empty"):
                    with contextlib.suppress(Missing):
                        yield self.cost(what, shape, context, mark)

    def page_turns(self) -> tuple[Value, Value, Value]:
        """(values: a plain record, one that turns the page, and the share of turning; how many
        records there are for each turn). Reading the clock is in both."""
        if not self.each:
            raise Missing(f"no single record was measured in {self.setup}")
        plain = median(self.each)
        turns = [t for t in self.each if t > 3 * plain]
        others = [t for t in self.each if t <= 3 * plain]
        if not turns:
            raise Missing("no page was turned")
        scale = self.scale()
        extra = [(t - plain) * scale for t in turns]
        mean = sum(extra) / len(self.each)
        return (
            self.make("record_between_two_clock_reads.2/task", [t * scale for t in others]),
            self.make("page_turn/task", extra),
            self.make("page_turn_per_record.2/task", [mean]),
        )

    def many_components(self) -> Value:
        """A record of a task that logs to many components by turns."""
        if not self.many:
            raise Missing(f"many components were not measured in {self.setup}")
        scale = self.scale()
        each = [ticks / count * scale for count, ticks in self.many]
        return self.make("record_to_many_components.2/task", each)

    def first_records(self) -> tuple[Value, Value]:
        """The first record of a new task, and its second."""
        if not self.new:
            raise Missing(f"no new task was measured in {self.setup}")
        scale = self.scale()
        return (
            self.make("first_record_of_task.2/task", [a * scale for a, _ in self.new]),
            self.make("second_record_of_task.2/task", [b * scale for _, b in self.new]),
        )
