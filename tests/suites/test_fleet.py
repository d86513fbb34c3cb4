# SPDX-License-Identifier: GPL-2.0
"""The output of "blog-decode convert" for fleets, read by others.

DuckDB reads Parquet, and must give the answers of "blog-decode stats" and "spans"; Spark must, too,
in the suite "spark". OpenTelemetry's own definitions read OTLP. There are snapshots of four
machines; on each, a span is a microsecond longer than on the one before.
"""

import json
import os
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable
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
Ask = Callable[[str], Rows]


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


@pytest.fixture(scope="module")
def ask(fleet: Path) -> Ask:
    """DuckDB, with a view "log" in which the sector is a column."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE VIEW log AS SELECT *, arguments['sector'] AS sector, epoch_ns(time) AS ns FROM"
        " read_parquet("
        f"'{fleet}/parquet/**/*.parquet', hive_partitioning = true,"
        " hive_types = {'host': VARCHAR, 'boot': VARCHAR, 'date': DATE})"
    )
    return lambda query: connection.execute(query).fetchall()


def objects(decoder: Path, sh: Run, *args: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in sh(decoder, *args).splitlines()]


def test_partitions(fleet: Path) -> None:
    """By date, host and boot; each host has its own of each, and a date is of two hosts."""
    parts = [part.relative_to(fleet / "parquet").parts for part in fleet.rglob("*.parquet")]
    assert all([p.split("=")[0] for p in part[:3]] == ["date", "host", "boot"] for part in parts)
    assert len({part[1] for part in parts}) == len({part[2] for part in parts}) == HOSTS
    assert len({part[0] for part in parts}) < HOSTS


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


def test_counts_by_site(fleet: Path, decoder: Path, sh: Run, ask: Ask) -> None:
    """The sites with the most records are those of "stats"."""
    said = objects(decoder, sh, "stats", "--by", "host,file,line,format", "--json", *inputs(fleet))
    wanted = {
        (o["by"]["host"], o["by"]["file"], int(o["by"]["line"]), o["by"]["format"]): o["records"]
        for o in said
    }
    assert sum(wanted.values()) == RECORDS
    rows = ask(
        "SELECT host, file, line, format, count(*) FROM log WHERE kind = 'record'"
        " GROUP BY host, file, line, format ORDER BY count(*) DESC"
    )
    assert {row[:4]: row[4] for row in rows} == wanted


def test_latency_by_host(fleet: Path, decoder: Path, sh: Run, ask: Ask) -> None:
    """How long it took from one record to another is what "spans" says."""
    said = objects(decoder, sh, "spans", "-k", "arg.sector", "--json", "-n", str(RECORDS),
                   "read 0 *", "read 1 *", *inputs(fleet))  # fmt: skip
    lengths: dict[str, list[int]] = {}
    for o in said:
        if o["type"] == "span":
            lengths.setdefault(o["start"]["host"], []).append(o["ns"])
    wanted = {host: (len(all_of), min(all_of), max(all_of)) for host, all_of in lengths.items()}
    assert len(wanted) == HOSTS
    rows = ask(
        "SELECT a.host, count(*), min(b.ns - a.ns), max(b.ns - a.ns) FROM"
        " (SELECT host, sector, ns FROM log WHERE message LIKE 'read 0 %') a JOIN"
        " (SELECT host, sector, ns FROM log WHERE message LIKE 'read 1 %') b"
        " ON a.host = b.host AND a.sector = b.sector GROUP BY a.host"
    )
    assert {row[0]: row[1:] for row in rows} == wanted


def test_losses_are_rows(ask: Ask) -> None:
    rows = ask("SELECT host, cause, count FROM log WHERE kind = 'lost'")
    assert sorted(row[2] for row in rows) == list(range(1, HOSTS + 1))
    assert {row[1] for row in rows} == {"no-page"}


def test_what_happened_before(ask: Ask) -> None:
    """All but one record of each machine is from before its first error."""
    rows = ask(
        "SELECT count(*) FROM log r JOIN (SELECT host, min(time) AS at FROM log WHERE level = 'err'"
        " GROUP BY host) e ON r.host = e.host WHERE r.kind = 'record' AND r.time < e.at"
    )
    assert rows == [(RECORDS - HOSTS,)]


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


def test_the_job_of_the_page(fleet: Path, decoder: Path, sh: Run, tmp_path: Path) -> None:
    """Directories that several jobs have made are one table."""
    page = (TOP / "Documentation/blog/fleet.rst").read_text()
    found = re.search(r"^  # (find snaps .*\n.*)$", page, re.MULTILINE)
    assert found
    (tmp_path / "snaps").symlink_to(fleet)
    (tmp_path / "side-tables").symlink_to(fleet)
    (tmp_path / "tables").mkdir()
    sh("sh", "-ec", found[1].replace("find snaps", "find snaps/").replace("-n 250", "-n 2"),
       cwd=tmp_path, env=os.environ | {"PATH": f"{decoder.parent}:{os.environ['PATH']}"})  # fmt: skip
    assert len([*(tmp_path / "tables").glob("job=*")]) == HOSTS / 2
    rows = duckdb.execute(
        f"SELECT count(*) FROM read_parquet('{tmp_path}/tables/**/*.parquet',"
        " hive_partitioning = true) WHERE kind = 'record'"
    ).fetchall()
    assert rows == [(RECORDS,)]


def test_a_damaged_snapshot_is_told(fleet: Path, decoder: Path, sh: Run) -> None:
    """It is not fatal: the table has all records of the others, and its readable ones."""
    damaged = fleet / "damaged.snap"
    whole = (fleet / "host0.snap").read_bytes()
    damaged.write_bytes(whole[: len(whole) - 100])
    rest = sorted(fleet.glob("host[1-9].snap"))
    done = sh(decoder, "convert", "--to", "parquet", "-o", fleet / "partly", "-s", fleet / "log.ko",
              damaged, *rest, status=(1,))  # fmt: skip
    assert "damaged.snap" in done
    rows = duckdb.execute(
        f"SELECT host, count(*) FROM read_parquet('{fleet}/partly/**/*.parquet',"
        " hive_partitioning = true) WHERE kind = 'record' GROUP BY host"
    ).fetchall()
    counts = dict(rows)
    assert all(counts[f"host{n}"] == 2 * (20 + n) + 1 for n in range(1, HOSTS))
    # Its last page is cut off, and it has no other.
    said = sh(decoder, "stats", "--by", "host", "--json", "-s", fleet / "log.ko", damaged,
              status=(0, 1))  # fmt: skip
    left = sum(json.loads(line).get("records", 0) for line in said.splitlines() if line[0] == "{")
    assert counts.get("host0", 0) == left < 41


@pytest.fixture(scope="module")
def requests(fleet: Path) -> list[logs_service_pb2.ExportLogsServiceRequest]:
    """By OpenTelemetry's definitions, no field of which is unknown."""
    lines = (fleet / "otlp").read_text().splitlines()
    return [json_format.Parse(line, logs_service_pb2.ExportLogsServiceRequest()) for line in lines]


