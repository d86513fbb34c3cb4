# SPDX-License-Identifier: GPL-2.0
"""What "blog-decode convert" writes for those who have many machines, read by what they run.

Parquet is read by DuckDB and by DataFusion, whose answers are those of "blog-decode count" and
"spans"; OTLP by OpenTelemetry's own definitions. From snapshots of four machines; on each, a span
is a microsecond longer than on the one before.
"""

import json
import os
import re
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datafusion
import duckdb
import pytest
from conftest import TOP, Run
from google.protobuf import json_format  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2

TESTS = 14
SECONDS = 10

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
    sh("cargo", "test", "--quiet", "--offline", "--locked", "--test", "biglog",
       "--manifest-path", TOP / "tools/blog-decode/Cargo.toml",
       env=os.environ | {"BLOG_FLEET": f"{HOSTS} {HOSTS} {work}"})  # fmt: skip
    dmesg = work / "dmesg"
    dmesg.write_text(f"[{HUNG:12.6f}] INFO: task fio:1000 blocked for more than 122 seconds.\n")
    for form, log in (("parquet", ["--dmesg", f"host1={dmesg}"]), ("otlp", [])):
        sh(decoder, "convert", "--to", form, "-o", work / form, *log, *inputs(work))
    return work


def inputs(fleet: Path) -> list[Path | str]:
    return ["-s", fleet / "log.ko", *sorted(fleet.glob("host*.snap"))]


def duck(fleet: Path) -> Ask:
    connection = duckdb.connect()
    connection.execute(
        "CREATE VIEW log AS SELECT *, arguments['sector'] AS sector, epoch_ns(time) AS ns FROM"
        " read_parquet("
        f"'{fleet}/parquet/**/*.parquet', hive_partitioning = true,"
        " hive_types = {'host': VARCHAR, 'boot': VARCHAR, 'date': DATE})"
    )
    return lambda query: connection.execute(query).fetchall()


def fusion(fleet: Path) -> Ask:
    context = datafusion.SessionContext()
    context.sql(
        "CREATE EXTERNAL TABLE files STORED AS PARQUET PARTITIONED BY (date, host, boot)"
        f" LOCATION '{fleet}/parquet/'"
    )
    context.sql(
        "CREATE VIEW log AS SELECT *, map_extract(arguments, 'sector')[1] AS sector,"
        " CAST(time AS BIGINT) AS ns FROM files"
    )
    return lambda query: [
        tuple(row.values()) for batch in context.sql(query).collect() for row in batch.to_pylist()
    ]


@pytest.fixture(scope="module", params=[duck, fusion], ids=["duckdb", "datafusion"])
def ask(request: pytest.FixtureRequest, fleet: Path) -> Ask:
    """An engine, with a view "log" in which the sector is a column of its own."""
    engine: Callable[[Path], Ask] = request.param
    return engine(fleet)


def objects(decoder: Path, sh: Run, *args: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in sh(decoder, *args).splitlines()]


def test_partitions(fleet: Path) -> None:
    """By date, host and boot; each host has its own of each, and a date is of two hosts."""
    parts = [part.relative_to(fleet / "parquet").parts for part in fleet.rglob("*.parquet")]
    assert all([p.split("=")[0] for p in part[:3]] == ["date", "host", "boot"] for part in parts)
    assert len({part[1] for part in parts}) == len({part[2] for part in parts}) == HOSTS
    assert len({part[0] for part in parts}) < HOSTS


def test_counts_by_site(fleet: Path, decoder: Path, sh: Run, ask: Ask) -> None:
    """The sites with the most records are those of "count"."""
    said = objects(decoder, sh, "count", "--by", "host,file,line,format", "--json", *inputs(fleet))
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
    said = objects(decoder, sh, "spans", "-k", "arg.sector", "--by", "host", "--json",
                   "read 0 *", "read 1 *", *inputs(fleet))  # fmt: skip
    wanted = {
        o["by"]: (o["spans"], o["min_ns"], o["max_ns"])
        for o in said
        if o["type"] == "span-sum" and o["by"]
    }
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
    """They are such as DuckDB takes, and find what is there."""
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
    assert sorted(latencies) == [(f"host{n}", 20 + n, (n + 1) * 1000) for n in range(HOSTS)]
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
    """It is not fatal: the others are whole, and of it what can be read."""
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
    said = sh(decoder, "count", "--json", "-s", fleet / "log.ko", damaged, status=(0, 1))
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
