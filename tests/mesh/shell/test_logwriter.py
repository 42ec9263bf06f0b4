"""The log writer: no caller waits for a slow reader, and a line counts the lost lines."""

import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mesh.shell import logwriter
from mesh.shell.logs import Lines, write_to
from mesh.shell.logwriter import DROPPED, MOST, LogWriter
from tests.waiting import LIMIT, until

writers: list[LogWriter] = []  # writers of the running test


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    while writers:
        writers.pop().close()
    os.close(reader)
    os.close(writer)


def record(text: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("mesh.events", logging.INFO, "", 1, text, arguments, None)


def writer_to(descriptor: int) -> LogWriter:
    it = LogWriter(descriptor)
    it.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    writers.append(it)
    return it


def read_until(reader: int, end: bytes) -> bytes:
    found = bytearray()
    while not found.endswith(end):
        found += os.read(reader, 65536)
    return bytes(found)


def test_a_line_is_written_at_once_and_without_a_thread(pipe: tuple[int, int]) -> None:
    it = writer_to(pipe[1])
    it.handle(record("one"))
    assert os.read(pipe[0], 100) == b"INFO one\n" and it._thread is None
    it.handle(record("\ud800 %d", 2))
    assert os.read(pipe[0], 100) == b"INFO \\ud800 2\n"
    it.handle(record("%d", "no number"))
    assert b"cannot be formatted" in os.read(pipe[0], 200)


def test_a_full_pipe_holds_nobody_up_and_what_is_lost_is_counted_in_its_place(pipe: tuple[int, int]) -> None:
    it, many = writer_to(pipe[1]), 3000
    for n in range(many):
        it.handle(record(f"{n:05}" + "x" * 995))
    kept = (MOST + 1_000_000) // 1000
    assert it._dropped > 0 and it._bytes <= MOST
    lost = it._dropped
    lines = read_until(pipe[0], f"{DROPPED % lost}\n".encode()).splitlines()
    assert lines.pop() == f"WARNING {DROPPED % lost}".encode()
    assert [int(line[5:10]) for line in lines] == list(range(many - lost)) and many - lost <= kept
    it.close()
    it.handle(record("again"))
    assert read_until(pipe[0], b"again\n") == b"INFO again\n"


def test_a_line_longer_than_a_pipe_comes_whole_and_in_order(pipe: tuple[int, int]) -> None:
    it = writer_to(pipe[1])
    for text in ("before", "y" * 200_000, "after"):
        it.handle(record(text))
    assert read_until(pipe[0], b"after\n") == b"INFO before\nINFO %s\nINFO after\n" % (b"y" * 200_000)


def test_the_end_waits_a_moment_for_who_does_not_read(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logwriter, "END", 0.05)
    it = writer_to(pipe[1])
    for _ in range(100):
        it.handle(record("x" * 1000))
    it.close()
    assert it._bytes
    os.set_blocking(pipe[0], False)

    def is_drained() -> bool:  # keeps its thread off the next file
        with suppress(BlockingIOError):
            os.read(pipe[0], 200_000)
        return not it._bytes

    until(is_drained, LIMIT)


def test_a_closed_writer_ends_its_thread_and_writes_later_lines_all_the_same(pipe: tuple[int, int]) -> None:
    it = writer_to(pipe[1])
    for text in ("y" * 200_000, "z" * 200_000):
        it.handle(record(text))
    thread = it._thread
    assert thread is not None
    read_until(pipe[0], b"z\n")
    it.close()
    thread.join(LIMIT)
    assert not thread.is_alive() and it._thread is None
    it.handle(record("w" * 200_000))
    assert read_until(pipe[0], b"w\n") == b"INFO %s\n" % (b"w" * 200_000)


def test_where_nobody_reads_any_more_nothing_is_said() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    it = writer_to(writer)
    for _ in range(10):
        it.handle(record("x" * 1000))
    it.close()
    assert not it._bytes
    os.close(writer)


def test_all_that_is_logged_goes_to_the_file_of_a_stream(tmp_path: Path) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    with (tmp_path / "log").open("w") as stream:
        write_to(stream, Lines())
        try:
            logging.getLogger("mesh.node").error("here")
        finally:
            logging.basicConfig(handlers=before, force=True, level=level)
    assert "ERROR   mesh.node  here\n" in (tmp_path / "log").read_text()
