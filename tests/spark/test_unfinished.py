"""Segments that were read before they were complete are read again."""

import pytest

from mesh.history.unfinished import FRESH, PATIENCE, QUIET, Read, Unfinished

NOW = 1_767_268_800.0
OLD = NOW - FRESH - 1


def one(path: str = "a", size: int = 5, changed: float = NOW, torn: bool = False) -> Read:
    return Read(path, size, changed, torn)


def after(*reads: Read) -> Unfinished:
    known = Unfinished()
    known.record_read(reads, NOW)
    return known


@pytest.mark.parametrize(
    ("read", "may_grow"),
    [
        (one(), True),
        (one(changed=OLD), False),
        (one(changed=OLD, torn=True), True),
        (one(changed=NOW + 1e9), True),  # the clock of the writer is wrong
    ],
)
def test_what_was_changed_lately_or_is_torn_may_grow(read: Read, may_grow: bool) -> None:
    assert bool(after(read).open) == may_grow


def test_what_has_another_size_is_read_again_whichever() -> None:
    known = after(one("more", 5), one("less", 5), one("same", 5))
    assert known.look({"more": 6, "less": 4, "same": 5}, NOW + 1) == ["more", "less"]


def test_what_keeps_its_size_for_a_while_is_whole_and_what_is_gone_is_forgotten() -> None:
    known = after(one("whole"), one("gone"), one("torn", torn=True))
    assert known.look({"whole": 5, "gone": None, "torn": 5}, NOW + QUIET / 2) == []
    assert known.open.keys() == {"whole", "torn"}
    assert known.look({"whole": 5, "torn": 5}, NOW + QUIET + 1) == []
    assert known.open.keys() == {"torn"}


def test_a_torn_end_is_waited_for_and_not_for_ever() -> None:
    known = after(one(torn=True))
    assert known.look({"a": 5}, NOW + PATIENCE) == []
    assert known.look({"a": 5}, NOW + PATIENCE + 1) == ["a"]
    known.record_read([one(changed=NOW)], NOW + PATIENCE + 1)  # its torn end has now counted as a bad line
    assert known.open == {}


def test_what_grew_and_was_read_again_is_looked_at_for_as_long_again() -> None:
    known = after(one())
    known.record_read([one(size=9)], NOW + 50)
    assert known.look({"a": 9}, NOW + QUIET + 1) == []
    assert known.open.keys() == {"a"}


@pytest.mark.parametrize(
    "text", [None, "", "{damaged", "[]", '{"a": 5}', '{"a": [1, 2]}', '{"a": [1, "x", 0]}']
)
def test_a_file_that_is_damaged_counts_for_nothing(text: str | None) -> None:
    assert Unfinished(text).open == {}


def test_what_is_written_down_is_read() -> None:
    known = after(one("a"), one("b", torn=True))
    assert Unfinished(known.encode()).open == known.open
