# SPDX-License-Identifier: GPL-2.0
"""The output of "blog-decode convert" for fleets, read by others.

DuckDB reads Parquet, and OpenTelemetry's own definitions read OTLP. There are snapshots of four
machines; on each, a span is a microsecond longer than on the one before. And answers of
blog-decode are those of SQL over the records: an oracle that shares no code with it.
"""

import json
import re
import textwrap
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import TOP, Run, biglog
from google.protobuf import json_format  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2

HOSTS = 4
RECORDS = sum(2 * (20 + host) + 1 for host in range(HOSTS))
# Seconds since the boot of host1
HUNG = 0.5
LOST = sum(range(1, HOSTS + 1))

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def fleet(work: Path, decoder: Path, sh: Run) -> Path:
    """The folder with hostN.snap, log.ko, parquet and otlp. The tables have dmesg of one machine,
    which hangs half a second after its boot."""
    biglog("fleet", HOSTS, HOSTS, work)
    dmesg = work / "dmesg"
    dmesg.write_text(f"[{HUNG:12.6f}] INFO: task fio:1000 blocked for more than 122 seconds.\n")
    for form, log in (("parquet", ["--dmesg", f"host1={dmesg}"]), ("otlp", [])):
        sh(decoder, "convert", "--to", form, "-o", work / form, *log, *inputs(work))
    return work


def inputs(fleet: Path) -> list[Path | str]:
    return ["-s", fleet / "log.ko", *sorted(fleet.glob("host*.snap"))]


def objects(decoder: Path, sh: Run, *args: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in sh(decoder, *args).splitlines()]


def test_files_let_engines_skip(fleet: Path) -> None:
    """Statistics, dictionaries, and times as differences."""
    columns = {
        name: (least, most, encodings, pages, packed)
        for name, least, most, encodings, pages, packed in duckdb.execute(
            "SELECT path_in_schema, stats_min_value, stats_max_value, encodings,"
            " dictionary_page_offset, compression FROM"
            f" parquet_metadata('{fleet}/parquet/*/host=host1/*/*.parquet')"
        ).fetchall()
    }
    assert {packed for *_, packed in columns.values()} == {"ZSTD"}
    assert "DELTA_BINARY_PACKED" in columns["time"][2] and columns["time"][3] is None
    for name in ("file", "format", "comm", "arguments, key_value, key"):
        assert "RLE_DICTIONARY" in columns[name][2] and columns[name][3], name
    with_statistics = [name for name, (least, most, *_) in columns.items() if least and most]
    assert {"time", "pid", "level", "file", "message"} <= set(with_statistics)
    assert columns["time"][0] < columns["time"][1]


def test_queries_of_the_page(fleet: Path, decoder: Path, sh: Run) -> None:
    """DuckDB accepts them, and they find the right rows."""
    page = (TOP / "Documentation/blog/fleet.rst").read_text()
    blocks = re.findall(r"code-block:: text\n\n((?:   .*\n|\n)+)", page)
    rows = [
        duckdb.execute(textwrap.dedent(block).replace("'tables/", f"'{fleet}/parquet/")
                   .replace("'queue %'", "'read 0 %'").replace("'complete %'", "'read 1 %'")
                   .replace("'tag'", "'sector'")).fetchall()
        for block in blocks
    ]  # fmt: skip
    ((lost,),) = duckdb.execute(
        f"SELECT sum(count) FROM read_parquet('{fleet}/parquet/**/*.parquet') WHERE kind = 'lost'"
    ).fetchall()
    assert lost == LOST
    sites, latencies, hung = rows
    assert sum(row[4] for row in sites) == RECORDS
    assert sorted(latencies) == [(f"host{n}", 20 + n, [(n + 1) * 1000] * 4) for n in range(HOSTS)]
    before = Counter(
        o["format"]
        for o in objects(decoder, sh, "--json", "-s", fleet / "log.ko", fleet / "host1.snap")
        if o["type"] == "record" and o["boot_ns"] <= HUNG * 1e9
    )
    assert sum(before.values()) == 42
    assert hung == before.most_common()


