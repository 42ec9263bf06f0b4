"""Commands of `mesh reply --exec`: they get the content, and their end becomes a reply or an error code."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from mesh.cli import running
from mesh.cli.running import CommandEnd, run
from tests.mesh.running import until


def ran(*command: str, content: bytes = b"", limit: float = 20.0) -> CommandEnd:
    return asyncio.run(run(command, content, limit, dict(os.environ)))


def python(program: str, content: bytes = b"", limit: float = 20.0) -> CommandEnd:
    return ran(sys.executable, "-c", program, content=content, limit=limit)


def test_a_command_is_given_the_content_and_says_the_reply() -> None:
    content = bytes(range(256)) * 4096
    assert ran("cat", content=content) == CommandEnd(content)
    assert ran("true", content=content) == CommandEnd(), "it need not read"


def test_a_command_that_fails_says_why() -> None:
    assert ran("sh", "-c", "echo no >&2; exit 3") == CommandEnd(code="EXIT_3", text="no")
    assert ran("sh", "-c", "kill -9 $$").code == "SIGNAL_9"
    assert ran("/nowhere").code == "CANNOT_RUN"
    long = python("import sys; sys.stderr.write('x' * 100_000 + 'end'); sys.exit(1)")
    assert (len(long.text), long.text[-3:]) == (1000, "end")


def test_a_command_that_takes_too_long_is_killed_with_all_that_it_has_started(tmp_path: Path) -> None:
    """A pipe ends when the last process that holds it open is gone."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = ("sh", "-c", f"echo >{pipe}; sleep 600 >{pipe} | sleep 600")
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as end:
        limit = 0.2
        while True:  # until the command had time to begin
            assert ran(*command, limit=limit).code == "TIMED_OUT"
            if end.read(100):
                break
            limit *= 2
        until(lambda: end.read(100) == b"")


def test_a_command_that_writes_without_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MAX_CONTENT_EVER", 1_000_000)
    assert ran("yes").code == "TOO_LARGE"
