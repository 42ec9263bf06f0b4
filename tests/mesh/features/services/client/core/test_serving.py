"""Services of a client: deliveries, replies and settlements. The test plays the node."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.client.core.calls import Pending
from mesh.client.core.effects import Report, SendCommand
from mesh.errors import Closed, MeshError
from mesh.features.services.client.core.serving import ClientServing, TakenRequest
from mesh.wire import commands as c
from mesh.wire.envelope import REPLY, REQUEST, Envelope
from mesh.wire.frames import read, write
from mesh.wire.limits import ENVELOPE_BYTES
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.client.core.benches import KEY, CoreBench, result
from tests.mesh.client.core.servers import requests
from tests.mesh.envelopes import envelope
from tools.costing.wire import WELCOME

REQUESTS = replace(envelope("calc/add"), flags=REQUEST)


class Bench(CoreBench):
    """A client that serves an address with a credit."""

    def __init__(self, credit: int = 64) -> None:
        super().__init__()
        self.seq = self.epoch = 0
        self.it: ClientServing = self.core.services.new_service(7, "calc/add", credit, local_only=False)
        self.pending: Pending = self.core.services.register(self.it)
        self.wait()

    def open(self) -> None:
        """Answer the client's last CONSUME, with the next epoch."""
        self.epoch += 1
        [*_, asked] = [said for said in self.sent() if isinstance(said, c.Consume)]
        self.hear(c.Reply(asked.request, {"epoch": self.epoch}))

    def give(self, envelope: Envelope, ttl: int = 5000, indices: bytes = b"") -> None:
        self.seq += 1
        self.hear(c.Items(self.seq, (c.ItemHead(1, targets=((7, indices),), ttl=ttl),)), envelope)

    def taken(self, count: int) -> list[TakenRequest]:
        found = [self.it.take_request() for _ in range(count)]
        assert None not in found
        return found  # type: ignore[return-value]

    def settled(self) -> list[tuple[c.Settle, tuple[Envelope, ...]]]:
        """Return all settlements since the last call."""
        self.wait()
        sends = [e for e in self.done if isinstance(e, SendCommand) and isinstance(e.command, c.Settle)]
        self.done.clear()
        return [(e.command, e.envelopes) for e in sends]  # type: ignore[misc]

    def lose(self, boot: int = 1) -> None:
        self.core.on_disconnected(self.context.now, self.core.line.key)
        self.done.clear()
        self.connect(replace(WELCOME, node=replace(WELCOME.node, boot=boot), next=1 << 20))


def opened(credit: int = 64) -> Bench:
    bench = Bench(credit)
    bench.open()
    bench.done.clear()
    return bench


def test_it_is_asked_for_with_its_credit_and_told_when_it_holds() -> None:
    bench = Bench(credit=5)
    [asked] = [said for said in bench.sent() if isinstance(said, c.Consume)]
    assert (asked.subscription, asked.address, asked.credit, asked.local_only) == (7, "calc/add", 5, False)
    assert not bench.pending.promise.done()
    bench.open()
    assert result(bench.pending.promise)


def test_what_was_replied_in_a_turn_leaves_in_one_envelope_with_the_counts_of_the_requests() -> None:
    bench = opened()
    bench.give(requests(3))
    bench.give(requests(2, first=4))
    taken = bench.taken(5)
    assert [each.count for each in taken] == [1, 2, 3, 4, 5] and bench.it.take_request() is None
    code = encode_properties(Properties(code="NOT_TODAY"))
    assert bench.it.settle_reply(taken[4], b"five") and bench.it.settle_reply(taken[0], b"one", code)
    bench.it.settle(taken[1])
    bench.it.settle(taken[2])
    [(settle, [envelope])] = bench.settled()
    assert settle == c.Settle(7, 1, (2, 3), (5, 1), (1,))
    assert (envelope.stream, envelope.flags, envelope.count) == (KEY.id, REPLY, 2)
    assert [envelope.message(i) for i in range(2)] == [(b"", b"five"), (code, b"one")]
    assert read(write(settle, [envelope])) == (settle, [envelope]), "a node can read it"
    assert bench.it.settle_reply(taken[3], b"four")
    assert [(s.done, s.replied) for s, _ in bench.settled()] == [((), (4,))]


