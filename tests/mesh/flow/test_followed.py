"""The rows of tables that this node follows at other nodes."""

from mesh.flow.followed import Followed

X = ("address", "x")


def test_rows_are_absolute_and_go_with_their_node() -> None:
    rows, one, other = Followed[tuple[str, str]]("service"), b"1" * 16, b"2" * 16
    assert rows.record(one, X, 3) == 3 and rows.record(one, X, 3) is None
    assert rows.record(one, X, 1) == -2 and rows.record(other, X, 2) == 2
    assert rows.servers(X) == {one: 1, other: 2}
    assert rows.remove_node(one) == [(X, 1)] and rows.remove_node(one) == []
    assert rows.servers(X) == {other: 2}
    assert rows.record(other, X, 0) == -2 and not list(rows.names())


def test_nothing_is_left_of_notes_that_are_gone() -> None:
    rows, one, other = Followed[tuple[str, str]]("service"), b"1" * 16, b"2" * 16
    assert rows.record(one, X, 1, b"a") == 1 and rows.record(other, X, 2) == 2
    assert rows.record(one, X, 1, b"a") is None
    assert rows.record(one, X, 1, b"b") == 0 and rows.notes(X) == {one: b"b"}
    assert rows.record(one, X, 1) == 0 and rows.notes(X) == {}
    rows.record(one, X, 1, b"c")
    assert rows.record(one, X, 0, b"d") == -1 and rows.record(one, X, 0, b"d") is None
    rows.record(one, X, 1, b"e")
    rows.remove_node(one)
    rows.record(one, X, 1, b"f")
    rows.drop_names([X])
    assert not rows._notes and not rows._rows and not rows._of
