"""The messages that go back behind one that expired in transit."""

from collections.abc import Collection
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.kernel.forwarding.transit_returns import TransitReturns
from mesh.mapping.decision import CHANGING
from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import PendingForward
from mesh.wire.commands import Answer
from mesh.wire.limits import DIRTY
from tests.mesh.envelopes import STREAM, envelope
from tests.mesh.origins import CLIENT, Party

ABROAD = "/site/LON/node/x/client/y/session/1"
EXPIRED = Answer("", 1, 1, "EXPIRED")


class Frodo(Party, frozen=True):
    """The node that forwarded the messages."""

    speaks: Collection[str] = (DIRTY,)

    def features(self) -> Collection[str]:
        return self.speaks

    def is_there(self) -> bool:
        return True


FRODO = Frodo(b"frodo")


class Stage:
    """Messages 1 to 3 in transit, for heron."""

    def __init__(self, origin: Any = FRODO, **fields: Any) -> None:
        context: Any = Mock()
        context.me.name = "avalon"
        self.onward = ForwardTable(10_000, 10_000)
        self.recorded: list[tuple[int, int, str]] = []
        self.returns = TransitReturns(context, self.onward, self._record)
        self.entries = [self._add(replace(envelope(first=n), **fields), origin) for n in (1, 2, 3)]

    def _add(self, e: Any, origin: Any) -> PendingForward:
        entry = self.onward.add(e, origin, 0.0)
        self.onward.set_next_hops(entry, ("heron",), "away")
        return entry

    def _record(self, entry: PendingForward, hop: str, answer: Answer) -> None:
        self.recorded.append((answer.first, answer.last, answer.state))
        self.onward.settle(entry, hop, answer.first, answer.last)

    def expired(self) -> list[tuple[int, int, str]]:
        """Return the answers after the first message has expired."""
        self.onward.settle(self.entries[0], "heron", 1, 1)
        self.returns.on_answer(self.entries[0], EXPIRED)
        self.returns.return_waiting()
        return self.recorded


def test_waiting_messages_behind_an_expired_one_go_back() -> None:
    assert Stage().expired() == [(2, 2, CHANGING), (3, 3, CHANGING)]


@pytest.mark.parametrize(
    ("origin", "fields"),
    [
        (CLIENT, {}),
        (Frodo(b"older", ()), {}),
        (FRODO, {"to": "/node/heron/client/joe"}),
        (FRODO, {"sender": ABROAD}),
    ],
    ids=["of a client here", "of a node of an earlier release", "direct", "of another site"],
)
def test_messages_stay_that_their_origin_would_not_send_again(origin: Any, fields: dict[str, Any]) -> None:
    assert Stage(origin, **fields).expired() == []


def test_a_sent_message_stays_and_goes_back_if_its_next_hop_returns_it() -> None:
    stage = Stage()
    stage.entries[1].presume_sent()
    assert stage.expired() == [(3, 3, CHANGING)]
    assert stage.returns.returns_entry(stage.entries[1])


def test_an_arriving_message_goes_back_once() -> None:
    stage, party = Stage(), Mock(wraps=FRODO, is_local=False)
    assert not stage.returns.return_arrived(envelope(first=4), party)
    stage.expired()
    assert stage.returns.return_arrived(envelope(first=4), party)
    stream, answer = party.answer.call_args.args
    assert (stream, answer.first, answer.last, answer.state) == (STREAM, 4, 4, CHANGING)
    assert not stage.returns.return_arrived(envelope(first=4), party)