Requests = list[logs_service_pb2.ExportLogsServiceRequest]


def test_otlp_resources(requests: Requests) -> None:
    """Each host is one."""
    resources = [
        {a.key: a.value.string_value for a in logs.resource.attributes}
        for request in requests
        for logs in request.resource_logs
    ]
    assert sorted(r["host.name"] for r in resources) == [f"host{n}" for n in range(HOSTS)]
    assert all(r["os.type"] == "linux" and len(r["blog.boot_id"]) == 32 for r in resources)


def test_otlp_has_what_blog_decode_prints(
    fleet: Path, requests: Requests, decoder: Path, sh: Run
) -> None:
    """All messages with their times, places and arguments."""
    said = objects(decoder, sh, "--json", *inputs(fleet))
    wanted = Counter(
        (o["wall_ns"], o["message"], o["line"], o["pid"]) for o in said if o["type"] == "record"
    )
    got = Counter[Any]()
    lost = 0
    for request in requests:
        for logs in request.resource_logs:
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


NEWCOMER = TOP / "tools/blog-decode/tests/newcomer"
# What a field is called in the table "log".
COLUMNS = {"arg.op": "txt(args, 'op')", "arg.bytes": "num(args, 'bytes')::VARCHAR"}


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


@pytest.mark.parametrize("by", ["component,level", "comm", "context,arg.op", "line,arg.bytes"])
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


def test_the_first_rows_have_the_most(log: Log) -> None:
    said = [o["records"] for o in log.command("stats", "--by", "arg.sector", "-n", "5")]
    rows = log.ask(
        "SELECT count(*) AS c FROM log WHERE type = 'record' GROUP BY num(args, 'sector')"
        " ORDER BY c DESC LIMIT 5"
    )
    assert said == [n for (n,) in rows]


