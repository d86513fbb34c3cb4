# SPDX-License-Identifier: GPL-2.0
"""A fleet on a cluster: the job of fleet.rst decodes 10,000 snapshots of 200 machines by Spark, with
a master and workers that are processes of their own. One worker is killed meanwhile, and one
snapshot is damaged. The answers are those of "blog-decode stats" and "spans"."""

import json
import os
import re
import signal
import subprocess
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import CACHE, TOP, Run, biglog

HOSTS, SNAPSHOTS = 200, 10_000
DAMAGED = "host7-3.snap"
PORT = 17077
SPARK = CACHE / "tools/spark/bin"

QUERIES = """
SELECT host, file, line, format, count(*) AS records FROM log
WHERE kind = 'record' GROUP BY host, file, line, format;
SELECT a.host, count(*) AS spans, min(b.ns - a.ns) AS min_ns, max(b.ns - a.ns) AS max_ns FROM
(SELECT host, boot, arguments['sector'] AS sector, time AS ns FROM log
 WHERE message LIKE 'read 0 %') a JOIN
(SELECT host, boot, arguments['sector'] AS sector, time AS ns FROM log
 WHERE message LIKE 'read 1 %') b
ON a.host = b.host AND a.boot = b.boot AND a.sector = b.sector GROUP BY a.host
"""


