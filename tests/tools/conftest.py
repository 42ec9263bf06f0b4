"""Where do benchmarks work when they are tested?"""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


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
