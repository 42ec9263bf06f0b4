"""The shared table: nodes that have received the same rows have the same table."""

from collections import Counter
from hashlib import blake2b
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import LocalError
from mesh.shared import table
from mesh.shared.row import SharedRow, packed, read, row_of
from mesh.shared.table import RowTable

A, B = b"a" * 16, b"b" * 16


def row(name: str = "x", stamp: int = 1, value: bytes = b"v", author: bytes = A) -> SharedRow:
    return SharedRow("weights", name, stamp, value, author, 1)


ROWS = st.lists(
    st.builds(
        row,
        st.sampled_from("xyz"),
        st.integers(0, 5),
        st.sampled_from([b"", b"v", b"w"]),
        st.sampled_from([A, B]),
    ),
    max_size=12,
)


def told(rows: list[SharedRow]) -> RowTable:
    found = RowTable("weights")
    for each in rows:
        if found.is_news(each):
            found.insert(each)
    return found


def values(found: RowTable) -> list[SharedRow]:
    return [each for each in found if each.value]


@given(ROWS, st.randoms())
def test_the_same_rows_in_whatever_order_make_the_same_table(rows: list[SharedRow], dice: Any) -> None:
    other = [*rows, *rows]
    dice.shuffle(other)
    one, two = told(rows), told(other)
    assert list(one) == list(two) and one.summary == two.summary


@given(ROWS, ROWS)
def test_tables_with_different_rows_have_different_summaries_and_deletions_make_no_difference(
    rows: list[SharedRow], others: list[SharedRow]
) -> None:
    one, two = told(rows), told(others)
    assert (one.summary.digest.strip(b"\0") == two.summary.digest.strip(b"\0")) == (
        values(one) == values(two)
    )
    assert one.summary.stamp == max((each.stamp for each in rows), default=0)


@given(ROWS)
def test_a_digest_that_follows_each_change_is_that_of_the_rows_that_are_there(rows: list[SharedRow]) -> None:
    changed = told(rows)
    afresh = told(values(changed))
    assert changed.summary.digest.strip(b"\0") == afresh.summary.digest.strip(b"\0")
    assert changed._bytes == afresh._bytes
    assert changed._places == sorted(each.place for each in changed._rows.values())
    assert len(changed._deleted) == len(changed) - len(values(changed))


def test_the_digest_of_one_row_is_that_of_earlier_releases() -> None:
    """Earlier releases compare the digests of rules and of weights, which are one row each."""
    text = b"1 7 x" + A + blake2b(b"v", digest_size=8).digest()
    assert told([row(stamp=7)]).summary.digest == blake2b(text, digest_size=8).digest()


@given(ROWS, st.integers(0, 3))
def test_whoever_is_told_from_place_to_place_has_all_of_them(rows: list[SharedRow], stop: int) -> None:
    whole, heard, place = told(rows), list[SharedRow](), (0, "")
    while part := list(whole.behind(*place))[: stop + 1]:
        heard += part
        place = part[-1].place
    assert heard == [each for each in whole if each.place > (0, "")]


def test_a_later_row_counts_and_of_two_of_one_moment_always_the_same() -> None:
    assert told([row(stamp=2), row(stamp=1, value=b"w")]).get_row("x") == row(stamp=2)
    assert told([row(author=A), row(author=B)]).get_row("x") == row(author=B)
    one, two = row(value=b"1"), row(value=b"2")
    assert told([one, two]).get_row("x") == told([two, one]).get_row("x")


def test_a_deletion_is_kept_and_an_older_value_does_not_come_back() -> None:
    found = told([row(stamp=2, value=b""), row(stamp=1)])
    assert found.get_row("x") == row(stamp=2, value=b"")


