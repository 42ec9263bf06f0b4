"""A client that leaves a drained node finishes its work there first."""

from __future__ import annotations

from msgspec.structs import replace

from mesh.client.access import Access
from mesh.client.core.departing import ANSWERS, WORK
from mesh.client.core.effects import CloseConnection, Find, SendCommand
from mesh.names import SENDS
from mesh.wire import commands as c
from mesh.wire.envelope import RESENT, Envelope
from mesh.wire.limits import VISITS
from tests.mesh.client.core.askers import Bench, reply
from tests.mesh.client.core.benches import result
from tools.costing.wire import WELCOME

THERE = "tcp://10.0.0.2:7710"
DRAINING = c.Bye("draining", (THERE,))
NEW = replace(WELCOME, node=c.Introduction(b"s" * 16, "stork", 7, THERE), speaks=(*WELCOME.speaks, VISITS))


class Drained(Bench):
    """A client whose node can send it to another one."""

    def __init__(self) -> None:
        super().__init__()
        self.again()
        self.core.line.choice._may_visit = lambda place: True
        self.core.line.words |= {VISITS}
        self.done.clear()

    @property
    def is_here(self) -> bool:
        return not any(isinstance(effect, CloseConnection) for effect in self.done)

    def publish(self) -> None:
        self.core.publisher.append_message("k", b"1", "NEWS", 0, b"", 0)
        self.wait(0.05)

    def keep_up(self, seconds: float) -> None:
        """Let `seconds` pass, with signs of life of the node."""
        end = self.context.now + seconds
        while self.context.now < end:
            self.wait(min(1.0, end - self.context.now))
            self.hear(c.Pong(1))

    def visit(self) -> None:
        """Let the client arrive at the node to which it was sent."""
        self.wait(0.2)
        self.done.clear()
        self.core.found(self.context.now, Access("ipc:///run/stork"))
        self.wait()
        self.hear(NEW)

    def sent_envelopes(self) -> list[Envelope]:
        return [e for effect in self.done if isinstance(effect, SendCommand) for e in effect.envelopes]


def test_an_idle_client_leaves_at_once_for_the_first_node_that_is_named() -> None:
    bench = Drained()
    bench.hear(DRAINING)
    assert not bench.is_here
    bench.wait(0.2)
    assert [effect.place for effect in bench.done if isinstance(effect, Find)] == [THERE]


def test_another_bye_ends_the_connection_at_once() -> None:
    bench = Drained()
    bench.ask()
    bench.wait()
    bench.hear(c.Bye("stopping"))
    assert not bench.is_here


def test_replies_are_awaited_and_new_requests_go_to_the_next_node_as_new_ones() -> None:
    bench = Drained()
    first, asked = bench.ask(timeout=60)
    bench.wait()
    bench.answer(first, first)
    bench.hear(DRAINING)
    second, later = bench.ask(timeout=60)
    bench.publish()
    assert [(e.domain, e.first) for e in bench.sent_envelopes()] == [(SENDS, first), ("NEWS", 1)]
    bench.keep_up(WORK - 1)
    assert bench.is_here
    bench.item(reply(first))
    assert result(asked).content == b"yes"
    bench.wait(0.1)
    bench.hear(c.Answers((c.Answer("NEWS", 1, 1),)))
    bench.wait(0.1)
    assert not bench.is_here and not later.done()
    bench.visit()
    [held] = bench.sent_envelopes()
    assert (held.first, held.flags & RESENT) == (second, 0)


def test_a_request_without_a_reply_delays_the_client_for_a_limited_time() -> None:
    bench = Drained()
    number, _ = bench.ask(timeout=60)
    bench.wait()
    bench.answer(number, number)
    bench.hear(DRAINING)
    bench.keep_up(WORK - 0.1)
    assert bench.is_here
    bench.wait(0.2)
    assert not bench.is_here


def test_published_messages_are_answered_before_the_client_leaves_and_newer_ones_wait() -> None:
    bench = Drained()
    bench.publish()
    bench.hear(DRAINING)
    bench.publish()
    bench.wait(ANSWERS - 0.1)
    assert bench.is_here and len(bench.sent_envelopes()) == 1
    bench.hear(c.Answers((c.Answer("NEWS", 1, 1),)))
    bench.wait(0.1)
    assert not bench.is_here
    bench.visit()
    [held] = bench.sent_envelopes()
    assert (held.first, held.flags & RESENT) == (2, 0)


def test_a_node_that_answers_no_more_delays_the_client_for_a_limited_time() -> None:
    bench = Drained()
    bench.publish()
    bench.hear(DRAINING)
    bench.wait(ANSWERS + 0.1)
    assert not bench.is_here


def test_a_connection_that_breaks_meanwhile_ends_the_departure() -> None:
    bench = Drained()
    bench.publish()
    bench.hear(DRAINING)
    bench.publish()
    bench.again()
    bench.hear(c.Answers((c.Answer("NEWS", 1, 2),)))
    bench.done.clear()
    bench.keep_up(ANSWERS + WORK)
    bench.publish()
    assert bench.is_here and bench.sent_envelopes()[-1].last == 3


def test_a_node_of_an_earlier_release_is_left_without_a_delay() -> None:
    bench = Drained()
    bench.core.line.words -= {VISITS}
    bench.publish()
    bench.hear(DRAINING)
    assert not bench.is_here
