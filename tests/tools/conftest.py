"""Fixtures for tests of benchmarks and of simulation runs."""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.simulator.stage import ending


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Create the directory where a benchmark works, which must be empty at the end.

    A benchmark sets signal handlers. The former ones are restored.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with tempfile.TemporaryDirectory(prefix="b-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        assert list(Path(folder).iterdir()) == []
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits at the end of a simulation run, which only cut-off nodes need."""
    monkeypatch.setattr(ending, "SETTLED", 0.0)
    monkeypatch.setattr(ending, "DRAIN", 1.0)