def test_deletions_take_no_room_and_the_newest_of_them_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "ROWS", 3)
    monkeypatch.setattr(table, "DELETIONS", 2)
    found = told([row("x"), row("y")])
    for stamp in range(2, 20, 2):
        assert found.has_room(row(f"n{stamp}", stamp))
        found.insert(row(f"n{stamp}", stamp))
        assert not found.has_room(row("z"))
        found.insert(row(f"n{stamp}", stamp + 1, b""))
        found.drop_deletions(0)
    assert [each.name for each in found] == ["x", "y", "n16", "n18"]
    assert found.is_over(row("n14", 15, b""), 0), "nor is it taken again"
    assert not found.is_over(row("n14", 15, b"v"), 0) and not found.is_over(row("n20", 21, b""), 0)
    assert not found.is_over(row("x", 15, b""), 0), "what is there is deleted, however late that is heard"


def test_a_deletion_is_forgotten_when_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    found = told([row("x", 5, b""), row("y", 6, b""), row("z", 1)])
    assert found.drop_deletions(table.KEPT + 4) == []
    assert found.drop_deletions(table.KEPT + 5) == ["x"] and found.get_row("x") is None
    assert found.is_over(row("x", 5, b""), table.KEPT + 5) and not found.is_over(row("x", 5, b""), table.KEPT)
    before = found.summary
    assert found.drop_deletions(2 * table.KEPT) == ["y"] and found.summary == before, (
        "others need not forget it now"
    )
    assert [each.name for each in found] == ["z"]


def test_a_change_of_one_row_of_many_hashes_that_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found, hashed = told([row(f"n{n}", n) for n in range(100)]), Counter[str]()
    monkeypatch.setattr(table, "_hash", lambda each, true=table._hash: (hashed.update("x"), true(each))[1])
    found.insert(row("n7", 200))
    assert found.summary.stamp == 200 and hashed["x"] == 2, "as it was, and as it is"


def test_there_is_room_for_so_many_and_always_for_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "ROWS", 2)
    monkeypatch.setattr(table, "BYTES", 100)
    found = told([row("x"), row("y")])
    assert not found.has_room(row("z"))
    assert found.has_room(row("x", 2, b"v" * 97)) and not found.has_room(row("x", 2, b"v" * 98))
    found.insert(row("x", 2, b"v" * 97))
    found.insert(row("x", 3, b"v"))
    assert found.has_room(row("y", 2, b"v" * 97))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "Weights"},
        {"kind": ""},
        {"name": "n" * 256},
        {"name": None},
        {"stamp": -1},
        {"stamp": 2**63},
        {"stamp": 1.5},
        {"value": b"v" * (240 * 1024 + 1)},
        {"value": "text"},
        {"author": b""},
        {"author": b"a" * 17},
        {"boot": -1},
        {"key": b"k" * 33},
        {"signature": b"s" * 65},
    ],
    ids=str,
)
def test_what_cannot_be_a_row_is_none(change: dict[str, Any]) -> None:
    fields = {**msgspec.structs.asdict(row()), **change}
    with pytest.raises(LocalError, match="A shared row cannot be read"):
        row_of(list(fields.values()))


@pytest.mark.parametrize("values", [None, 7, [], {}, ["weights"], b"x", "x", float("nan")])
def test_neither_is_anything_else(values: object) -> None:
    with pytest.raises(LocalError, match="A shared row cannot be read"):
        row_of(values)


def test_it_is_read_from_the_disk_as_it_was_written() -> None:
    assert read(packed(row())) == row()
    for damaged in (b"", b"\x91", packed(row())[:-1], packed(row()) + b"x", b"\xc1"):
        with pytest.raises(LocalError, match="A shared row cannot be read"):
            read(damaged)


def test_every_field_but_the_signature_is_signed() -> None:
    texts = {row().text}
    for change in (
        {"kind": "rules"},
        {"name": "y"},
        {"stamp": 2},
        {"value": b"w"},
        {"author": B},
        {"boot": 2},
        {"key": b"k"},
    ):
        texts.add(msgspec.structs.replace(row(), **change).text)
    assert len(texts) == 8
    assert msgspec.structs.replace(row(), signature=b"s").text == row().text


def test_a_deletion_that_was_forgotten_leaves_the_summary_although_it_was_the_only_row() -> None:
    found = told([row(stamp=7, value=b"")])
    before = found.summary
    assert found.drop_deletions(table.KEPT + 8) and not len(found)
    assert found.summary == before