@pytest.fixture(scope="module")
def requests(fleet: Path) -> list[logs_service_pb2.ExportLogsServiceRequest]:
    """By OpenTelemetry's definitions, no field of which is unknown."""
    lines = (fleet / "otlp").read_text().splitlines()
    return [json_format.Parse(line, logs_service_pb2.ExportLogsServiceRequest()) for line in lines]


def test_otlp_has_what_blog_decode_prints(
    fleet: Path, requests: list[logs_service_pb2.ExportLogsServiceRequest], decoder: Path, sh: Run
) -> None:
    """All messages with their times, places and arguments; each host is a resource."""
    said = objects(decoder, sh, "--json", *inputs(fleet))
    wanted = Counter(
        (o["wall_ns"], o["message"], o["line"], o["pid"]) for o in said if o["type"] == "record"
    )
    got = Counter[Any]()
    hosts = []
    lost = 0
    for request in requests:
        for logs in request.resource_logs:
            of = {a.key: a.value.string_value for a in logs.resource.attributes}
            assert of["os.type"] == "linux" and len(of["blog.boot_id"]) == 32
            hosts.append(of["host.name"])
            for scope in logs.scope_logs:
                assert scope.scope.name == "disk"
                for r in scope.log_records:
                    values = {a.key: a.value for a in r.attributes}
                    if "blog.lost.count" in values:
                        lost += values["blog.lost.count"].int_value
                        continue
                    got[
                        r.time_unix_nano,
                        r.body.string_value,
                        values["code.line.number"].int_value,
                        values["thread.id"].int_value,
                    ] += 1
                    if r.body.string_value.startswith("read 1"):
                        assert values["blog.arg.count"].int_value == 1
                        assert r.severity_text == "info" and r.severity_number == 9
    assert got == wanted
    assert sum(got.values()) == RECORDS
    assert lost == LOST
    assert sorted(hosts) == [f"host{n}" for n in range(HOSTS)]


NEWCOMER = TOP / "tools/blog-decode/tests/newcomer"
# What a field is called in the table "log".
COLUMNS = {"arg.op": "txt(args, 'op')"}


class Log:
    """A snapshot, and the same records as a table that DuckDB has read from --json."""

    def __init__(self, decoder: Path, sh: Run, snapshot: Path, json_file: Path) -> None:
        self.run = sh
        self.words = ["--json", "--modules", NEWCOMER / "tables", snapshot]
        self.decoder = decoder
        said = self.command()
        json_file.write_text("\n".join(json.dumps(o) for o in said))
        self.connection = duckdb.connect()
        for command in (
            f"CREATE TABLE log AS SELECT row_number() OVER () AS n, * FROM read_json('{json_file}')",
            "CREATE MACRO num(a, x) AS list_filter(a, lambda e: e.name = x)[1].value",
            "CREATE MACRO txt(a, x) AS list_filter(a, lambda e: e.name = x)[1].text",
        ):
            self.connection.execute(command)

    def command(self, *args: str) -> list[dict[str, Any]]:
        """The objects that a command prints, without standard error."""
        lines = self.run(self.decoder, *args, *self.words, status=(0, 1)).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def ask(self, query: str) -> Rows:
        return self.connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def log(decoder: Path, sh: Run, work: Path) -> Log:
    return Log(decoder, sh, NEWCOMER / "snap", work / "newcomer.json")


@pytest.fixture(scope="module")
def cut(decoder: Path, sh: Run, work: Path) -> Log:
    """The first part of the snapshot: records are missing at the end of some rings."""
    snapshot = work / "cut.snap"
    snapshot.write_bytes((NEWCOMER / "snap").read_bytes()[:20_000])
    return Log(decoder, sh, snapshot, work / "cut.json")


@pytest.mark.parametrize("by", ["component,level", "context,arg.op"])
def test_counts_are_those_of_the_records(log: Log, by: str) -> None:
    columns = ", ".join(COLUMNS.get(field, f"{field}::VARCHAR") for field in by.split(","))
    for per, begins in (([], "0"), (["--per", "0.5"], "boot_ns // 500000000 * 500000000")):
        said = log.command("stats", "--by", by, "--sum", "arg.bytes", *per)
        rows = log.ask(
            f"SELECT {begins}, count(*), sum(num(args, 'bytes')), {columns}"
            " FROM log WHERE type = 'record' GROUP BY ALL"
        )
        wanted = {(begin, *values): (n, total) for begin, n, total, *values in rows}
        got = {
            (
                o.get("from_boot_ns") or 0,
                *(None if v is None else str(v) for v in o["by"].values()),
            ): (
                o["records"],
                o["sum"],
            )
            for o in said
        }
        assert len(said) == len(got) and got == wanted