@pytest.mark.parametrize(
    ("condition", "sql"),
    [
        ("level <= warn", "level IN ('err', 'warn')"),
        (
            "arg.bytes >= 4k && arg.op == 'Read'",
            "num(args, 'bytes') >= 4096 AND txt(args, 'op') = 'Read'",
        ),
        (
            "!(comm == fio) || context == softirq",
            "comm IS DISTINCT FROM 'fio' OR context = 'softirq'",
        ),
        ("message =~ '^queue.*[02]$'", "regexp_matches(message, '^queue.*[02]$')"),
    ],
)
def test_conditions_choose_the_same(log: Log, condition: str, sql: str) -> None:
    """Counted by "show", "stats" and "sites"."""
    ((wanted,),) = log.ask(f"SELECT count(*) FROM log WHERE type = 'record' AND ({sql})")
    shown = log.run(log.decoder, "--count", "-w", condition, *log.words[1:], status=(0, 1))
    # If there is none, standard error says so.
    assert int(shown.splitlines()[0]) == wanted
    said = log.command("stats", "-w", condition)
    rows = log.ask(
        f"SELECT file, line, format, count(*) FROM log WHERE type = 'record' AND ({sql}) GROUP BY ALL"
    )
    got = {(o["by"]["file"], o["by"]["line"], o["by"]["format"]): o["records"] for o in said}
    assert got == {row[:3]: row[3] for row in rows}


def test_sites_have_their_records(log: Log) -> None:
    said = log.command("sites", "--used")
    rows = log.ask("SELECT file, line, count(*) FROM log WHERE type = 'record' GROUP BY ALL")
    assert sorted((o["file"], o["line"], o["records"]) for o in said) == sorted(rows)


@pytest.mark.parametrize(
    ("key", "columns"), [(["-k", "arg.tag"], "num(args, 'tag')"), ([], "pid, tgid")]
)
def test_spans_are_those_of_the_records(log: Log, key: list[str], columns: str) -> None:
    end = "complete" if key else "queue"
    said = log.command("spans", *key, "queue *", f"{end} *")
    of_all = next(o for o in said if o["type"] == "span-sum")
    matches = f"(message LIKE 'queue %' OR message LIKE '{end} %') AND [{columns}][1] IS NOT NULL"
    (row,) = log.ask(
        "WITH all_of_them AS (SELECT message, boot_ns - lag(boot_ns) OVER w AS ns, lag(message)"
        f" OVER w AS last FROM log WHERE type = 'record' AND {matches}"
        f" WINDOW w AS (PARTITION BY {columns} ORDER BY n)),"
        f" spans AS (SELECT ns FROM all_of_them WHERE message LIKE '{end} %' AND last LIKE 'queue %')"
        " SELECT count(*), max(ns), quantile_disc(ns, [0.5, 0.99]) FROM spans"
    )
    assert row[0] > 100
    assert (of_all["spans"], of_all["max_ns"]) == row[:2]
    for exact, name in zip(row[2], ("p50_ns", "p99_ns"), strict=True):
        assert exact <= of_all[name] <= exact + exact // 128


def test_silences_are_those_of_the_records(log: Log) -> None:
    said = [
        (o["ns"], o["key"]["pid"])
        for o in log.command("spans", "*", "*", "-n", "20")
        if o["type"] == "span"
    ]
    rows = log.ask(
        "WITH of_threads AS (SELECT pid, type, boot_ns - lag(boot_ns) OVER w AS ns, lag(type) OVER w"
        " AS last FROM log WHERE pid IS NOT NULL WINDOW w AS (PARTITION BY pid ORDER BY n))"
        " SELECT ns, pid FROM of_threads WHERE type = 'record' AND last = 'record' AND ns > 0"
        " ORDER BY ns DESC LIMIT 20"
    )
    assert said == rows


@pytest.mark.parametrize("name", ["log", "cut"])
def test_stats_are_those_of_the_records(request: pytest.FixtureRequest, name: str) -> None:
    """Also from when on nothing is missing: from the first record after the last loss of any ring."""
    log: Log = request.getfixturevalue(name)
    said = log.command("stats")
    rings = {
        (o["component"], o["ring"]): (o["records"], o["first_boot_ns"], o["last_boot_ns"])
        for o in said
        if o["type"] == "ring-sum" and o["records"]
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
    sums = {
        o["component"]: o["complete_from_boot_ns"] for o in said if o["type"] == "component-sum"
    }
    assert sums == {component: dict(wanted).get(component) for component in sums}
    assert bool(wanted) == (name == "cut")
    sites = {o["format"]: o["records"] for o in said if o["type"] == "site-sum"}
    assert sites == dict(
        log.ask("SELECT format, count(*) FROM log WHERE type = 'record' GROUP BY format")
    )


def test_tasks_agree_on_now(log: Log) -> None:
    """Whichever are shown; and each one's silence is since its last record."""
    now = set()
    for which in ([], ["--all"], ["--running"], ["-n", "1"]):
        head, *tasks = log.command("tasks", *which)
        now.add(head["boot_ns"])
        last: dict[int, int] = dict(
            log.ask("SELECT pid, max(boot_ns) FROM log WHERE type = 'record' GROUP BY pid")
        )
        for task in tasks:
            assert task["silent_ns"] == max(0, head["boot_ns"] - last[task["pid"]]), task["pid"]
    assert len(now) == 1


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
