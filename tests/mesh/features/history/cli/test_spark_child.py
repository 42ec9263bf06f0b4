"""Spark jobs that a command starts: their arguments, signals and exit codes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mesh.features.history.cli import spark_child
from tests.mesh.running import LIMIT

# The program handles SIGTERM as main.py does, so that every `finally` runs. The job is a script instead of
# Python.
STARTER = """
import signal, sys
from mesh.features.history.cli import spark_child
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
sys.executable = sys.argv[1]
sys.exit(spark_child.run("ingest", sys.argv[2:]))
"""
STAYS = "echo ready; while :; do sleep 0.05; done"

Child = subprocess.Popen[str]


@pytest.fixture
def children() -> Iterator[list[Child]]:
    """Yield a list for started processes, and kill those that are left."""
    started: list[Child] = []
    yield started
    for child in started:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate(timeout=LIMIT)


def start(children: list[Child], place: Path, job: str, *arguments: str) -> Child:
    script = place / "python"
    script.write_text(f"#!/bin/sh\n{job}\n")
    script.chmod(0o700)
    child = subprocess.Popen(
        [sys.executable, "-c", STARTER, script, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    children.append(child)
    return child


def ready(child: Child) -> None:
    assert child.stdout is not None and child.stdout.readline() == "ready\n"


def test_it_gets_what_was_typed_and_its_exit_code_is_that_of_the_command(
    children: list[Child], tmp_path: Path
) -> None:
    child = start(children, tmp_path, 'printf "%s\\n" "$@"; exit 7', "--from", "a b", "--", "")
    said, _ = child.communicate(timeout=LIMIT)
    assert said.splitlines() == ["-P", "-m", "mesh.history", "ingest", "--from", "a b", "--", ""]
    assert child.returncode == 7


def test_that_a_signal_ended_it_shows_in_the_exit_code(children: list[Child], tmp_path: Path) -> None:
    child = start(children, tmp_path, "kill -9 $$")
    assert child.wait(LIMIT) == 128 + 9


def test_ctrl_c_is_for_the_job_which_ends_in_its_own_time(children: list[Child], tmp_path: Path) -> None:
    saving = f"echo told; while [ ! -e {tmp_path}/may_end ]; do sleep 0.05; done; echo saved; exit 5"
    child = start(children, tmp_path, f"trap '{saving}' INT; {STAYS}")
    ready(child)
    os.killpg(child.pid, signal.SIGINT)
    assert child.stdout is not None and child.stdout.readline() == "told\n"
    (tmp_path / "may_end").touch()
    said, _ = child.communicate(timeout=LIMIT)
    assert (said, child.returncode) == ("saved\n", 5)


@pytest.mark.parametrize("moment", ["before anybody holds it", "as soon as signals are heard again"])
def test_a_job_that_is_just_starting_when_the_command_is_ended_is_ended_too(
    moment: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jobs: list[Child] = []
    set_handler = signal.signal

    class Slow(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[call-overload]
            jobs.append(self)
            if moment == "before anybody holds it":
                signal.raise_signal(signal.SIGTERM)

    def setting(number: int, handler: Any) -> Any:
        was = set_handler(number, handler)
        if moment != "before anybody holds it" and jobs and handler is ending:
            monkeypatch.setattr(signal, "signal", set_handler)
            signal.raise_signal(signal.SIGTERM)
        return was

    def ending(number: int, _: object) -> None:
        sys.exit(128 + number)

    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\n{STAYS} > /dev/null\n")
    script.chmod(0o700)
    before = signal.signal(signal.SIGTERM, ending)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(subprocess, "Popen", Slow)
    monkeypatch.setattr(signal, "signal", setting)
    try:
        with pytest.raises(SystemExit):
            spark_child.run("ingest", [])
    finally:
        set_handler(signal.SIGTERM, before)
    try:
        assert jobs[0].wait(LIMIT) == -signal.SIGTERM
    finally:
        jobs[0].kill()


def test_when_the_command_is_ended_the_job_is_too(children: list[Child], tmp_path: Path) -> None:
    child = start(children, tmp_path, f"trap 'echo told; exit 0' TERM; {STAYS}")
    ready(child)
    child.send_signal(signal.SIGTERM)
    said, _ = child.communicate(timeout=LIMIT)  # ends when no process holds its stdout
    assert (said, child.returncode) == ("told\n", 128 + signal.SIGTERM)
