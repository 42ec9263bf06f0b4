"""Jobs as programs: killed at any moment, on executors without our code, and with a Java that is too old."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from mesh.history.cli import main
from mesh.history.ingest import ingest
from mesh.history.reading import history
from tests.pages import ROOT
from tests.spark.comparing import rows
from tests.spark.test_java import java
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(3600)]

SOON = 4.0  # s within which a started job is killed
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # small jobs spend most of their time compiling
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.sql.shuffle.partitions": "2",
}
CONF = [word for name, value in SETTINGS.items() for word in ("--conf", f"{name}={value}")]
# All jobs run in one driver: a second one, with its executor, would take half a minute of processor time.
JOBS = """
import json, runpy, sys
from pyspark.sql import SparkSession
SparkSession.stop = lambda session: None
program, *jobs = sys.argv[1:]
for job in map(json.loads, jobs):
    sys.argv = [program, *job]
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        assert not end.code, job
"""
NOTHING = {"PYTHONPATH": "/nowhere", "PYSPARK_PYTHON": "/nowhere/python"}  # executors find no Python


def generated(place: Path, *options: str) -> dict[str, Any]:
    """Write segments of a mesh to `place`, and return the summary of their contents."""
    command = [sys.executable, "-m", "tools.generate_snapshots", "--to", str(place), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=120)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_killed_at_any_moment_it_ends_with_the_table_of_an_undisturbed_run(
    session: SparkSession, tmp_path: Path
) -> None:
    truth = generated(tmp_path / "in", "--nodes", "5", "--lines", "6000", "--seed", "5")
    undisturbed = ingest(session, [str(tmp_path / "in")], str(tmp_path / "undisturbed"))
    assert undisturbed.rows == truth["all_rows"]
    chance, to = random.Random(5), tmp_path / "to"
    command = [
        sys.executable,
        "-m",
        "mesh.history",
        "ingest",
        "--from",
        str(tmp_path / "in"),
        "--to",
        str(to),
    ]
    job = subprocess.Popen([*command, *CONF], cwd=ROOT, start_new_session=True)
    until((to / "_lock").exists)
    try:
        job.wait(chance.uniform(0, SOON))
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)  # with its JVM
    job.wait()
    ingest(session, [str(tmp_path / "in")], str(to))
    assert rows(session, to) == rows(session, tmp_path / "undisturbed")


def test_executors_need_nothing_of_ours(session: SparkSession, tmp_path: Path) -> None:
    """The views of a report need no Python on executors: see tests/spark/report/test_collecting.py."""
    truth = generated(tmp_path / "in", "--nodes", "3", "--lines", "1000", "--seed", "5")
    to, out = tmp_path / "to", tmp_path / "weights.json"
    submit(
        tmp_path,
        ["ingest", "--from", str(tmp_path / "in"), "--to", str(to)],
        ["weights", "--to", str(to), "--out", str(out), "--since", "36500d"],
    )
    assert history(session, str(to)).where("kind <> 'quarantine'").count() == truth["all_rows"]
    assert len(json.loads(out.read_text())["weights"]) == 3


def submit(place: Path, *jobs: list[str]) -> None:
    """Run jobs with spark-submit and an executor in a JVM of its own, with 1 GB."""
    (place / "jobs.py").write_text(JOBS)
    settings = {f"spark.executorEnv.{name}": value for name, value in NOTHING.items()}
    settings |= {"spark.local.dir": str(place), "spark.driver.host": "127.0.0.1"}
    conf = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submitted = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local-cluster[1,1,1024]"]
    environ = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    environ.pop("PYTHONPATH", None)
    done = subprocess.run(
        [*submitted, *CONF, *conf, "jobs.py", str(ROOT / "spark" / "__main__.py"), *map(json.dumps, jobs)],
        cwd=place,
        env=environ,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_with_too_old_a_java_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mesh.history.java.find_spec", lambda name: None)
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "old", "11.0.22")))
    programs = tmp_path / "bin"  # no other Java is here
    programs.mkdir()
    (programs / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", str(programs))
    for job in ("ingest", "report"):
        assert main([job, "--from", str(tmp_path), "--to", str(tmp_path / "to")]) == 2
        assert "is version 11, which is too old. [OLD_JAVA]" in capsys.readouterr().err