def test_many_replies_or_long_ones_go_in_several() -> None:
    bench = opened(credit=3000)
    bench.give(requests(2000))
    bench.give(requests(1000, first=2001))
    for taken in bench.taken(3000):
        bench.it.settle_reply(taken, b"x")
    assert [len(s.replied) for s, _ in bench.settled()] == [2000, 1000]
    bench.give(requests(3))
    for taken in bench.taken(3):
        bench.it.settle_reply(taken, bytes(ENVELOPE_BYTES // 2 + 1))
    assert [len(s.replied) for s, _ in bench.settled()] == [2, 1]


def test_each_is_settled_once() -> None:
    bench = opened()
    bench.give(requests(2))
    one, other = bench.taken(2)
    assert bench.it.settle_reply(one, b"x") and not bench.it.settle_reply(one, b"y")
    assert bench.it.is_open(other) and not bench.it.is_open(one)
    bench.it.settle(other)
    assert not bench.it.settle_reply(other, b"z") and not bench.it.is_open(other)
    assert [(s.done, s.replied) for s, _ in bench.settled()] == [((2, 2), (1,))]
    assert bench.it._epoch is not None and bench.it._epoch.out == 0


def test_a_part_of_an_envelope_counts_as_what_it_holds() -> None:
    bench = opened()
    bench.give(requests(3), indices=b"\x00\x00\x02\x00")
    assert [(t.count, t.message._index) for t in bench.taken(2)] == [(1, 0), (2, 2)]


# --- time -----------------------------------------------------------------------------------------------


def test_what_has_no_time_left_when_its_turn_comes_is_not_begun_but_settled() -> None:
    bench = opened()
    bench.give(requests(2), ttl=1000)
    bench.give(requests(1, first=3), ttl=0)
    [one] = bench.taken(1)
    bench.wait(1.5)
    [last] = bench.taken(1)
    assert (one.count, last.count) == (1, 3)
    done = [s.done for s, _ in bench.settled()]
    assert done == [(1, 1), (2, 2)], "the first one is settled, too, or its room would be lost"
    assert not bench.it.settle_reply(one, b"too late") and bench.it.settle_reply(last, b"x")


def test_room_that_one_keeps_who_never_replies_comes_back_with_the_time_of_its_requests() -> None:
    bench = opened()
    bench.give(requests(1), ttl=1000)
    bench.give(requests(1), ttl=2000)
    _kept = bench.taken(2)
    bench.wait(1.2)
    assert not bench.settled(), "first whoever asked sees that the time is over"
    bench.wait(0.1)
    assert [s.done for s, _ in bench.settled()] == [(1, 1)]
    bench.wait(1.0)
    assert [s.done for s, _ in bench.settled()] == [(2, 2)]


def test_a_reply_at_the_last_moment_that_comes_too_late_is_a_settlement() -> None:
    bench = opened()
    bench.give(requests(1), ttl=1000)
    [one] = bench.taken(1)
    bench.context.now += 1.0
    assert not bench.it.is_open(one) and not bench.it.settle_reply(one, b"x")
    assert not bench.settled()
    bench.wait(0.3)
    assert [(s.done, s.replied) for s, _ in bench.settled()] == [((1, 1), ())]


def test_what_its_user_drops_without_a_reply_is_settled_when_the_next_one_is_taken() -> None:
    bench = opened()
    bench.give(requests(3))
    kept, dropped = bench.taken(2)
    assert not bench.settled()
    del dropped
    [_] = bench.taken(1)
    assert [s.done for s, _ in bench.settled()] == [(2, 2)]
    assert bench.it.settle_reply(kept, b"x")


def test_what_wants_no_reply_gets_none() -> None:
    bench = opened()
    bench.give(requests(1, flags=0), ttl=0)
    [one] = bench.taken(1)
    assert not one.wants_reply and not bench.it.settle_reply(one, b"x") and not bench.settled()
    bench.it.settle(one)
    assert [s.done for s, _ in bench.settled()] == [(1, 1)]


# --- epochs ---------------------------------------------------------------------------------------------


def test_an_epoch_ends_with_its_connection_and_what_is_said_of_it_then_is_said_to_nobody() -> None:
    bench = opened()
    bench.give(requests(3))
    old, _ = bench.taken(2)
    bench.it.settle(old)
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    assert bench.it.take_request() is None and not bench.it.settle_reply(_, b"x"), "its connection is gone"
    bench.lose()
    assert not bench.settled(), "what was not said by then is void"
    bench.lose()
    bench.give(requests(1))
    assert bench.it.take_request() is None, "of an epoch before, sent again by the link"
    bench.open()
    assert not bench.it.settle_reply(_, b"x")
    bench.it.settle(_)
    bench.give(requests(1))
    [new] = bench.taken(1)
    assert new.count == 1 and bench.it.settle_reply(new, b"y")
    assert [(s.epoch, s.done, s.replied) for s, _ in bench.settled()] == [(2, (), (1,))]


def test_an_epoch_of_the_same_number_in_another_process_is_another_one() -> None:
    bench = opened()
    bench.give(requests(1))
    [old] = bench.taken(1)
    bench.lose(boot=2)
    bench.epoch = 0
    bench.seq = 0
    bench.open()
    bench.give(requests(1))
    bench.taken(1)
    assert not bench.it.settle_reply(old, b"x") and not bench.settled()


def test_while_it_was_not_answered_it_is_asked_once_a_connection() -> None:
    bench = Bench()
    bench.lose()
    assert len([said for said in bench.sent() if isinstance(said, c.Consume)]) == 1
    bench.open()
    bench.lose()
    assert len([said for said in bench.sent() if isinstance(said, c.Consume)]) == 1
    bench.open()
    bench.give(requests(1))
    assert bench.taken(1)


def test_a_refusal_after_a_reconnect_is_its_end() -> None:
    bench = opened()
    bench.lose()
    [asked] = [said for said in bench.sent() if isinstance(said, c.Consume)]
    bench.hear(c.Reply(asked.request, code="TOO_MANY_ADDRESSES", text="too many"))
    assert isinstance(bench.it.error, MeshError) and bench.it.error.code == "TOO_MANY_ADDRESSES"
    assert not len(bench.core.services)


def test_who_leaves_says_what_was_settled_and_wants_no_more() -> None:
    bench = opened()
    bench.give(requests(2))
    one, two = bench.taken(2)
    assert bench.it.settle_reply(one, b"x")
    pending = bench.core.services.unregister(bench.it)
    bench.wait()
    *_, settle, consume = bench.sent()
    assert isinstance(settle, c.Settle) and settle.replied == (1,)
    assert isinstance(consume, c.Consume) and consume.credit == 0
    assert pending is not None and isinstance(bench.it.error, Closed)
    assert not bench.it.settle_reply(two, b"x") and bench.core.services.unregister(bench.it) is None
    bench.give(requests(1, first=3))
    assert bench.it.take_request() is None


def test_one_that_the_node_ends_is_over_and_not_asked_for_again() -> None:
    bench = opened()
    bench.hear(c.Ended(7, "TOO_SLOW", "no more [TOO_SLOW]"))
    assert bench.it.error is not None and bench.it.error.code == "TOO_SLOW"
    assert bench.sent()[-1] == c.Unsubscribe(bench.core.calls._request, 7)
    bench.lose()
    assert not [said for said in bench.sent() if isinstance(said, c.Consume)]


@pytest.mark.parametrize("leave", ["unregister", "give_up"])
def test_who_leaves_while_the_node_is_away_is_not_asked_for_when_it_is_back(leave: str) -> None:
    bench = opened()
    bench.lose()  # requested again, and not answered
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    assert getattr(bench.core.services, leave)(bench.it) is None
    bench.done.clear()
    bench.connect(replace(WELCOME, next=1 << 21))
    assert not [said for said in bench.sent() if isinstance(said, c.Consume)]


def test_who_leaves_before_it_is_answered_learns_that_it_is_over() -> None:
    bench = Bench()
    bench.core.services.unregister(bench.it)
    with pytest.raises(Closed):
        result(bench.pending.promise)
    bench.open()
    assert bench.it.error is not None


def test_with_its_client_it_ends_and_what_was_settled_leaves() -> None:
    bench = opened()
    bench.give(requests(1))
    bench.it.settle_reply(bench.taken(1)[0], b"x")
    bench.core.close()
    bench.wait(60.0)
    assert [type(said) for said in bench.sent()][-2:] == [c.Settle, c.Bye]
    assert isinstance(bench.it.error, Closed) and bench.context.due == float("inf")


# --- a hostile node -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [None, {}, {"epoch": "1"}, {"epoch": -1}, {"epoch": 2**64}, {"epoch": 1.5}, 5]
)
def test_an_epoch_that_is_none_costs_the_connection(value: Any) -> None:
    bench = Bench()
    [asked] = [said for said in bench.sent() if isinstance(said, c.Consume)]
    bench.hear(c.Reply(asked.request, value))
    assert not bench.core.line.is_up


def test_far_more_than_was_asked_for_costs_the_connection_and_nothing_of_it_is_kept_for_long() -> None:
    bench = opened(credit=10)
    for first in (1, 2001):
        bench.give(requests(2000, first))
    assert not bench.core.line.is_up and "but the credit is" in bench.told()[-1][1]
    bench.lose()
    assert not bench.it._waiting and [e for e in bench.done if isinstance(e, Report)]


def test_while_it_is_read_slowly_no_more_waits_than_was_asked_for() -> None:
    bench = opened(credit=2)
    bench.give(requests(2))
    bench.wait(5.5)
    assert bench.it.take_request() is None, "their time is over"
    assert [s.done for s, _ in bench.settled()] == [(1, 2)]