class Cluster:
    """A master and two workers, of one CPU each."""

    def __init__(self, work: Path, path: str) -> None:
        self.work = work
        self.environment = os.environ | {
            "PATH": path,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": str(SPARK / "python"),
            "SPARK_WORKER_DIR": str(work / "workers"),
        }
        self.master = f"spark://127.0.0.1:{PORT}"
        listen = ["--host", "127.0.0.1", "--webui-port", "0"]
        self.processes = [
            self._start("master.Master", *listen, "--port", str(PORT)),
            *(
                self._start("worker.Worker", *listen, "-c", "1", "-m", "1g", self.master)
                for _ in range(2)
            ),
        ]

    def _start(self, name: str, *args: str) -> subprocess.Popen[bytes]:
        with (self.work / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [SPARK / "spark-class", f"org.apache.spark.deploy.{name}", *args],
                env=self.environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def submit(self, *args: Path | str) -> subprocess.Popen[str]:
        start = time.monotonic()
        while (self.work / "master.Master.log").read_text().count("Registering worker") < 2:
            assert time.monotonic() - start < 100, "the workers don't come"
            time.sleep(0.1)
        # It begins when both are there.
        options = ["--master", self.master, "--conf", "spark.ui.enabled=false",
                   "--conf", "spark.driver.host=127.0.0.1", "--total-executor-cores", "2",
                   "--conf", "spark.scheduler.minRegisteredResourcesRatio=1"]  # fmt: skip
        return subprocess.Popen(
            [SPARK / "spark-submit", *options, *args], env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=(self.work / "job.log").open("w"),
            start_new_session=True,
        )  # fmt: skip

    def kill(self, process: subprocess.Popen[Any]) -> None:
        """It and all its children, at once."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                self.kill(process)


class Done:
    """The job's output, and how many tasks were done when a worker was killed."""

    def __init__(self, rows: list[dict[str, Any]], log: str, before: int, seconds: float) -> None:
        self.rows, self.log, self.before, self.seconds = rows, log, before, seconds


@pytest.fixture(scope="module")
def snapshots(work: Path) -> Path:
    """The folder with all of them, and log.ko."""
    folder = work / "snapshots"
    folder.mkdir()
    biglog("fleet", SNAPSHOTS, HOSTS, folder)
    damaged = folder / DAMAGED
    content = damaged.read_bytes()
    damaged.unlink()
    damaged.write_bytes(content[:-100])
    return folder


@pytest.fixture(scope="module")
def done(work: Path, snapshots: Path, decoder: Path) -> Iterator[Done]:
    if not (SPARK / "spark-submit").exists():
        pytest.fail("no Spark: scripts/setup --deep installs it")
    page = (TOP / "Documentation/blog/fleet.rst").read_text()
    found = re.search(r"code-block:: python\n\n((?:  .*\n|\n)+)", page)
    assert found
    job, tables, queries = work / "job.py", work / "tables", work / "queries.sql"
    job.write_text(textwrap.dedent(found[1]))
    queries.write_text(QUERIES)
    tables.mkdir()
    cluster = Cluster(work, f"{decoder.parent}:{os.environ['PATH']}")
    try:
        start = time.monotonic()
        running = cluster.submit(job, snapshots, snapshots / "log.ko", tables, queries)
        before = 0
        while before < 20:
            assert running.poll() is None, (work / "job.log").read_text()
            assert time.monotonic() - start < 200, "no task is done"
            time.sleep(0.1)
            before = len([*tables.glob("job=*")])
        cluster.kill(cluster.processes[1])
        said, _ = running.communicate(timeout=600)
        seconds = time.monotonic() - start
        log = (work / "job.log").read_text()
        assert running.returncode == 0, log
        print(f"{SNAPSHOTS} snapshots by Spark: {seconds:.0f} s")
        # Spark puts the errors of Python there, too.
        rows = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        yield Done(rows, log + said, before, seconds)
    finally:
        cluster.end()


def objects(decoder: Path, sh: Run, snapshots: Path, *args: str) -> list[dict[str, Any]]:
    """blog-decode's results for all of them, one machine at a time."""
    said = []
    for host in range(HOSTS):
        files = [snapshots / f"host{host}.snap", *snapshots.glob(f"host{host}-*.snap")]
        status = (0, 1) if host == 7 else (0,)
        said += sh(decoder, *args, "--json", "-s", snapshots / "log.ko", *sorted(files),
                   status=status).splitlines()  # fmt: skip
    return [json.loads(line) for line in said if line.startswith("{")]


def test_counts(done: Done, snapshots: Path, decoder: Path, sh: Run) -> None:
    """By machine and call site."""
    said = objects(decoder, sh, snapshots, "stats", "--by", "host,file,line,format")
    wanted = {
        (o["by"]["host"], o["by"]["file"], int(o["by"]["line"]), o["by"]["format"]): o["records"]
        for o in said
    }
    got = {
        (r["host"], r["file"], r["line"], r["format"]): r["records"]
        for r in done.rows
        if "records" in r
    }
    assert got == wanted
    assert len({host for host, *_ in got}) == HOSTS
    assert sum(got.values()) > 90 * SNAPSHOTS


def test_latencies(done: Done, snapshots: Path, decoder: Path, sh: Run) -> None:
    said = objects(decoder, sh, snapshots, "spans", "-k", "boot_id", "-k", "arg.sector", "-n",
                   "1000000", "read 0 *", "read 1 *")  # fmt: skip
    lengths: dict[str, list[int]] = {}
    for o in said:
        if o["type"] == "span":
            lengths.setdefault(o["start"]["host"], []).append(o["ns"])
    wanted = {host: (len(all_of), min(all_of), max(all_of)) for host, all_of in lengths.items()}
    got = {r["host"]: (r["spans"], r["min_ns"], r["max_ns"]) for r in done.rows if "spans" in r}
    assert got == wanted
    assert len(got) == HOSTS


def test_a_worker_that_dies_is_made_up_for(done: Done) -> None:
    """It was in the middle of it, and Spark has noticed."""
    assert 20 <= done.before < SNAPSHOTS / 50
    assert re.search(r"Lost executor|worker lost|Executor.*lost", done.log), done.log


def test_a_damaged_snapshot_is_told(done: Done) -> None:
    """In one task, and it ends nothing."""
    told = re.findall(r"^\S+/job=\S+: status 1: .*", done.log, re.MULTILINE)
    assert len(told) == 1
    assert DAMAGED in done.log
