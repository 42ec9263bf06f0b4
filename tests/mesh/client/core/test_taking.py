"""What is taken from a queue, and what is said of it, over reconnects? Against a node that the test plays."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.client.core.desk import Promise
from mesh.client.core.effects import Report
from mesh.client.core.lots import ACK, TakenLot
from mesh.client.core.taking import QueueTaking
from mesh.errors import Closed, LeaseOver, LocalError, MeshError, MeshTimeout, NoQueue, NotAvailable
from mesh.wire import commands as c
from mesh.wire.commands import EXTEND, NACK, REJECT
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read, write
from tests.mesh.client.core.benches import CoreBench, result
from tests.mesh.envelopes import envelope
from tools.costing.wire import WELCOME as PLAIN

WELCOME = replace(PLAIN, speaks=(*PLAIN.speaks, "queues"))
STREAM, OTHER = b"s" * 16, b"t" * 16


def jobs(count: int, first: int = 1, stream: bytes = STREAM) -> Envelope:
    made = envelope(" ".join(["k"] * count), first=first)
    return replace(made, stream=stream, domain="queue/jobs", to="queue/jobs", keys=("",), index=b"")


class Bench(CoreBench):
    """A client that takes from a queue, and a node that answers only what the test has it answer."""

    def __init__(self, credit: int = 100, lease: int = 0) -> None:
        super().__init__()
        self.seq = self.epoch = 0
        self.again_with(WELCOME)
        self.it: QueueTaking = self.core.queues.make(7, "queue/jobs", credit, "", lease)
        self.entered: Promise = self.core.queues.enter(self.it)
        self.wait()

    def again_with(self, welcome: c.Welcome, boot: int = 1) -> None:
        self.core.gone(self.desk.now, self.core.line.key)
        self.done.clear()
        self.connect(replace(welcome, node=replace(welcome.node, boot=boot), next=1 << 20))

    def lose(self, boot: int = 1) -> c.Consume:
        """The connection breaks, and comes back; what is asked for then."""
        self.again_with(WELCOME, boot)
        return self.consume()

    def all(self, kind: type[Any]) -> list[Any]:
        return [said for said in self.sent() if isinstance(said, kind)]

    def consume(self) -> c.Consume:
        """The last one that was asked; a node could read it."""
        asked: c.Consume = self.all(c.Consume)[-1]
        assert read(write(asked))[0] == asked
        return asked

    def open(self, void: Sequence[int] = ()) -> None:
        """The node answers the CONSUME that it was told last."""
        self.epoch += 1
        self.hear(c.Reply(self.consume().request, {"epoch": self.epoch, "void": list(void)}))

    def give(self, envelope: Envelope, tries: bytes = b"", indices: Sequence[int] = ()) -> None:
        self.seq += 1
        column = struct.pack(f"<{len(indices)}H", *indices)
        self.hear(c.Items(self.seq, (c.ItemHead(1, targets=((7, column),), tries=tries),)), envelope)

    def take(self, count: int = 1) -> list[tuple[TakenLot, int]]:
        found = [self.it.take() for _ in range(count)]
        return [(each[0], each[1]) for each in found if each is not None]

    def say(self, what: int, *of: tuple[TakenLot, int], delay: int = 0, reason: str = "") -> Promise:
        for lot, place in of:
            self.it.check(lot, place)
        return self.it.say(what, [(lot, [place]) for lot, place in of], delay, reason)

    def settled(self) -> list[c.Settle]:
        """All that was settled until now, and is asked for no more; a node could read it."""
        self.wait()
        settles = self.all(c.Settle)
        assert all(read(write(each))[0] == each for each in settles)
        self.done.clear()
        return settles

    def answer(self, settle: c.Settle, *late: tuple[int, int]) -> None:
        self.hear(c.Reply(settle.request, [[first, last, "LEASE_OVER"] for first, last in late]))


def opened(credit: int = 100, lease: int = 0) -> Bench:
    bench = Bench(credit, lease)
    bench.open()
    bench.done.clear()
    return bench


def counts(taken: Sequence[tuple[TakenLot, int]]) -> list[int]:
    return [lot.counts[place] for lot, place in taken]


def is_open(promise: Any) -> bool:
    return not promise.done()


# --- in one epoch -------------------------------------------------------------------------------------------


def test_it_is_asked_for_and_told_when_it_holds() -> None:
    bench = Bench(5)
    asked = bench.consume()
    assert (asked.subscription, asked.address, asked.credit, asked.held) == (7, "queue/jobs", 5, ())
    assert is_open(bench.entered)
    bench.open()
    assert result(bench.entered) is None


def test_the_nth_message_has_the_count_n_whatever_it_came_with() -> None:
    bench = opened()
    bench.give(jobs(3))
    bench.give(jobs(4, first=4), indices=[1, 3])
    taken = bench.take(9)
    assert counts(taken) == [1, 2, 3, 4, 5] and bench.it.take() is None
    assert [lot.numbers()[place] for lot, place in taken] == [1, 2, 3, 5, 7]


def test_what_was_said_in_a_turn_leaves_in_one_command_and_is_kept_when_it_is_answered() -> None:
    bench = opened()
    bench.give(jobs(6))
    a, b, d, e, f, _ = bench.take(6)
    kept = [bench.say(ACK, e), bench.say(ACK, a), bench.say(ACK, b)]
    nacked = bench.say(NACK, d, delay=1500)
    rejected = bench.say(REJECT, f, reason="no such customer")
    [settle] = bench.settled()
    assert settle.done == (1, 2, 4, 4) and settle.epoch == 1
    assert settle.entries == ((3, 3, NACK, 1500, ""), (5, 5, REJECT, 0, "no such customer"))
    assert all(map(is_open, [*kept, nacked, rejected])), "not before it is written down"
    bench.answer(settle, (2, 2), (5, 5))
    assert [result(each) for each in (kept[0], kept[1], nacked)] == [None, None, None]
    for late in (kept[2], rejected):
        with pytest.raises(LeaseOver, match="when the node heard of it"):
            result(late)


def test_each_is_settled_once_and_a_refused_word_can_be_said_again() -> None:
    bench = opened()
    bench.give(jobs(1))
    [one] = bench.take()
    promise = bench.say(ACK, one)
    for what in (ACK, NACK, REJECT, EXTEND):
        with pytest.raises(LocalError, match="settled before") as info:
            bench.say(what, one)
        assert info.value.code == "SETTLED"
    [settle] = bench.settled()
    bench.hear(c.Reply(settle.request, None, "STORE", "the disk failed [STORE]"))
    with pytest.raises(MeshError, match="the disk failed"):
        result(promise)
    again = bench.say(ACK, one)
    [settle] = bench.settled()
    bench.answer(settle)
    assert result(again) is None and not bench.it.settling.owes


def test_of_several_that_are_acked_together_the_error_says_how_many_were_late() -> None:
    bench = opened()
    bench.give(jobs(4))
    promise = bench.say(ACK, *bench.take(4))
    [settle] = bench.settled()
    bench.answer(settle, (2, 3))
    with pytest.raises(LeaseOver, match="2 of these"):
        result(promise)


def test_to_extend_it_settles_nothing() -> None:
    bench = opened()
    bench.give(jobs(1))
    [one] = bench.take()
    extended = bench.say(EXTEND, one, delay=700)
    [settle] = bench.settled()
    assert settle.entries == ((1, 1, EXTEND, 700, ""),)
    bench.answer(settle)
    assert result(extended) is None
    bench.say(ACK, one)
    assert [s.done for s in bench.settled()] == [(1, 1)]


def test_a_batch_is_what_came_together_but_for_what_was_taken_singly() -> None:
    bench = opened()
    bench.give(jobs(5))
    bench.give(jobs(2, first=6))
    bench.take(2)
    found = [bench.it.take_batch(), bench.it.take_batch(), bench.it.take_batch()]
    assert [list(each[1]) if each else None for each in found] == [[2, 3, 4], [0, 1], None]


def test_long_reasons_go_in_several_commands_that_a_node_can_read() -> None:
    bench = opened(1000)
    bench.give(jobs(1000))
    promises = [bench.say(REJECT, each, reason="\N{PILE OF POO}" * 200) for each in bench.take(1000)]
    settles = bench.settled()
    assert len(settles) > 1 and sum(len(s.entries) for s in settles) == 1000
    for settle in settles:
        bench.answer(settle)
    assert all(result(each) is None for each in promises)


def test_a_node_that_gives_far_more_than_was_asked_for_is_left() -> None:
    bench = opened(5)
    for first in range(1, 6000, 1000):
        bench.give(jobs(1000, first=first))
    assert [text for kind, text in bench.told() if kind == "disconnected"]


# --- a new epoch --------------------------------------------------------------------------------------------


def test_what_is_here_is_listed_as_it_was_begun_or_will_be_and_has_the_first_counts() -> None:
    bench = opened()
    bench.give(jobs(3))
    bench.give(jobs(2, first=9, stream=OTHER))
    bench.give(jobs(2, first=5), indices=[1])
    a, b = bench.take(2)
    bench.say(ACK, b)
    bench.settled()
    asked = bench.lose()
    # a is in its user's hands, b's ack was not answered, the rest waits.
    assert asked.held == ((STREAM, (1, 3)), (OTHER, (9, 10)), (STREAM, (6, 6)))
    bench.give(jobs(1, first=100))  # of the epoch that is over
    bench.open()
    assert counts([a, b]) == [1, 2] and [s.done for s in bench.settled()] == [(2, 2)]
    rest = bench.take(9)
    assert counts(rest) == [3, 4, 5, 6]
    bench.give(jobs(1, first=7))
    assert counts(bench.take(9)) == [7]


def test_what_is_void_is_thrown_away_and_cannot_be_settled() -> None:
    bench = opened()
    bench.give(jobs(4))
    one, two = bench.take(2)
    bench.lose()
    bench.open(void=[1, 1, 3, 3])
    with pytest.raises(LeaseOver):
        bench.say(ACK, one)
    kept = bench.say(ACK, two)
    assert counts(bench.take(9)) == [4]
    [settle] = bench.settled()
    assert settle.done == (2, 2) and settle.epoch == 2
    bench.answer(settle)
    assert result(kept) is None


@pytest.mark.parametrize("is_late", [False, True])
def test_an_ack_whose_answer_was_lost_is_said_again_under_its_new_count(is_late: bool) -> None:
    bench = opened()
    bench.give(jobs(3))
    taken = bench.take(3)
    promise = bench.say(ACK, taken[2])
    [before] = bench.settled()
    asked = bench.lose()
    assert sum(b - a + 1 for _, ends in asked.held for a, b in zip(ends[::2], ends[1::2], strict=True)) == 3
    bench.hear(c.Reply(before.request, []))  # of a connection that is gone: it is no answer
    assert is_open(promise)
    bench.open(void=[3, 3])  # done, or somebody else's: the answer tells
    [settle] = bench.settled()
    assert (settle.done, settle.epoch) == ((3, 3), 2)
    bench.answer(settle, *([(3, 3)] if is_late else []))
    if is_late:
        with pytest.raises(LeaseOver, match="it is settled, or others'"):  # nobody knows which
            result(promise)
    else:
        assert result(promise) is None


def test_what_is_said_while_nothing_is_open_is_said_when_something_is() -> None:
    bench = opened()
    bench.give(jobs(3))
    a, b, d = bench.take(3)
    bench.core.gone(bench.desk.now, bench.core.line.key)
    bench.wait()
    first = bench.say(ACK, a)
    bench.again_with(WELCOME)
    second = bench.say(NACK, b)
    assert bench.settled() == [] and is_open(first)
    bench.again_with(WELCOME)  # and once more, before it was answered
    third = bench.say(ACK, d)
    bench.open()
    [settle] = bench.settled()
    # What was said when it was listed stands behind what was not.
    assert (settle.done, settle.entries) == ((1, 2), ((3, 3, NACK, 0, ""),))
    bench.answer(settle)
    assert [result(each) for each in (first, second, third)] == [None] * 3


def test_nothing_is_begun_while_no_epoch_is_open() -> None:
    bench = opened()
    bench.give(jobs(2))
    bench.core.gone(bench.desk.now, bench.core.line.key)
    assert bench.it.take() is None and bench.it.take_batch() is None
    bench.again_with(WELCOME)
    assert bench.it.take() is None
    bench.open(void=[2, 2])
    assert counts(bench.take(9)) == [1]


@pytest.mark.parametrize(
    "value",
    [None, {}, {"epoch": -1}, {"epoch": 2**64}, {"epoch": "1"}, 5, {"epoch": 5, "void": [1]},
     {"epoch": 5, "void": [3, 3]}, {"epoch": 5, "void": [2, 1]}, {"epoch": 5, "void": [0, 1]},
     {"epoch": 5, "void": [1, 1, 1, 1]}, {"epoch": 5, "void": "ab"}, {"epoch": float("nan")}],
)  # fmt: skip
def test_an_answer_that_is_none_ends_the_connection_and_it_is_asked_again(value: object) -> None:
    bench = opened()
    bench.give(jobs(2))
    bench.lose()
    bench.hear(c.Reply(bench.consume().request, value))
    assert [text for kind, text in bench.told() if kind == "disconnected"]
    bench.again_with(WELCOME)
    assert bench.consume().held == ((STREAM, (1, 2)),)
    bench.open()
    assert counts(bench.take(9)) == [1, 2]


@pytest.mark.parametrize("value", [None, {}, 5, [[1]], [[1, 1]], [[1, 1, 5]], "ab", [["a", 1, "X"]]])
def test_an_answer_to_a_word_that_is_none_is_no_answer(value: object) -> None:
    bench = opened()
    bench.give(jobs(1))
    promise = bench.say(ACK, *bench.take())
    [settle] = bench.settled()
    bench.hear(c.Reply(settle.request, value))
    assert [text for kind, text in bench.told() if kind == "disconnected"] and is_open(promise)
    bench.again_with(WELCOME)
    bench.open()
    [settle] = bench.settled()
    bench.answer(settle, (5, 9))  # of counts that there are not
    assert result(promise) is None


def test_more_is_never_listed_than_a_node_would_read_and_what_was_said_gives_way() -> None:
    bench = opened(1000)
    bench.give(jobs(1000))
    promises = [bench.say(ACK, each) for each in bench.take(1000)]
    bench.settled()
    bench.give(jobs(900, first=1001))  # the node had heard it, but its answer is lost
    asked = bench.lose()
    assert asked.held == ((STREAM, (1, 100, 1001, 1900)),)
    bench.open(void=[1, 100])
    [settle] = bench.settled()
    assert settle.done == (1, 100)
    bench.answer(settle)
    assert [result(each) for each in promises[:100]] == [None] * 100
    with pytest.raises(LeaseOver):
        result(promises[100])
    assert len(bench.take(2000)) == 900


# --- every point --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", range(7))
@pytest.mark.parametrize("boot", [1, 2])
def test_wherever_the_connection_breaks_each_word_is_heard_once_in_the_end(cut: int, boot: int) -> None:
    bench = opened()
    taken: list[tuple[TakenLot, int]] = []
    promises: list[Promise] = []
    steps: list[Callable[[], object]] = [
        lambda: bench.give(jobs(4)),
        lambda: taken.extend(bench.take(1)),
        lambda: promises.append(bench.say(ACK, taken[0])),
        lambda: bench.wait(),
        lambda: taken.extend(bench.take(3)),
        lambda: promises.extend([bench.say(NACK, taken[1]), bench.say(ACK, taken[2], taken[3])]),
        lambda: bench.wait(),
    ]
    for place, step in enumerate(steps):
        if place == cut:
            bench.lose(boot)
            bench.open()
        step()
    last = [settle for settle in bench.all(c.Settle) if settle.epoch == bench.epoch]
    said = [count for s in last for a, b in _pairs(s) for count in range(a, b + 1)]
    assert sorted(said) == [1, 2, 3, 4], "each of them, of this epoch, and none twice"
    for settle in last:
        bench.answer(settle)
    assert [result(each) for each in promises] == [None] * 3
    assert not bench.it.settling.owes and not bench.it._lots
    assert bench.lose().held == ()


def _pairs(settle: c.Settle) -> list[tuple[int, int]]:
    done = list(zip(settle.done[::2], settle.done[1::2], strict=True))
    return [*done, *((first, last) for first, last, *_ in settle.entries)]


# --- leases -------------------------------------------------------------------------------------------------


def test_what_waits_keeps_its_lease_and_is_its_users_from_when_he_begins() -> None:
    bench = opened(10, lease=3000)
    bench.give(jobs(3))
    [one] = bench.take(1)
    assert bench.settled() == [], "it is fresh"
    bench.wait(1.1)
    bench.hear(c.Pong(1))
    [kept] = bench.settled()
    assert kept.entries == ((2, 3, EXTEND, 3000, ""),)
    bench.answer(kept, (3, 3))
    bench.wait(0.5)
    assert counts(bench.take(9)) == [2], "the third one is somebody else's by now"
    assert [s.entries for s in bench.settled()] == [((2, 2, EXTEND, 3000, ""),)]
    late = bench.say(ACK, one)
    assert [s.done for s in bench.settled()] == [(1, 1)] and is_open(late), "a late ack is the node's matter"


def test_what_is_given_again_was_taken_away_before_if_it_had_a_lease() -> None:
    bench = opened(lease=3000)
    bench.give(jobs(3))
    [one] = bench.take(1)
    bench.give(jobs(2), tries=b"\1\1")
    with pytest.raises(LeaseOver):
        bench.say(ACK, one)
    assert counts(bench.take(9)) == [3, 4, 5], "the second one that waited is void, too"
    assert bench.lose().held == ((STREAM, (3, 3)), (STREAM, (1, 2)))


def test_a_second_copy_of_what_is_here_is_another_job() -> None:
    """A node may have two, where another one was given up or a store has gone back: each is settled."""
    bench = opened()
    bench.give(jobs(2))
    [one] = bench.take(1)
    bench.give(jobs(2), tries=b"\1\0")
    others = bench.take(9)
    assert counts(others) == [2, 3, 4]
    kept = bench.say(ACK, one, *others)
    [settle] = bench.settled()
    assert settle.done == (1, 4) and is_open(kept)
    bench.answer(settle)
    assert result(kept) is None


# --- its end ------------------------------------------------------------------------------------------------


def test_leaving_it_says_what_was_begun_after_what_was_said() -> None:
    bench = opened()
    bench.give(jobs(5))
    one, other = bench.take(2)
    acked = bench.say(ACK, one)
    left = bench.core.queues.leave(bench.it)
    assert left is not None and bench.it.take() is None
    bench.wait()
    said = [s for s in bench.sent() if isinstance(s, c.Settle | c.Consume)]
    assert [type(s) for s in said] == [c.Settle, c.Consume]
    assert (said[1].credit, said[1].begun) == (0, 2)  # type: ignore[union-attr]
    with pytest.raises(LeaseOver):
        bench.say(ACK, other)
    bench.hear(c.Reply(said[1].request, {"epoch": 1}))
    assert result(left) is None and is_open(acked) and len(bench.core.queues) == 1
    bench.hear(c.Reply(said[0].request, []))
    assert result(acked) is None and len(bench.core.queues) == 0
    assert isinstance(bench.it.error, Closed)


def test_what_was_said_before_it_was_left_is_said_again_when_the_connection_breaks() -> None:
    bench = opened()
    bench.give(jobs(3))
    one, _ = bench.take(2)
    acked = bench.say(ACK, one)
    left = bench.core.queues.leave(bench.it)
    bench.wait()
    asked = bench.lose()
    assert result(left) is None, "nobody waits for a node that is away"
    assert (asked.credit, asked.held) == (1, ((STREAM, (1, 1)),))
    bench.open()
    [settle] = bench.settled()
    assert settle.done == (1, 1)
    bench.answer(settle)
    assert result(acked) is None
    assert len(bench.core.queues) == 1, "the node has not heard yet that it is left"
    bench.again_with(WELCOME)
    [asked] = bench.all(c.Consume)
    assert (asked.credit, asked.begun) == (0, 1)
    bench.hear(c.Reply(asked.request, {"epoch": 0}))
    assert len(bench.core.queues) == 0


def test_left_while_the_node_is_away_it_is_told_later() -> None:
    bench = opened()
    bench.give(jobs(3))
    bench.take(2)
    bench.core.gone(bench.desk.now, bench.core.line.key)
    assert bench.core.queues.leave(bench.it) is None
    bench.again_with(WELCOME)
    [asked] = bench.all(c.Consume)
    assert (asked.credit, asked.begun) == (0, 2)


def test_given_up_before_it_was_answered_it_is_taken_back() -> None:
    bench = Bench()
    bench.core.queues.give_up(bench.it)
    bench.wait()
    assert [asked.credit for asked in bench.all(c.Consume)] == [100, 0]
    bench.hear(c.Reply(bench.consume().request, {"epoch": 1}))
    assert len(bench.core.queues) == 0 and bench.core.calls.count == 0


def test_a_node_that_takes_too_long_to_answer_is_told_that_nobody_waits() -> None:
    bench = Bench()
    for _ in range(11):
        bench.wait(1.0)
        bench.hear(c.Pong(1))
    with pytest.raises(MeshTimeout):
        result(bench.entered)
    assert [asked.credit for asked in bench.all(c.Consume)] == [100, 0] and len(bench.core.queues) == 0


def test_a_queue_that_is_removed_ends_it_with_that_error() -> None:
    bench = opened()
    bench.give(jobs(3))
    one, other = bench.take(2)
    acked = bench.say(ACK, one)
    bench.hear(c.Ended(7, "NO_QUEUE", "jobs was removed. [NO_QUEUE]"))
    with pytest.raises(NoQueue, match=r"^jobs was removed\. \[NO_QUEUE\]$"):
        result(acked)
    assert isinstance(bench.it.error, NoQueue) and bench.it.take() is None
    with pytest.raises(NoQueue):
        bench.say(ACK, other)
    assert len(bench.core.queues) == 0
    bench.again_with(WELCOME)
    assert bench.all(c.Consume) == []


def test_refused_at_once_or_after_a_reconnect_it_says_why() -> None:
    bench = Bench()
    bench.hear(c.Reply(bench.consume().request, None, "NO_QUEUE", "there is no jobs [NO_QUEUE]"))
    with pytest.raises(NoQueue):
        result(bench.entered)
    bench = opened()
    bench.give(jobs(1))
    acked = bench.say(ACK, *bench.take(1))
    bench.lose(boot=2)
    bench.hear(c.Reply(bench.consume().request, None, "NO_QUEUE", "there is no jobs [NO_QUEUE]"))
    with pytest.raises(NoQueue):
        result(acked)
    assert isinstance(bench.it.error, NoQueue)


def test_the_end_of_the_client_is_the_end_of_all_who_wait() -> None:
    bench = opened()
    bench.give(jobs(1))
    acked = bench.say(ACK, *bench.take(1))
    bench.core.close()
    assert [s.done for s in bench.settled()] == [(1, 1)], "it leaves before"
    with pytest.raises(Closed):
        result(acked)


def test_a_node_of_an_earlier_release_is_asked_nothing() -> None:
    bench = opened()
    bench.give(jobs(1))
    acked = bench.say(ACK, *bench.take(1))
    bench.again_with(PLAIN)
    assert bench.all(c.Consume) == []
    with pytest.raises(NotAvailable, match="queues"):
        result(acked)
    with pytest.raises(NotAvailable, match="queues"):
        bench.core.check_queues()
    assert Report("disconnected", "") not in bench.done
