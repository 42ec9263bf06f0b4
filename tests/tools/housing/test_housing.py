"""Figures of the code's structure: duplicate names, attributes set from outside, layers and cycles."""

from pathlib import Path

import pytest

from tools.housing import rooms, source

WIRED = """
class Parts:
    def __init__(self):
        self.mine = 1
        other = Other()
        other.told = self.tell
        self._join()

    def _join(self):
        self.router.inbox.released = self.release

    def later(self):
        self.router.is_calm = True
"""


def test_what_a_constructor_sets_at_others_is_found_also_by_way_of_a_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mesh" / "kernel").mkdir(parents=True)
    (tmp_path / "mesh" / "kernel" / "parts.py").write_text(WIRED)
    monkeypatch.setattr(source, "ROOT", tmp_path)
    assert source.set_later() == ["parts.py: other.told", "parts.py: self.router.inbox.released"]


def test_a_name_that_two_files_have_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, text in [
        ("mesh", "class Line: ...\nclass _Own: ..."),
        ("discovery", "Line = int | str\nclass _Own: ..."),
    ]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(text)
    monkeypatch.setattr(source, "ROOT", tmp_path)
    assert source.meanings() == {"Line": ["discovery/a.py", "mesh/a.py"]}


def test_what_mesh_sync_has_for_programs_without_a_loop_has_no_second_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, text in [
        ("mesh/client/a.py", "class Queue: ...\nclass Line: ..."),
        ("mesh/sync/a.py", "class Queue: ...\nclass Line: ...\nclass Work: ..."),
        ("mesh/kernel/a.py", "class Line: ...\nclass Work: ..."),
    ]:
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    monkeypatch.setattr(source, "ROOT", tmp_path)
    assert set(source.meanings()) == {"Line", "Work"}


def test_floors_are_the_longest_way_down_and_a_circle_has_none() -> None:
    assert rooms.floors({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == 3
    assert rooms.floors({"a": {"b"}, "b": {"a"}}) == 0


def test_the_house_has_rooms_without_a_circle() -> None:
    arrows = rooms.plan("mesh")
    assert "mesh.wire" in arrows["mesh.kernel"] and not arrows["mesh.shortening"]
    assert rooms.floors(arrows) > 1
