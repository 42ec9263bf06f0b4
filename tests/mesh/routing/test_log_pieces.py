"""The log entries of a message for several sessions, and of an erased topic."""

import pytest
from msgspec.structs import replace

from mesh.operations import Append, Delete, Drop, Op, Put
from mesh.routing.feed import Feed
from mesh.routing.log import Log
from mesh.routing.overflow import Credit
from mesh.routing.retained_value import last_values
from mesh.routing.sink import Targets
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stream_log import Accepted, StreamLog
from mesh.store.memory import MemoryStore
from mesh.wire.envelope import ERASED, Envelope, decode
from tests.mesh.envelopes import STREAM, envelope

ME = b"m" * 16
ONE, TWO = "/node/heron/client/joe/session/1", "/node/heron/client/joe/session/2"


def feed(name: str) -> Feed:
    return Feed(name.encode(), Credit(1, 1, 1), lambda f, p: None, lambda p: None)


def accept(log: Log, *pieces: tuple[Envelope, Targets]) -> tuple[StreamLog, Accepted, list[Op]]:
    first = pieces[0][0]
    lane = log.lane(first.stream, first.domain, 0.0)
    lane.origin.accept_numbers(first.first, first.last, first.low)
    accepted, ops = log.accept_envelope(lane, list(pieces), len(pieces), ME)
    return lane, accepted, ops


def to_both(persistent: bool = True) -> list[tuple[Envelope, Targets]]:
    e = envelope("hello", [b"x"], persistent=persistent)
    return [(replace(e, to=name), [(feed(name), None)]) for name in (ONE, TWO)]


def event(key: str, number: int, flags: int = 0, domain: str = "") -> Envelope:
    return envelope(key, first=number, stream=b"e" * 16, flags=ERASED | flags, domain=domain)


def published(log: Log, e: Envelope) -> list[Op]:
    _, accepted, ops = accept(log, (e, []))
    log.passes(accepted)
    return ops


# --- for sessions -----------------------------------------------------------------------------------------


def test_each_session_has_its_own_copy_at_its_own_place_and_the_publisher_one_answer() -> None:
    log = Log(1000, StoreHandle())
    _, accepted, ops = accept(log, *to_both())
    all_stored = [stored for stored, _ in accepted.deliveries]
    assert [(p.position, p.envelope.to, p.owed, p.own, p.master) for p in all_stored] == [
        (1, ONE, 1, True, ME),
        (2, TWO, 1, True, ME),
    ]
    stored = [decode(op.header, op.body).to for op in ops if isinstance(op, Append)]
    assert (stored, log.shelf.live) == ([ONE, TWO], 2)
    assert (accepted.answer.first, accepted.answer.last, accepted.answer.matched) == (1, 1, 2)


def test_the_copies_are_stored_with_what_tells_a_repeat_of_all_of_them() -> None:
    _, _, ops = accept(Log(1000, StoreHandle()), *to_both())
    assert [op.key for op in ops if isinstance(op, Put)] == [STREAM]


def test_what_is_for_a_session_is_nobodys_last_value() -> None:
    log = Log(1000, StoreHandle())
    _, accepted, ops = accept(log, *to_both(persistent=False))
    log.passes(accepted)
    assert (ops, accepted.stored, accepted.values, len(log.retained)) == ([], True, [], 0)


def test_what_could_not_be_stored_is_withdrawn_for_every_session() -> None:
    log = Log(1000, StoreHandle())
    lane, accepted, _ = accept(log, *to_both())
    log.refuse_accepted(lane, accepted)
    assert log.shelf.live == 0
    drops = [op for op in log.shelf.take_later() if isinstance(op, Drop)]
    assert drops == [Drop((1, 2))]
    assert lane.origin.refused.covers(1, 1)


# --- an erased topic ----------------------------------------------------------------------------------


