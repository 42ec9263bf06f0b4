"""The log of a master: accepted messages, the rows stored with them, and deferred writes."""

from msgspec.structs import replace

from mesh.operations import Append, Delete, Op, Put
from mesh.routing.feed import Feed
from mesh.routing.log import Log
from mesh.routing.overflow import Credit
from mesh.routing.retained_value import OVERHEAD, RetainedValue, last_values, store_key
from mesh.routing.sink import Targets
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.stream_log import Accepted, StreamLog
from mesh.store.memory import MemoryStore
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope, decode
from tests.mesh.envelopes import STREAM, envelope
from tests.mesh.store.images import loaded

ME = b"m" * 16
FEED = Feed(b"f", Credit(1, 1, 1), lambda f, p: None, lambda p: None)


def take(log: Log, e: Envelope, targets: Targets, now: float = 0.0) -> tuple[StreamLog, Accepted, list[Op]]:
    lane = log.lane(e.stream, e.domain, now)
    lane.origin.accept_numbers(e.first, e.last, e.low)
    accepted, ops = log.accept_envelope(lane, [(e, targets)], len(targets), ME)
    return lane, accepted, ops


def stored_of(accepted: Accepted) -> StoredEnvelope:
    ((stored, _),) = accepted.deliveries
    return stored


def kinds(ops: list[Op]) -> list[str]:
    return [op.table if isinstance(op, Put | Delete) else type(op).__name__ for op in ops]


def test_a_transient_envelope_needs_no_store() -> None:
    lane, accepted, ops = take(Log(1000, StoreHandle()), envelope("a b"), [(FEED, None)])
    assert (ops, accepted.stored, list(lane.waiting)) == ([], True, [])
    assert (accepted.answer.first, accepted.answer.last, accepted.answer.matched) == (1, 2, 1)


def test_a_persistent_one_is_stored_together_with_what_tells_its_repeats() -> None:
    log = Log(1000, StoreHandle())
    lane, accepted, ops = take(log, envelope("a b", persistent=True), [(FEED, None)])
    assert kinds(ops) == ["Append", "stream", "retained", "retained"]
    assert (accepted.stored, log.shelf.live) == (False, 1)
    assert (stored_of(accepted).position, stored_of(accepted).owed) == (1, 1)
    assert list(lane.waiting) == [accepted]
    append = ops[0]
    assert isinstance(append, Append)
    assert decode(append.header, append.body) == accepted.envelope


def test_what_nobody_wants_needs_no_place_in_the_log_but_its_number_and_value_are_kept() -> None:
    log = Log(1000, StoreHandle())
    _, accepted, ops = take(log, envelope("a", persistent=True), [])
    assert (kinds(ops), stored_of(accepted).position, log.shelf.live) == (["stream", "retained"], 0, 0)


def test_a_transient_envelope_waits_behind_a_persistent_one_of_its_stream() -> None:
    log = Log(1000, StoreHandle())
    lane, first, _ = take(log, envelope("a", persistent=True), [])
    _, second, ops = take(log, envelope("a", first=2), [])
    assert (list(lane.waiting), second.stored, ops) == ([first, second], True, [])
    other, _, _ = take(log, envelope("a", domain="sport"), [])
    assert not other.waiting, "another domain is another stream"


def test_positions_count_up_without_a_hole() -> None:
    log = Log(1000, StoreHandle())
    taken = [take(log, envelope("a", first=n, persistent=True), [(FEED, None)])[1] for n in (1, 2, 3)]
    assert [stored_of(accepted).position for accepted in taken] == [1, 2, 3]


def test_what_could_not_be_stored_is_as_if_it_had_never_come() -> None:
    log = Log(1000, StoreHandle())
    lane, accepted, _ = take(log, envelope("a b", persistent=True), [(FEED, None)])
    log.refuse_accepted(lane, accepted)
    assert log.shelf.live == 0
    assert not lane.origin.above
    assert lane.origin.refused.covers(1, 2)


def test_what_a_refused_value_went_past_is_the_last_one_on_disk_again() -> None:
    log = Log(1000, StoreHandle())
    for order in ("refused first", "taken first"):
        key = order.replace(" ", "/")
        newer = replace(envelope(key, persistent=True), stream=b"n" * 16, sent=9)
        older = replace(envelope(key, persistent=True), stream=b"o" * 16, sent=5)
        lane, failed, _ = take(log, newer, [])
        _, taken, ops = take(log, older, [])
        assert kinds(ops) == ["stream"], "a newer one is on its way"
        if order == "taken first":
            log.passes(taken)
        log.refuse_accepted(lane, failed)
        if order == "refused first":
            log.passes(taken)
        (row,) = (op for op in log.shelf.take_later() if isinstance(op, Put) and op.table == "retained")
        assert RetainedValue.unpack(row.value).stamp == (5, b"o" * 16, 1)


def test_what_was_to_be_written_of_a_topic_does_not_come_after_its_newer_value() -> None:
    log = Log(600, StoreHandle())  # space for one topic
    _, first, _ = take(log, envelope("a", persistent=True), [])
    log.passes(first)
    _, second, _ = take(log, envelope("b", first=2, persistent=True), [])
    log.passes(second)
    failing = log.shelf.take_later()
    assert failing == [Delete("retained", store_key("", "a"))]
    take(log, envelope("a", first=3, persistent=True), [])
    log.shelf.not_written(failing)
    assert log.shelf.take_later() == []


