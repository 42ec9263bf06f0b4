"""Settlements of queue messages: each takes effect once, wherever the connection breaks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mesh.client.core.client_context import Promise
from mesh.client.core.delivered_envelope import ACK, SAID, DeliveredEnvelope
from mesh.errors import LeaseOver, LocalError, MeshError
from mesh.wire import commands as c
from mesh.wire.commands import EXTEND, NACK, REJECT
from tests.mesh.client.core.benches import result
from tests.mesh.client.core.takers import WELCOME, is_open, jobs, opened


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
        with pytest.raises(LeaseOver, match="When the node received the settlement"):
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


@pytest.mark.parametrize(("ago", "is_said"), [(30.0, True), (90.0, False)])
def test_the_error_for_a_late_ack_says_how_long_the_loop_was_blocked(ago: float, is_said: bool) -> None:
    bench = opened()
    bench.give(jobs(1))
    promise = bench.say(ACK, *bench.take(1))
    now = bench.context.now
    bench.core.line.standstill.rang(now - ago - 40, now - ago)
    [settle] = bench.settled()
    bench.answer(settle, (1, 1))
    with pytest.raises(LeaseOver) as error:
        result(promise)
    assert ("blocked for 40 s" in error.value.what) is is_said
    assert ("asyncio.to_thread" in error.value.hint) is is_said


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


def test_long_reasons_go_in_several_commands_that_a_node_can_read() -> None:
    bench = opened(1000)
    bench.give(jobs(1000))
    promises = [bench.say(REJECT, each, reason="\N{PILE OF POO}" * 200) for each in bench.take(1000)]
    settles = bench.settled()
    assert len(settles) > 1 and sum(len(s.entries) for s in settles) == 1000
    for settle in settles:
        bench.answer(settle)
    assert all(result(each) is None for each in promises)


@pytest.mark.parametrize("is_late", [False, True])
def test_an_ack_whose_answer_was_lost_is_said_again_under_its_new_count(is_late: bool) -> None:
    bench = opened()
    bench.give(jobs(3))
    taken = bench.take(3)
    promise = bench.say(ACK, taken[2])
    [before] = bench.settled()
    asked = bench.lose()
    assert sum(b - a + 1 for _, ends in asked.held for a, b in zip(ends[::2], ends[1::2], strict=True)) == 3
    bench.hear(c.Reply(before.request, []))  # an answer on the lost connection is ignored
    assert is_open(promise)
    bench.open(void=[3, 3])  # done, or another consumer's: the answer tells
    [settle] = bench.settled()
    assert (settle.done, settle.epoch) == ((3, 3), 2)
    bench.answer(settle, *([(3, 3)] if is_late else []))
    if is_late:
        with pytest.raises(LeaseOver, match="When the node was reachable again"):  # the reason is unknown
            result(promise)
    else:
        assert result(promise) is None


def test_what_is_said_while_nothing_is_open_is_said_when_something_is() -> None:
    bench = opened()
    bench.give(jobs(3))
    a, b, d = bench.take(3)
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    bench.wait()
    first = bench.say(ACK, a)
    bench.again_with(WELCOME)
    second = bench.say(NACK, b)
    assert bench.settled() == [] and is_open(first)
    bench.again_with(WELCOME)  # reconnect again, before an answer
    third = bench.say(ACK, d)
    bench.open()
    [settle] = bench.settled()
    # The ack that was already in the list comes after the others.
    assert (settle.done, settle.entries) == ((1, 2), ((3, 3, NACK, 0, ""),))
    bench.answer(settle)
    assert [result(each) for each in (first, second, third)] == [None] * 3


def test_what_was_said_before_a_connection_broke_is_repeated_in_the_order_in_which_it_was_said() -> None:
    bench = opened()
    bench.give(jobs(1))
    [one] = bench.take()
    for delay in (700, 800):
        bench.say(EXTEND, one, delay=delay)
        assert len(bench.settled()) == 1
    bench.say(NACK, one)  # behind them, not sent yet
    bench.lose()
    bench.open()
    [settle] = bench.settled()
    assert settle.entries == ((1, 1, EXTEND, 700, ""), (1, 1, EXTEND, 800, ""), (1, 1, NACK, 0, ""))


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
    bench.answer(settle, (5, 9))  # with tags that do not exist
    assert result(promise) is None


@pytest.mark.parametrize("cut", range(7))
@pytest.mark.parametrize("boot", [1, 2])
def test_wherever_the_connection_breaks_each_word_is_heard_once_in_the_end(cut: int, boot: int) -> None:
    bench = opened()
    taken: list[tuple[DeliveredEnvelope, int]] = []
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
    assert not bench.it.settling.owes and not bench.it._inbox.envelopes
    assert bench.lose().held == ()


def _pairs(settle: c.Settle) -> list[tuple[int, int]]:
    done = list(zip(settle.done[::2], settle.done[1::2], strict=True))
    return [*done, *((first, last) for first, last, *_ in settle.entries)]


@pytest.mark.parametrize(("is_done", "is_new"), [(True, True), (True, False), (False, True)])
def test_what_a_transaction_returned_before_a_restart_is_returned_again_if_the_node_took_it_as_held(
    is_done: bool, is_new: bool
) -> None:
    bench = opened()
    bench.give(jobs(3))
    (delivered, first), (_, second), _ = bench.take(3)
    settling = bench.it.settling
    for place in (first, second):
        delivered.states[place] = SAID
    settling.hold((delivered, (first, second)))
    if is_new:
        bench.lose(boot=2)
        bench.open()
    settling.release((delivered, (first, second)), is_done=is_done)
    said = [entry for settle in bench.settled() for entry in settle.entries]
    assert said == ([(2, 3, NACK, 0, "")] if is_done and is_new else [])