def test_spans_are_those_of_the_records(log: Log) -> None:
    said = log.command("spans", "-k", "arg.tag", "queue *", "complete *")
    of_all = next(o for o in said if o["type"] == "span-sum")
    (row,) = log.ask(
        "WITH all_of_them AS (SELECT message, boot_ns - lag(boot_ns) OVER w AS ns, lag(message)"
        " OVER w AS last FROM log WHERE type = 'record' AND num(args, 'tag') IS NOT NULL"
        " AND (message LIKE 'queue %' OR message LIKE 'complete %')"
        " WINDOW w AS (PARTITION BY num(args, 'tag') ORDER BY n)),"
        " spans AS (SELECT ns FROM all_of_them WHERE message LIKE 'complete %'"
        " AND last LIKE 'queue %')"
        " SELECT count(*), max(ns), quantile_disc(ns, [0.5, 0.99]) FROM spans"
    )
    assert row[0] > 100
    assert (of_all["spans"], of_all["max_ns"]) == row[:2]
    for exact, name in zip(row[2], ("p50_ns", "p99_ns"), strict=True):
        assert exact <= of_all[name] <= exact + exact // 128


@pytest.mark.parametrize("name", ["log", "cut"])
def test_stats_are_those_of_the_records(request: pytest.FixtureRequest, name: str) -> None:
    """Also from when on nothing is missing: from the first record after the last loss of any ring."""
    log: Log = request.getfixturevalue(name)
    said = log.command("stats")
    rings = {
        (o["component"], o["ring"]): (o["records"], o["first_boot_ns"], o["last_boot_ns"])
        for o in said
        if o["type"] == "ring" and o["records"]
    }
    rows = log.ask(
        "SELECT component, ring, count(*), min(boot_ns), max(boot_ns) FROM log"
        " WHERE type = 'record' GROUP BY component, ring"
    )
    assert rings == {row[:2]: row[2:] for row in rows}
    # What is missing at the end may have been logged until the snapshot was taken.
    taken = log.command("tasks")[0]["boot_ns"]
    wanted = log.ask(
        "WITH lost AS (SELECT component, ring, max(n) AS final FROM log WHERE type = 'lost'"
        " GROUP BY ALL), since AS (SELECT component, ring, min(boot_ns) AS ns FROM log JOIN lost"
        " USING (component, ring) WHERE type = 'record' AND n > final GROUP BY ALL)"
        f" SELECT component, max(coalesce(ns, {taken})) FROM lost LEFT JOIN since"
        " USING (component, ring) GROUP BY component"
    )
    sums = {o["component"]: o["complete_from_boot_ns"] for o in said if o["type"] == "component"}
    assert sums == {component: dict(wanted).get(component) for component in sums}
    assert bool(wanted) == (name == "cut")
    sites = {o["format"]: o["records"] for o in said if o["type"] == "site"}
    assert sites == dict(
        log.ask("SELECT format, count(*) FROM log WHERE type = 'record' GROUP BY format")
    )


def test_json_is_a_table_to_others(log: Log, work: Path) -> None:
    """A column has values of one type, also within lists and objects: more can't be a table."""
    types: dict[tuple[str, ...], set[type]] = defaultdict(set)

    def look(value: Any, *place: str) -> None:
        if value is not None:
            types[place].add(type(value))
        if isinstance(value, dict):
            for key, inner in value.items():
                look(inner, *place, key)
        for inner in value if isinstance(value, list) else ():
            look(inner, *place, "[]")

    lines = (work / "newcomer.json").read_text().splitlines()
    for line in lines:
        look(json.loads(line))
    assert len(lines) == log.ask("SELECT count(*) FROM log")[0][0] and len(types) > 20
    assert not {place: found for place, found in types.items() if len(found) > 1}