def test_an_erased_topic_is_forgotten_here_and_in_the_store() -> None:
    log, store = Log(10_000, StoreHandle()), MemoryStore()
    store.commit(published(log, envelope("a b", [b"x", b"y"], persistent=True)))
    ops = published(log, event("a", 1))
    store.commit(ops)
    assert ops == [Delete("retained", b"\0a")]
    assert list(store.load().tables["retained"]) == [b"\0b"]
    assert (log.retained.get("a", ""), len(log.retained)) == (None, 1)


def test_the_topic_of_another_domain_stays() -> None:
    log = Log(10_000, StoreHandle())
    published(log, envelope("a", [b"x"], domain="sport"))
    published(log, envelope("a", [b"x"], stream=b"n" * 16, domain="news"))
    ops = published(log, event("a", 1, domain="sport"))
    assert ops == [Delete("retained", b"sport\0a")]
    assert log.retained.domains("a") == ["news"]


def test_the_event_goes_out_when_the_disk_knows_and_the_topic_lives_until_then() -> None:
    log = Log(10_000, StoreHandle())
    published(log, envelope("a", [b"x"]))
    lane, accepted, _ = accept(log, (event("a", 1), []))
    assert (accepted.stored, list(lane.waiting), accepted.erased) == (False, [accepted], "a")
    assert log.retained.get("a", "") is not None
    log.passes(accepted)
    assert log.retained.get("a", "") is None


def test_the_event_itself_is_no_last_value() -> None:
    log = Log(10_000, StoreHandle())
    ops = published(log, event("a", 1, flags=1))
    assert not [op for op in ops if isinstance(op, Put) and op.table == "retained"]
    assert len(log.retained) == 0


def test_the_end_of_a_persistent_topic_is_owed_like_its_messages() -> None:
    log = Log(1000, StoreHandle())
    _, accepted, ops = accept(log, (event("a", 1, flags=1), [(feed("f"), None)]))
    ((stored, _),) = accepted.deliveries
    assert (stored.position, stored.owed, log.shelf.live) == (1, 1, 1)
    append = next(op for op in ops if isinstance(op, Append))
    assert decode(append.header, append.body).flags & ERASED


def test_a_topic_that_is_published_again_has_a_value_again() -> None:
    log, store = Log(10_000, StoreHandle()), MemoryStore()
    for e in (
        envelope("a", [b"old"], persistent=True, sent=1),
        event("a", 1, flags=1),
        envelope("a", [b"new"], persistent=True, first=2, sent=3),
    ):
        store.commit(published(log, e))
    (value,) = store.load().tables["retained"].values()
    last = log.retained.get("a", "")
    assert last is not None
    assert (last.data, last.pack()) == (b"new", value)


def test_an_end_is_on_the_disk_where_another_may_bring_a_value_and_keeps_that_away() -> None:
    log, store = Log(10_000, StoreHandle(), keeps_end=lambda key, e: key == "a"), MemoryStore()
    old = envelope("a", [b"x"], persistent=True, sent=5)
    store.commit(published(log, old))
    store.commit(published(log, replace(event("a", 1), sent=7)))
    image = store.load()
    again = Log(10_000, StoreHandle())
    again.restore_log(image.tables["stream"], image.tables["retained"].values(), image.next_position, 0.0)
    assert (len(again.retained), again.newest) == (0, 7)
    assert again.inherit(last_values(old)) == 0
    assert again.inherit(last_values(replace(old, sent=8))) == 1, "it was published since"


def test_the_oldest_end_that_is_remembered_leaves_the_disk_unless_a_value_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mesh.routing.log.ENDED", 1)
    log = Log(10_000, StoreHandle(), keeps_end=lambda key, e: True)
    for number, key in enumerate("abc", 1):
        published(log, envelope(key, [b"x"], persistent=True, first=number))
        published(log, event(key, number))
        if key == "b":
            published(log, envelope(key, [b"y"], persistent=True, first=9))
    assert log.shelf.take_later() == [Delete("retained", b"\0a")]
