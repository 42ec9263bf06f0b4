"""Calls of a client: each gets its whole reply, its error, or an end of the wait."""

from typing import Any

import pytest

from mesh.client.core.calls import REPEAT, UNDER_WAY, Pending
from mesh.errors import BadArgument, Closed, MasterAway, MeshTimeout
from mesh.wire import commands as c
from mesh.wire.commands import Call, Reply
from tests.mesh.client.core.benches import CoreBench, result
from tests.mesh.envelopes import envelope

TIMEOUT = 5.0


class Bench(CoreBench):
    """A connected client that sends calls."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        super().__init__(timeout)
        self.calls = self.core.calls

    def ask(self, verb: str = "erase") -> Pending:
        """Send a call, and return it while it waits."""
        pending = self.calls.send_with_timeout(lambda request: Call(request, verb))
        self.wait()
        return pending

    def live(self, seconds: float) -> None:
        """Let time pass while the node answers pings and nothing else."""
        end = self.context.now + seconds
        while self.context.now < end:
            self.wait(0.5)
            self.hear(c.Pong(1))

    def asked(self) -> list[c.Command]:
        return [command for command in self.sent() if isinstance(command, Call)]


def value(pending: Pending) -> Any:
    """Return the value of a reply in one part."""
    [(value, _)] = result(pending.promise)
    return value


def test_each_question_gets_its_own_reply() -> None:
    bench = Bench()
    first, second = bench.ask(), bench.ask()
    assert bench.asked() == [Call(1, "erase"), Call(2, "erase")]
    bench.hear(Reply(2, "two"))
    bench.hear(Reply(1, "one"))
    bench.hear(Reply(1, "again"))
    assert (value(first), value(second)) == ("one", "two")


def test_a_reply_in_parts_keeps_what_came_with_what() -> None:
    bench = Bench()
    asked = bench.ask("get")
    one, two = envelope("a"), envelope("b")
    bench.hear(Reply(1, {"more": True, "sources": [["x", None]]}), one)
    assert not asked.promise.done()
    bench.hear(Reply(1, {"sources": [["y", 2.5]]}), two)
    assert [(part["sources"], found) for part, found in result(asked.promise)] == [
        ([["x", None]], [one]),
        ([["y", 2.5]], [two]),
    ]


def test_after_a_reconnect_it_asks_again_with_the_same_number_and_forgets_half_a_reply() -> None:
    bench = Bench()
    asked = bench.ask()
    bench.hear(Reply(1, {"more": True}), envelope("a"))
    bench.again()
    assert bench.asked() == [Call(1, "erase")]
    bench.hear(Reply(1, {}), envelope("b"))
    assert [found[0].keys for _, found in result(asked.promise)] == [("b",)]
    bench.again()
    assert bench.asked() == [], "what is answered is not asked again"


def test_what_is_told_while_the_node_is_away_is_asked_when_it_is_back() -> None:
    bench = Bench()
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    bench.calls.send_command(lambda request: c.Unsubscribe(request, 7))
    bench.wait()
    assert c.Unsubscribe(1, 7) not in bench.sent()
    bench.connect()
    assert c.Unsubscribe(1, 7) in bench.sent()


def test_whoever_is_to_hear_it_first_does_and_hears_of_no_refusal() -> None:
    bench = Bench()
    order = list[bool]()

    def then() -> None:
        order.append(pending.promise.done())

    refused = bench.calls.send_with_timeout(lambda request: Call(request, "get"), then)
    pending = bench.calls.send_with_timeout(lambda request: Call(request, "get"), then)
    bench.hear(Reply(1, None, "MASTER_AWAY", "away."))
    bench.hear(Reply(2, {"more": True}))
    assert order == []
    bench.hear(Reply(2, {}))
    assert order == [False] and refused.promise.done() and pending.promise.done()


def test_a_code_becomes_its_error() -> None:
    bench = Bench()
    asked = bench.ask()
    bench.hear(Reply(1, None, "MASTER_AWAY", "that is why. [MASTER_AWAY]"))
    with pytest.raises(MasterAway, match=r"^that is why\. \[MASTER_AWAY\]$"):
        result(asked.promise)


def test_what_no_node_could_read_is_not_asked() -> None:
    bench = Bench()
    with pytest.raises(
        BadArgument, match="The call 'get' cannot be sent: a value of type object is not allowed"
    ):
        bench.calls.send_with_timeout(lambda request: Call(request, "get", {"what": object()}))
    bench.again()
    assert bench.asked() == []


def test_a_node_that_does_not_answer_is_not_waited_for_long() -> None:
    bench = Bench()
    asked = bench.ask()
    bench.live(TIMEOUT - 0.5)
    assert not asked.promise.done()
    bench.live(0.5)
    with pytest.raises(MeshTimeout, match=r"Node .* did not answer within"):
        result(asked.promise)
    bench.hear(Reply(1, "late"))
    bench.again()
    assert bench.asked() == []


def test_a_question_waits_for_as_long_as_pieces_of_anything_come_or_go() -> None:
    bench = Bench()
    asked = bench.ask()
    for _ in range(8):
        bench.live(2.0)
        bench.core.on_piece(bench.context.now, bench.core.line.key)
    bench.live(TIMEOUT - 0.5)
    assert not asked.promise.done()
    bench.live(TIMEOUT + 0.5)
    with pytest.raises(MeshTimeout):
        result(asked.promise)


def test_pieces_on_a_connection_that_is_gone_are_none() -> None:
    bench = Bench()
    asked = bench.ask()
    bench.live(TIMEOUT - 1)
    bench.core.on_piece(bench.context.now, 99)
    bench.live(1.0)
    assert asked.promise.done()


def test_what_its_asker_has_given_up_is_neither_waited_for_nor_asked_again() -> None:
    bench = Bench()
    asked = bench.ask()
    bench.calls.drop_pending(asked)
    bench.calls.drop_pending(asked)
    bench.live(TIMEOUT + 1)
    bench.hear(Reply(1, "late"))
    assert not asked.promise.done()
    bench.again()
    assert bench.asked() == []


def test_with_all_the_time_in_the_world_no_alarm_is_set() -> None:
    bench = Bench(timeout=float("inf"))
    before = bench.context.due
    bench.ask()
    bench.live(1000.0)
    bench.hear(Reply(1, "late"))
    assert before < float("inf")


def test_closing_ends_the_waiting_and_nobody_asks_any_more() -> None:
    bench = Bench()
    asked, told = bench.ask(), bench.ask()
    bench.calls.close(Closed("closed."))
    for each in (asked, told):
        with pytest.raises(Closed):
            result(each.promise)
    with pytest.raises(Closed):
        bench.ask()
    bench.live(TIMEOUT + 1)
    bench.hear(Reply(1, "late"))


def test_so_many_calls_are_with_the_node_at_once_and_the_others_follow_in_their_order() -> None:
    bench = Bench()
    asked = [bench.ask() for _ in range(UNDER_WAY + 3)]
    first = [Call(number + 1, "erase") for number in range(UNDER_WAY)]
    assert bench.asked() == first
    bench.done.clear()
    bench.calls.send_command(lambda request: c.Unsubscribe(request, 7))
    bench.wait()
    assert c.Unsubscribe(UNDER_WAY + 4, 7) in bench.sent(), "what is no call does not wait"
    bench.hear(Reply(5, {"more": True}))
    assert bench.asked() == [], "it is not answered yet"
    bench.calls.drop_pending(asked[UNDER_WAY])  # its caller gave up before it was sent
    bench.hear(Reply(5, "five"))
    bench.wait()
    assert bench.asked() == [Call(UNDER_WAY + 2, "erase")]
    bench.again()
    sent = bench.asked()
    assert sent == [*first[:4], *first[5:], Call(UNDER_WAY + 2, "erase")], "after a reconnect, too"
    bench.done.clear()
    bench.calls.drop_pending(asked[0])
    bench.wait()
    assert bench.asked() == [Call(UNDER_WAY + 3, "erase")]


def test_calls_that_wait_are_ended_with_the_others_and_none_is_sent_then() -> None:
    bench = Bench()
    asked = [bench.ask() for _ in range(UNDER_WAY + 1)]
    bench.done.clear()
    bench.calls.close(Closed("closed."))
    bench.wait()
    assert bench.asked() == []
    with pytest.raises(Closed):
        result(asked[-1].promise)


def test_a_call_that_waits_in_vain_is_told_so() -> None:
    bench = Bench()
    asked = [bench.ask() for _ in range(UNDER_WAY + 1)]
    bench.live(TIMEOUT)
    for each in (asked[0], asked[-1]):
        with pytest.raises(MeshTimeout):
            result(each.promise)


def consume(bench: Bench) -> Pending:
    pending = bench.calls.send_with_timeout(lambda request: c.Consume(request, 7, "calc", 1))
    bench.wait()
    return pending


def consumes(bench: Bench) -> int:
    return sum(isinstance(command, c.Consume) for command in bench.sent())


def test_law_2_a_consume_that_a_drained_node_refuses_is_repeated_there_and_at_the_next_node() -> None:
    bench = Bench()
    asked = consume(bench)
    assert not bench.calls.is_idle
    for count in (1, 2):
        assert consumes(bench) == count
        bench.hear(Reply(1, code="NODE_DRAINING", text="drained"))
        assert bench.calls.is_idle and not asked.promise.done()
        bench.wait(REPEAT)
    bench.hear(Reply(1, code="NODE_DRAINING", text="drained"))
    bench.again()
    before = consumes(bench)
    bench.wait(REPEAT)
    assert consumes(bench) == before, "it is repeated only after another refusal"
    bench.hear(Reply(1, {"epoch": 4}))
    assert value(asked) == {"epoch": 4}


def test_law_2_a_refused_consume_that_is_abandoned_is_not_repeated() -> None:
    bench = Bench()
    asked = consume(bench)
    bench.hear(Reply(1, code="NODE_DRAINING", text="drained"))
    bench.calls.drop_pending(asked)
    bench.wait(REPEAT)
    assert consumes(bench) == 1 and bench.calls.is_idle


def test_law_2_a_command_that_a_new_connection_sent_first_is_not_sent_again() -> None:
    bench = Bench()
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    resubscribe = bench.core.subscriptions.resubscribe

    def with_a_call(*terms: Any) -> None:
        bench.calls.send_command(lambda request: Call(request, "attach"))
        resubscribe(*terms)

    bench.core.subscriptions.resubscribe = with_a_call  # type: ignore[method-assign,assignment]
    bench.connect()
    assert bench.asked() == [Call(1, "attach")]
