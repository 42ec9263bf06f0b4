"""A directory in memory is used only where it has room, and programs may be run in it."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.running.scratch import ROOM, memory_directory


def test_a_directory_in_memory_needs_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = SimpleNamespace(f_bavail=ROOM + 1, f_frsize=1, f_flag=0)
    monkeypatch.setattr("os.statvfs", lambda place: state)
    assert memory_directory(place=tmp_path) == tmp_path
    assert memory_directory(2 * ROOM, tmp_path) is None
    state.f_bavail = ROOM
    assert memory_directory(place=tmp_path) is None
    state.f_bavail, state.f_flag = ROOM + 1, os.ST_NOEXEC
    assert memory_directory(place=tmp_path) == tmp_path
    assert memory_directory(place=tmp_path, has_programs=True) is None
    assert memory_directory(place=tmp_path / "none") is None
