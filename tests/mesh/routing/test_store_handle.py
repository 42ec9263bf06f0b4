"""Positions in a store, and changes that wait for its next commit."""

from msgspec.structs import replace

from mesh.operations import Append, Delete, Drop, Put, Rewrite
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import decode
from tests.mesh.envelopes import envelope
from tests.mesh.routing.feeds import Ends
from tests.mesh.routing.test_shares import BIG


def put_envelope(shelf: StoreHandle, number: int = 1) -> StoredEnvelope:
    stored = StoredEnvelope(envelope("a", first=number, persistent=True), own=True)
    shelf.append_envelope(stored, [("f", None)])
    return stored


def row(table: str, value: bytes, key: bytes = b"f") -> Put:
    return Put(table, key, value)


def test_places_count_up_and_what_stands_there_is_owed() -> None:
    shelf, stored = StoreHandle(), StoredEnvelope(envelope("a b", [b"1", b"2"], persistent=True), own=True)
    op = shelf.append_envelope(stored, [("f", None), ("g", (1,))])
    assert (op, stored.position, stored.owed) == (
        Append(1, stored.envelope.header(), stored.envelope.body),
        1,
        2,
    )
    assert (put_envelope(shelf, 3).position, shelf.live, shelf.next_position) == (2, 2, 3)


def test_what_has_stood_there_since_before_the_start_leaves_when_nobody_is_owed_it() -> None:
    shelf = StoreHandle()
    shelf.restore_envelope(StoredEnvelope(envelope("a"), 7), [("f", None)])
    assert (shelf.live, shelf.take_later()) == (1, [])
    shelf.restore_envelope(StoredEnvelope(envelope("a"), 8), [])
    assert (shelf.live, shelf.take_later()) == (1, [Drop((8,))])


def test_changes_of_rows_ride_with_the_next_commit_and_a_newer_one_replaces_an_older() -> None:
    shelf = StoreHandle()
    for value in (b"old", b"new"):
        shelf.later("position", b"f", row("position", value))
    shelf.delete_released(put_envelope(shelf))
    assert shelf.take_later() == [row("position", b"new"), Drop((1,))]
    assert shelf.take_later() == []


def test_a_change_that_was_not_written_is_tried_again_unless_there_is_a_newer_one() -> None:
    shelf = StoreHandle()
    for key in (b"f", b"g"):
        shelf.later("feed", key, row("feed", b"old", key))
    shelf.delete_released(put_envelope(shelf))
    failed = shelf.take_later()
    shelf.later("feed", b"g", Delete("feed", b"g"))
    shelf.not_written(failed)
    assert shelf.has_later
    assert shelf.take_later() == [Delete("feed", b"g"), row("feed", b"old"), Drop((1,))]
    assert not shelf.has_later


def test_of_two_failed_commits_the_newer_ones_row_is_tried_again() -> None:
    shelf = StoreHandle()
    shelf.later("feed", b"f", row("feed", b"old"))
    first = shelf.take_later()
    shelf.later("feed", b"f", row("feed", b"new"))
    second = shelf.take_later()
    shelf.not_written(first)
    shelf.not_written(second)
    assert shelf.take_later() == [row("feed", b"new")]


def test_what_is_written_with_something_else_takes_the_place_of_what_waits_or_has_failed() -> None:
    shelf = StoreHandle()
    shelf.later("feed", b"f", row("feed", b"failing"))
    failing = shelf.take_later()
    shelf.later("feed", b"g", row("feed", b"waits", b"g"))
    shelf.supersede([row("feed", b"newer"), row("feed", b"newer", b"g")])
    shelf.not_written(failing)
    assert shelf.take_later() == []


def big_stored(shelf: StoreHandle) -> tuple[StoredEnvelope, Ends, Ends]:
    one, other = Ends(), Ends()
    stored = StoredEnvelope(BIG, own=True)
    shelf.append_envelope(stored, [(one.feed, None), (other.feed, (5,))])
    for ends in (one, other):
        ends.feed.connect(0.0)
    return stored, one, other


def test_a_feed_that_is_done_tells_that_less_is_owed_and_the_store_is_told_of_the_rest() -> None:
    shelf = StoreHandle()
    stored, one, _ = big_stored(shelf)
    one.offer(stored)
    one.feed.on_processed(1, 0.0)
    assert (one.released, stored.owed) == ([stored], 1)
    shelf.shrink(stored)
    assert shelf.live == 1
    (op,) = shelf.take_later()
    assert isinstance(op, Rewrite) and op.position == 1
    piece = decode(op.header, op.body)
    assert (piece.keys, piece.number_list(range(1)), piece.body) == (("k5",), [6], b"005" * 100)
    shelf.not_written([op])
    assert shelf.take_later() == [op], "a full disk: again, then"


def test_what_nobody_is_owed_any_more_is_dropped_and_not_written_again() -> None:
    shelf = StoreHandle()
    stored, one, other = big_stored(shelf)
    one.offer(stored)
    one.feed.on_processed(1, 0.0)
    shelf.shrink(stored)
    other.offer(stored)
    other.feed.on_processed(1, 0.0)
    assert (other.released, stored.owed) == ([stored], 0)
    shelf.delete_released(stored)
    assert shelf.take_later() == [Drop((1,))]


def test_a_pin_keeps_published_messages_but_none_with_a_receiver() -> None:
    shelf = StoreHandle()
    shelf.pins.pin("a subscriber that moved", 1, 2)
    shelf.delete_released(put_envelope(shelf))
    put = replace(envelope("a", first=2, persistent=True), to="queue/jobs")
    direct = StoredEnvelope(put, own=True)
    shelf.append_envelope(direct, [("f", None)])
    shelf.delete_released(direct)
    assert shelf.take_later() == [Drop((2,))], "the queue has deleted its row"
    shelf.pins.pin("a subscriber that moved", 1, 0)
    shelf.drop_unpinned()
    assert shelf.take_later() == [Drop((1,))]
