"""Fixtures for tests of sockets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.transport import guard
from tests.mesh.running import state_directory


@pytest.fixture
def directory() -> Iterator[Path]:
    """Create a directory for socket files, whose path is short enough wherever TMPDIR is."""
    with state_directory() as state:
        yield state


@pytest.fixture
def without_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give connections a day for their HELLO, which most tests never send."""
    monkeypatch.setattr(guard, "HELLO_WITHIN", 86_400.0)
