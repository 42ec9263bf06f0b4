"""Fixtures for tests of sockets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mesh.running import state_directory


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory for socket files, whose path is short enough for them wherever TMPDIR is."""
    with state_directory() as state:
        yield state