def test_after_a_failed_commit_the_store_is_told_the_numbers_without_it() -> None:
    # A later envelope of the stream may be stored with numbers that include those of the failed one.
    log = Log(1000, StoreHandle())
    lane, failed, _ = take(log, envelope("a", persistent=True), [(FEED, None)])
    _, _, ops = take(log, envelope("a", first=2, persistent=True), [(FEED, None)])
    log.refuse_accepted(lane, failed)
    rows = {
        op.key: op for op in [*ops, *log.shelf.take_later()] if isinstance(op, Put) and op.table == "stream"
    }
    assert rows[STREAM].value == lane.origin.pack()


def test_evicted_values_leave_the_store_too() -> None:
    log = Log(450, StoreHandle())
    for n, key in enumerate("ab"):
        _, accepted, _ = take(log, envelope(key, first=n + 1, sent=n), [])
        log.passes(accepted)
    assert log.shelf.take_later() == [Delete("retained", b"\0a")]


def test_at_a_start_with_little_room_the_newest_are_there_and_nothing_leaves_the_disk() -> None:
    log = Log(450, StoreHandle())
    rows = [last.pack() for e in (envelope("a", sent=2), envelope("b", sent=1)) for last in last_values(e)]
    log.restore_log({}, rows, 1, 0.0)
    assert [last.key for last in log.retained.find_values(Query("pattern", "#"), 0)] == ["a"]
    assert log.shelf.take_later() == []


def test_a_closed_stream_is_forgotten_in_all_its_domains_but_not_while_something_waits_for_the_disk() -> None:
    log = Log(1000, StoreHandle())
    take(log, envelope("a"), [])
    take(log, envelope("a", domain="sport"), [])
    take(log, envelope("a", domain="news", persistent=True), [])
    log.forget_stream(STREAM)
    gone = [Delete("stream", STREAM), Delete("stream", STREAM + b"sport")]
    assert log.shelf.take_later() == gone


def test_a_stream_whose_publisher_vanished_is_forgotten_after_a_while() -> None:
    log = Log(1000, StoreHandle())
    take(log, envelope("a"), [], now=1.0)
    take(log, envelope("a", domain="sport"), [], now=5.0)
    log.forget_idle(2.0)
    assert log.shelf.take_later() == [Delete("stream", STREAM)]
    assert log.lane(STREAM, "", 6.0).origin.accept_numbers(1, 1, 1) == [(1, 1)]
    assert log.lane(STREAM, "sport", 6.0).origin.accept_numbers(1, 1, 1) == []


def test_after_a_restart_it_knows_what_was_stored() -> None:
    log, store = Log(10_000, StoreHandle()), MemoryStore()
    for n in (1, 2):
        _, _, ops = take(log, envelope("a", [b"x"], first=n, persistent=True, sent=n), [(FEED, None)])
        store.commit(ops)
    image = loaded(store)
    again = Log(10_000, StoreHandle())
    again.restore_log(image.tables["stream"], image.tables["retained"].values(), image.next_position, 0.0)
    assert again.shelf.next_position == 3
    assert again.lane(STREAM, "", 0.0).origin.accept_numbers(1, 3, 1) == [(3, 3)]
    assert [last.number for last in again.retained.find_values(Query("exact", "a"), 0)] == [2]
    assert again.newest == 2


def test_a_failed_commit_does_not_bring_back_a_row_that_an_envelope_has_replaced() -> None:
    log = Log(1000, StoreHandle())
    row = Put("stream", STREAM, b"old")
    log.shelf.later("stream", STREAM, row)
    before = log.shelf.take_later()
    take(log, envelope("a", persistent=True), [])
    log.shelf.not_written(before)
    assert log.shelf.take_later() == []


def test_what_a_master_gets_late_does_not_replace_a_newer_value_on_its_disk() -> None:
    log, store, other = Log(1000, StoreHandle()), MemoryStore(), b"o" * 16
    for e in (
        envelope("a", [b"newer"], persistent=True, sent=20),
        envelope("a", [b"older"], persistent=True, sent=10, stream=other),
    ):
        _, accepted, ops = take(log, e, [])
        store.commit(ops)
        log.passes(accepted)
    again, image = Log(1000, StoreHandle()), loaded(store)
    again.restore_log(image.tables["stream"], image.tables["retained"].values(), image.next_position, 0.0)
    for known in (log, again):
        value = known.retained.get("a", "")
        assert value is not None and value.data == b"newer"


def test_what_makes_room_and_comes_again_in_one_envelope_stays_on_disk() -> None:
    log = Log(2 * (OVERHEAD + 2), StoreHandle())
    for number, keys in ((1, "x"), (2, "y"), (3, "a x")):
        lane, accepted, _ = take(log, envelope(keys, first=number, persistent=True), [])
        lane.waiting.clear()
        log.passes(accepted)
    assert log.retained.get("x", "") is not None
    gone = [op.key for op in log.shelf.take_later() if isinstance(op, Delete) and op.table == "retained"]
    assert gone == [store_key("", "y")]
