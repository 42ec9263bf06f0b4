"""Where do benchmarks work when they are tested, and how long do simulated stories end?"""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.simulator.stage import ending


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a benchmark works; nothing may stay there. It takes the signals for itself meanwhile."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with tempfile.TemporaryDirectory(prefix="b-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        assert list(Path(folder).iterdir()) == []
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody is cut off there is nobody whom a simulated story must wait for in the end."""
    monkeypatch.setattr(ending, "SETTLED", 0.0)
    monkeypatch.setattr(ending, "DRAIN", 1.0)
