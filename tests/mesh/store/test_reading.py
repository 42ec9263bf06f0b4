"""Reads of single positions, and of all envelopes in turn, from every kind of store."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import StoreError
from mesh.features.postgres.store import PostgresStore
from mesh.operations import BOOT, Append, Drop, Rewrite, Span
from mesh.shell.crashpoints import CrashPoint
from mesh.store.base import Store, Untended, begin
from mesh.store.integrity import checksum, envelope_checksum
from mesh.store.opening import open_store
from mesh.store.sqlite import SQLiteStore

NOWHERE = [0, -1, 4, 2**62, 2**63, 2**64, -(2**63) - 1]
on_disk = pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)


def filled(store: Store, count: int) -> Store:
    store.commit([Append(i, b"head %d" % i, b"body %d" % i) for i in range(1, count + 1)])
    return store


def numbers(store: Store, positions: list[int]) -> list[int]:
    """Return the positions found, and check that each envelope is the one written there."""
    found = store.read(positions)
    assert all((header, body) == (b"head %d" % i, b"body %d" % i) for i, header, body in found)
    return [position for position, _, _ in found]


def damaged(store: Store, statement: str) -> None:
    """Change the contents of an open store without its knowledge."""
    if isinstance(store, SQLiteStore):
        store._db.execute(statement)
    else:
        assert isinstance(store, PostgresStore)
        for word in ("FROM ", "UPDATE "):
            statement = statement.replace(word, f"{word}heronry.")
        store._connection.execute(statement + f" AND owner = '{store._owner}'")


def loss(read: object) -> str:
    with pytest.raises(StoreError) as found:
        read()  # type: ignore[operator]
    assert found.value.code == "DATA_LOSS"
    return str(found.value)


def test_they_come_in_order_and_once_whatever_the_order_in_which_they_are_named(store: Store) -> None:
    filled(store, 9)
    assert numbers(store, [7, 2, 3, 7, 9]) == [2, 3, 7, 9]
    assert store.read([]) == []


def test_a_span_holds_the_first_envelopes_of_its_range(store: Store) -> None:
    filled(store, 9)
    store.commit([Drop((2, 3, 5))])
    store.commit([Append(3 * BOOT, b"later", b"boot")])
    spans = [(1, 9, 99), (2, 9, 3), (4, 4, 1), (5, 5, 1), (8, 4 * BOOT, 9), (3 * BOOT, 2**62, 1)]
    found = [[position for position, _, _ in store.read(Span(*span))] for span in spans]
    assert found == [[1, 4, 6, 7, 8, 9], [4, 6, 7], [4], [], [8, 9, 3 * BOOT], [3 * BOOT]]


@pytest.mark.parametrize("span", [(5, 4, 9), (0, 0, 9), (-3, -1, 9), (1, 3, 0), (1, 3, -1), (10, 2**63, 5)])
def test_an_empty_span_reads_nothing(store: Store, span: tuple[int, int, int]) -> None:
    assert filled(store, 3).read(Span(*span)) == []


@on_disk
def test_a_span_notices_damage_and_a_row_that_vanished(store: Store) -> None:
    filled(store, 9)
    damaged(store, "DELETE FROM envelope WHERE position = 4")
    assert "missing: envelope 4" in loss(lambda: store.read(Span(3, 9, 4)))


@pytest.mark.parametrize("position", NOWHERE)
def test_where_nothing_can_stand_nothing_is_read(store: Store, position: int) -> None:
    filled(store, 3)
    assert numbers(store, [position, 2]) == [2]


def test_what_was_dropped_is_left_out_and_what_was_rewritten_is_as_it_is_now(store: Store) -> None:
    filled(store, 9)
    store.commit([Drop((2, 3, 5)), Rewrite(7, b"small", b"er")])
    assert numbers(store, [1, 2, 3, 4, 5]) == [1, 4]
    assert store.read([3, 5]) == []
    assert store.read([7]) == [(7, b"small", b"er")]
    store.commit([Drop((1, 4, 6, 7, 8, 9))])
    assert store.read(range(1, 10)) == []


def test_those_of_two_boots_are_read_together(store: Store) -> None:
    filled(store, 2)
    position = begin(store, 3).next_position
    store.commit([Append(position, b"head %d" % position, b"body %d" % position)])
    assert numbers(store, [position, 3, 1, 2 * BOOT]) == [1, position]


def test_more_than_a_statement_can_name(store: Store) -> None:
    """Every second position is read, so that no two of them form a range."""
    filled(store, 4_000)
    assert numbers(store, list(range(4_000, 0, -2))) == list(range(2, 4_001, 2))
    store.commit([Drop(tuple(range(1, 4_000, 4)))])
    assert len(numbers(store, list(range(1, 4_001, 2)))) == 1_000


def test_all_can_be_gone_through_again_and_again_and_given_up_in_between(store: Store) -> None:
    filled(store, 200)
    envelopes = store.load().envelopes
    assert next(iter(envelopes)) == (1, b"head 1", b"body 1")
    assert [position for position, _, _ in envelopes] == list(range(1, 201))
    store.commit([Drop((1,))])
    assert len(list(store.load().envelopes)) == 199


def test_a_closed_store_is_not_read(store: Store) -> None:
    filled(store, 3).close()
    with pytest.raises(StoreError, match="closed"):
        store.read([1])


@on_disk
def test_nor_gone_through(store: Store) -> None:
    envelopes = filled(store, 3).load().envelopes
    store.close()
    with pytest.raises(StoreError, match="closed"):
        list(envelopes)


DAMAGES = {
    "UPDATE envelope SET body = '' WHERE position = 7": "envelope 7 is damaged",
    "UPDATE envelope SET header = NULL WHERE position = 7": "envelope 7 is damaged",
    "DELETE FROM envelope WHERE position = 7": "missing: envelope 7",
    "DELETE FROM envelope WHERE position IN (6, 7)": "missing: envelopes 6..7",
    "UPDATE dropped SET last = 5 WHERE first = 3": "dropped positions from 3 on is damaged",
    "DELETE FROM dropped WHERE first = 3": "missing: envelopes 3..4",
}


@on_disk
@pytest.mark.parametrize("statement", DAMAGES)
def test_damage_is_named_and_the_store_is_at_its_end(store: Store, statement: str) -> None:
    filled(store, 20).commit([Drop((3, 4))])
    damaged(store, statement)
    assert DAMAGES[statement] in loss(lambda: store.read(range(1, 15)))
    with pytest.raises(StoreError):
        store.commit([Append(21, b"", b"")])


@on_disk
def test_damage_elsewhere_is_not_what_was_asked(store: Store) -> None:
    damaged(filled(store, 20), "DELETE FROM envelope WHERE position = 7")
    assert numbers(store, [6, 8]) == [6, 8]


@on_disk
def test_damage_that_comes_while_all_are_gone_through_is_found(store: Store) -> None:
    envelopes = filled(store, 20).load().envelopes
    damaged(store, "UPDATE envelope SET body = '' WHERE position = 7")
    assert "envelope 7 is damaged" in loss(lambda: list(envelopes))


@on_disk
def test_envelopes_are_read_in_pieces_as_they_are_gone_through(store: Store) -> None:
    """Damage that was done after the first read is found, so the envelopes are not all in memory."""
    count = 4_000
    envelopes = iter(filled(store, count).load().envelopes)
    assert next(envelopes) == (1, b"head 1", b"body 1")
    damaged(store, f"UPDATE envelope SET body = '' WHERE position = {count - 1}")
    assert f"envelope {count - 1} is damaged" in loss(lambda: list(envelopes))


@pytest.mark.parametrize("chosen", ["memory", "sqlite"])
def test_whatever_stands_around_a_store_hands_on_what_is_read(chosen: str, tmp_path: Path) -> None:
    store = open_store(chosen, tmp_path, b"u" * 16, 1, 0, lambda level, text: None)
    store.load()
    filled(store, 3)
    assert numbers(store, [3, 1]) == numbers(Untended(store), [3, 1]) == [1, 3]
    assert numbers(CrashPoint("commit", True, 99).store(store), [2]) == [2]
    store.close()


@given(st.integers(-(2**63), 2**63 - 1), st.binary(), st.binary())
def test_the_checksum_of_an_envelope_is_the_one_of_its_fields(
    position: int, header: bytes, body: bytes
) -> None:
    assert envelope_checksum(position, header, body) == checksum(position, header, body)
