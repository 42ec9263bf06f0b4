"""Commands of `mesh reply --exec`: they get the content, and their end becomes a reply or an error code."""

import asyncio
import os
import sys
import time

from mesh.cli.running import CommandEnd, run


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


def test_a_command_that_takes_too_long_is_killed_with_all_that_it_has_started() -> None:
    start = time.monotonic()
    assert ran("sh", "-c", "sleep 60 | sleep 60", limit=0.3).code == "TIMED_OUT"
    assert time.monotonic() - start < 20


def test_a_command_that_writes_without_end_is_killed() -> None:
    assert ran("yes").code == "TOO_LARGE"
