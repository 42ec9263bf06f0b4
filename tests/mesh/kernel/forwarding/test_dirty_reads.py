"""Clients of a slave receive its messages before the master, once and in order, on simulated nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.client.core.framing import SPEAKS
from mesh.kernel.forwarding import dirty_reads
from mesh.kernel.forwarding.dirty_reads import DirtyReads
from mesh.mapping.rules import Rule
from mesh.routing import heldbodies
from mesh.routing.heldbodies import HeldBodies
from mesh.wire.envelope import HELD, PROVISIONAL, RETRACTED, Envelope
from mesh.wire.limits import DIRTY
from tests.mesh.kernel.masters import RUGBY, SOCCER, Cluster, cluster

DIRTILY = (Rule("heron", domains=(RUGBY,), dirty_read=True), Rule("heron", domains=(SOCCER,)))


def slaves(*names: str, **settings: Any) -> Cluster:
    """Return a mesh whose slaves read RUGBY dirtily and SOCCER not. heron is master of both."""
    rules = {"heron": (Rule("heron", domains=(RUGBY, SOCCER)),), **dict.fromkeys(names, DIRTILY)}
    return cluster("heron", *names, rules=rules, **settings)


def test_it_comes_once_before_its_master_has_it_and_its_content_does_not_come_back() -> None:
    c = slaves("frodo")
    joe = c.client("frodo")
    heard, far = joe.subscribed("k", domain=RUGBY), c.client("heron", "ann").subscribed("k", domain=RUGBY)
    joe.publish("k", b"x" * 1000, domain=RUGBY)
    c.net.until(lambda: heard.got)
    assert heard.got[0].is_provisional and heard.got[0].route == ("frodo",) and not joe.state(1, RUGBY)
    joe.settled()
    c.net.run(2)
    assert joe.state(1, RUGBY) == "OK" and heard.contents == far.contents == [b"x" * 1000]
    assert (c["frodo"].metric("confirmed"), c["frodo"].metric("confirmed_bytes")) == (1, 1000)
    assert [got.content for got in joe.get("k", domain=RUGBY)] == [b"x" * 1000]


def test_without_the_rule_it_comes_from_the_master() -> None:
    c = slaves("frodo")
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=SOCCER)
    joe.publish("k", b"1", domain=SOCCER)
    c.net.until(lambda: heard.got)
    assert not heard.got[0].is_provisional and heard.got[0].route == ("frodo", "heron", "frodo")
    assert c["frodo"].metric("confirmed") == 0


@pytest.mark.parametrize("persistent", [True, False])
def test_what_waits_for_its_master_is_read_meanwhile_and_not_again(persistent: bool) -> None:
    c = slaves("frodo")
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY)
    c["heron"].kill()
    for n in range(3):
        joe.publish("k", b"%d" % n, persistent=persistent, domain=RUGBY)
    c.net.until(lambda: heard.contents == [b"0", b"1", b"2"])
    joe.settled()
    assert joe.state(3, RUGBY) == "FORWARD_WARNING"
    c["heron"].start()
    c.net.until(lambda: joe.state(3, RUGBY) == "OK")
    c.net.run(5)
    assert heard.contents == [b"0", b"1", b"2"]


def test_who_was_given_what_its_master_never_takes_is_told() -> None:
    c = slaves("frodo")
    joe = c.client("frodo")
    retracted: list[tuple[str, list[int]]] = []
    joe.retracted = lambda s, batch: retracted.append(  # type: ignore[method-assign]
        (batch.state, [int(message.id.rpartition(":")[2]) for message in batch])
    )
    heard = joe.subscribed("k", domain=RUGBY)
    c["heron"].kill()
    joe.publish("k", b"1", domain=RUGBY, expires=c.net.wall + 2_000_000_000)
    joe.publish("k", b"2", persistent=True, domain=RUGBY)
    c.net.until(lambda: joe.state(1, RUGBY) == "EXPIRED")
    c.net.until(lambda: retracted)
    c["heron"].start()
    c.net.until(lambda: joe.state(2, RUGBY) == "OK")
    c.net.run(5)
    assert heard.contents == [b"1", b"2"] and retracted == [("RETRACTED", [1])]


def test_after_a_crash_of_its_node_nothing_comes_twice_and_all_comes() -> None:
    c = slaves("frodo")
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY)
    for n in range(40):
        joe.publish("k", b"%d" % n, persistent=True, domain=RUGBY)
        if n in (10, 25):
            c["frodo"].restart()
    joe.settled()
    c.net.run(10)
    assert heard.contents == [b"%d" % n for n in range(40)]


def test_a_new_process_gives_nothing_before_what_an_earlier_one_may_have_left_with_the_master() -> None:
    c = slaves("frodo")
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY)
    for n in range(3):
        joe.publish("k", b"%d" % n, domain=RUGBY)
        joe.settled()
        c.net.run(1)
        if n == 0:
            c["frodo"].restart()
            c.net.run(5)
    assert [got.is_provisional for got in heard.got] == [True, False, True]


def test_who_does_not_know_of_it_has_it_from_the_master(monkeypatch: pytest.MonkeyPatch) -> None:
    older = tuple(word for word in SPEAKS if word != DIRTY)
    monkeypatch.setattr("mesh.client.core.client_handshake.SPEAKS", older)
    c = slaves("frodo")
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY)
    joe.publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: heard.got)
    assert not heard.got[0].is_provisional
    assert c["frodo"].metric("confirmed") == 0


def test_a_master_of_an_earlier_release_is_told_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    heard_flags: list[int] = []
    take = DirtyReads.features
    monkeypatch.setattr(
        DirtyReads, "features", lambda self: () if self._context.me.name == "heron" else take(self)
    )
    c = slaves("frodo")
    forwarded = c["heron"].core.parts.forwarder.incoming
    of_peers = forwarded.forwarded

    def noted(peer: object, envelopes: Iterable[Envelope]) -> None:
        heard_flags.extend(e.flags for e in envelopes)
        of_peers(peer, envelopes)  # type: ignore[arg-type]

    monkeypatch.setattr(forwarded, "forwarded", noted)
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY)
    joe.publish("k", b"1", domain=RUGBY)
    joe.settled()
    c.net.run(2)
    assert heard.contents == [b"1"] and heard.got[0].is_provisional
    assert not any(flags & HELD for flags in heard_flags)


@pytest.mark.parametrize("persistent", [True, False])
def test_contents_that_are_held_no_more_come_whole(persistent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    c = slaves("frodo")
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY)
    monkeypatch.setattr(HeldBodies, "whole", lambda self, item: None)
    for n in range(3):
        joe.publish("k", b"%d" % n, persistent=persistent, domain=RUGBY)
    joe.settled()
    c.net.run(5)
    late = c.client("frodo", "ann").subscribed("k", domain=RUGBY)
    joe.publish("k", b"3", persistent=persistent, domain=RUGBY)
    c.net.run(10)
    assert heard.contents == [b"0", b"1", b"2", b"3"], "they were given here"
    monkeypatch.undo()
    joe.publish("k", b"4", persistent=True, domain=RUGBY)
    c.net.until(lambda: late.contents[-1] == b"4")
    assert late.contents[-2:] == [b"3", b"4"] if persistent else late.dropped > 0
    assert not c["frodo"].core.parts.neighbours.named("heron").exchange.lacks  # type: ignore[union-attr]
    assert c["frodo"].core.parts.neighbours.named("heron").data is not None  # type: ignore[union-attr]


def test_a_second_subscriber_who_asks_for_more_gets_what_was_given_and_what_was_not() -> None:
    c = slaves("frodo", "golan")
    joe, ann = c.client("frodo"), c.client("golan", "ann")
    heard, all_of_it = joe.subscribed("k", domain=RUGBY), joe.subscribed(pattern="#", domain=RUGBY)
    for n in range(4):
        joe.publish("k l", b"%d" % n, b"l%d" % n, domain=RUGBY)
        ann.publish("k", b"a%d" % n, domain=RUGBY)
    joe.settled()
    ann.settled()
    c.net.run(3)
    of_joe = [got.content for got in heard.got if got.content[:1] != b"a"]
    assert of_joe == [b"0", b"1", b"2", b"3"] and len(heard.got) == 8
    assert len(all_of_it.got) == 12 == len({got.id for got in all_of_it.got})


def test_where_there_is_no_room_for_one_those_behind_it_wait_for_it() -> None:
    c = slaves("frodo", window_count=2, window_bytes=1000)
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY, rate=4.0)
    for n in range(30):
        joe.publish("k", b"%d" % n, persistent=True, domain=RUGBY)
    joe.settled()
    c.net.until(lambda: len(heard.got) == 30)
    c.net.run(5)
    assert heard.contents == [b"%d" % n for n in range(30)]
    dirty_reads = [got.is_provisional for got in heard.got]
    assert any(dirty_reads) and not all(dirty_reads)


def test_who_subscribes_in_between_has_all_in_order() -> None:
    c = slaves("frodo")
    joe, ann = c.client("frodo"), c.client("frodo", "ann")
    joe.subscribed("k", domain=RUGBY)
    late = None
    for n in range(40):
        joe.publish("k", b"%d" % n, persistent=True, domain=RUGBY)
        c.net.run(0.002)
        if n == 20:
            late = ann.subscribe("k", domain=RUGBY)
    joe.settled()
    c.net.run(2)
    joe.publish("k", b"40", domain=RUGBY)
    c.net.run(2)
    assert late is not None
    numbers = [int(got.content) for got in late.got]
    assert numbers == list(range(numbers[0], 41)) and late.got[-1].is_provisional


def test_more_than_there_is_room_for_comes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heldbodies, "ROOM", 0)
    monkeypatch.setattr(HeldBodies.__init__, "__defaults__", (0,))
    c = slaves("frodo")
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY)
    joe.publish("k", b"1", domain=RUGBY)
    joe.settled()
    c.net.run(2)
    assert heard.contents == [b"1"] and heard.got[0].is_provisional and c["frodo"].metric("confirmed") == 0


def test_contents_that_were_never_here_stop_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    c = slaves("frodo")
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY)
    outlet = c["heron"].core.parts.neighbours.named("frodo").exchange.outlet  # type: ignore[union-attr]
    item = outlet._item

    def lying(group: Any) -> Any:
        stored = group[0][1].stored
        stored.held_by = outlet.life if stored.envelope.keys == ("k",) else None
        return item(group)

    monkeypatch.setattr(outlet, "_item", lying)
    for n in range(3):
        c.client("heron", f"ann{n}").publish("k", b"%d" % n, persistent=True, domain=RUGBY)
    c.net.run(3)
    monkeypatch.undo()
    c.client("heron", "eve").publish("k", b"e", persistent=True, domain=RUGBY)
    c.net.until(lambda: len(heard.got) == 4)
    assert sorted(heard.contents) == [b"0", b"1", b"2", b"e"]


@pytest.mark.parametrize("flag", [PROVISIONAL, RETRACTED])
def test_no_other_node_takes_anything_back_or_calls_it_provisional(
    flag: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = slaves("frodo")
    joe = c.client("frodo")
    told: list[str] = []
    joe.retracted = lambda s, batch: told.append(batch.state)  # type: ignore[method-assign]
    heard = joe.subscribed("k", domain=RUGBY)
    accept = c["heron"].core.parts.router.log.accept_envelope

    def lying(lane: Any, pieces: Any, *more: Any) -> Any:
        return accept(lane, [(replace(e, flags=e.flags | flag), to) for e, to in pieces], *more)

    monkeypatch.setattr(c["heron"].core.parts.router.log, "accept_envelope", lying)
    joe.publish("k", b"1", domain=RUGBY)
    joe.settled()
    c.client("heron", "eve").publish("k", b"2", domain=RUGBY)
    c.net.run(2)
    late = c.client("frodo", "ann").subscribed("k", domain=RUGBY)
    c.net.run(1)
    assert not told and [(got.content, got.is_provisional) for got in heard.got] == [
        (b"1", True),
        (b"2", False),
    ]
    assert [(got.content, got.is_provisional) for got in late.got] == [(b"2", False)]


def test_a_node_on_the_way_gives_what_others_have_published_there_too() -> None:
    rules = {
        "heron": (Rule("heron", domains=(RUGBY,)),),
        "frodo": (Rule("frodo", 1, (RUGBY,)), Rule("heron", domains=(RUGBY,), dirty_read=True)),
        "bilbo": (Rule("frodo", 1, (RUGBY,), dirty_read=True),),
    }
    c = cluster("heron", "frodo", "bilbo", rules=rules)
    joe = c.client("bilbo")
    heard, between = joe.subscribed("k", domain=RUGBY), c.client("frodo", "ann").subscribed("k", domain=RUGBY)
    for n in range(3):
        joe.publish("k", b"%d" % n, domain=RUGBY)
    joe.settled()
    c.net.run(3)
    assert heard.contents == between.contents == [b"0", b"1", b"2"]
    assert all(got.is_provisional for got in (*heard.got, *between.got))
    assert between.got[0].route == ("bilbo", "frodo") and c["frodo"].metric("confirmed") == 3


def test_a_way_that_holds_nothing_has_contents_back_whole() -> None:
    rules = {
        "heron": (Rule("heron", domains=(RUGBY,)),),
        "frodo": (Rule("frodo", 1, (RUGBY,)), Rule("heron", domains=(RUGBY,))),
        "bilbo": (Rule("frodo", 1, (RUGBY,), dirty_read=True),),
    }
    c = cluster("heron", "frodo", "bilbo", rules=rules)
    joe = c.client("bilbo")
    heard, between = joe.subscribed("k", domain=RUGBY), c.client("frodo", "ann").subscribed("k", domain=RUGBY)
    joe.publish("k", b"1", domain=RUGBY)
    joe.settled()
    c.net.run(1)
    assert heard.contents == between.contents == [b"1"]
    assert heard.got[0].is_provisional and not between.got[0].is_provisional


def test_of_several_masters_nothing_is_read_before_they_have_it() -> None:
    both = (
        Rule("heron", domains=(RUGBY,), dirty_read=True),
        Rule("avalon", domains=(RUGBY,), dirty_read=True),
    )
    names = ("heron", "avalon", "frodo")
    c = cluster(*names, rules=dict.fromkeys(names, both), known=names)
    joe = c.client("frodo")
    heard = joe.subscribed("k", domain=RUGBY)
    joe.publish("k", b"1", domain=RUGBY)
    c.net.until(lambda: heard.got)
    assert not heard.got[0].is_provisional


def test_who_waits_for_the_values_of_before_is_given_nothing_that_they_could_come_behind() -> None:
    c = slaves("frodo")
    joe = c.client("frodo")
    c.client("heron", "eve").publish("k", b"0", domain=RUGBY)
    c.net.run(1)
    heard = joe.subscribe("k", domain=RUGBY)
    joe.publish("k", b"1", domain=RUGBY)
    joe.settled()
    c.net.run(1)
    assert heard.contents[-1] == b"1" and not heard.got[-1].is_provisional


def test_contents_that_do_not_come_back_and_their_lanes_are_dropped_after_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heldbodies, "LIFE", 10.0)
    monkeypatch.setattr(dirty_reads, "LOOK", 5.0)
    monkeypatch.setattr(dirty_reads, "KEPT", 30.0)
    c = slaves("frodo")
    joe = c.client("frodo")
    s = joe.subscribed("k", domain=RUGBY)
    dirty = c["frodo"].core.parts.forwarder.acceptance._provisional
    c["heron"].kill()
    joe.publish("k", b"1", domain=RUGBY)
    c["heron"].start()
    c.net.until(lambda: dirty._bodies.bytes)
    joe.unsubscribe(s)
    dirty._bodies.hold_body(
        Envelope(b"s" * 16, RUGBY, 1, 1, ("k",), 1, 1, b"x"), c["frodo"].core.parts.context.clock.now
    )
    c.net.run(heldbodies.LIFE + dirty_reads.LOOK + 2)
    assert dirty._bodies.bytes == 0 and dirty._lanes
    c.net.run(dirty_reads.KEPT)
    assert not dirty._lanes


def test_what_is_sent_to_one_or_stays_here_is_none_of_it() -> None:
    c = slaves("frodo")
    joe, ann = c.client("frodo"), c.client("frodo", "ann", session=1)
    inbox = ann.inbox()
    joe.send("/node/frodo/client/ann/session/1", b"1", domain=RUGBY)
    c.net.until(lambda: inbox.got)
    assert not inbox.got[0].is_provisional


def test_held_contents_are_given_back_only_to_what_they_are() -> None:
    held = HeldBodies()
    e = Envelope(b"s" * 16, "D", 1, 3, ("a", "b"), 3, 2, b"aabbcc", index=bytes([0, 0, 1, 0, 0, 0]))
    assert held.hold_body(e, 0.0) == replace(e, flags=HELD)
    bare = heldbodies.without_contents
    for other in (
        replace(e, stream=b"t" * 16), replace(e, domain="E"), replace(e, first=2, last=4),
        replace(e, last=4, count=4, index=bytes(8)), replace(e, keys=("a", "c")), replace(e, keys=("b", "a")),
    ):  # fmt: skip
        assert held.whole(bare(other)) is None
    assert held.whole(bare(e.cut([1]))) == e.cut([1])
    assert held.whole(bare(replace(e, sent=7))) == replace(e, sent=7)
    assert held.whole(bare(e)) is None and held.bytes == 0


def test_held_contents_have_a_room_and_an_end() -> None:
    held = HeldBodies(room=300)
    e = Envelope(b"s" * 16, "D", 1, 1, ("a",), 1, 100, b"x" * 100)
    assert held.hold_body(e, 0.0) and not held.hold_body(replace(e, first=2, last=2), 0.0)
    assert held.hold_body(e, 5.0), "the same again takes its own place"
    held.forget_old(heldbodies.LIFE)
    assert held.bytes == 164
    held.forget_old(heldbodies.LIFE + 5.0)
    assert held.bytes == 0
