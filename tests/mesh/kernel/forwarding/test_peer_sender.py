"""Certificates that precede the messages of visitors."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.flow.bounded import Bounded
from mesh.kernel.forwarding.peer_sender import PeerSender
from mesh.routing.visits import Visits
from mesh.values import Hop
from mesh.wire.commands import Forward, Moved
from mesh.wire.sessions import Certificate
from tests.mesh.envelopes import envelope

JOE = "/node/heron/client/joe/session/1"
KEY, STORK = b"k" * 32, b"s" * 16


class Relay:
    """The sender of a node that forwards messages to the peer `ibis`."""

    def __init__(self) -> None:
        self.visits = Visits(lambda key, signature, text: True)
        self.certificate = Certificate(JOE, KEY, 1, STORK, bytes(64))
        self.context: Any = Mock(visits=self.visits)
        self.context.counters.tally.counters_of.return_value.sent = 0
        self.peer: Any = Mock()
        self.peer.exchange.certified = Bounded(10)
        stork = Mock()
        stork.node.uuid = STORK
        neighbours: Any = Mock(named=lambda name: stork if name == "stork" else None)
        self.sender = PeerSender(self.context, Mock(), neighbours, Mock(), Mock())

    def forwards(self, *nodes: str, sender: str = JOE) -> list[type]:
        """Return the commands that are sent for a message that came through these nodes."""
        route = tuple(Hop(node, 1, 1) for node in nodes)
        e = replace(envelope("k"), stream=self.certificate.stream, sender=sender, route=route)
        self.context.out.send.reset_mock()
        self.sender._ship(self.peer, [e])
        return [type(call.args[1]) for call in self.context.out.send.call_args_list]


def test_a_certificate_goes_before_the_first_message_of_a_visitor_of_another_node() -> None:
    relay = Relay()
    assert relay.forwards("stork", "me") == [Forward]
    relay.visits.observe(relay.certificate)
    assert relay.forwards("stork", "me") == [Moved, Forward]
    assert relay.forwards("stork", "me") == [Forward]
    relay.peer.exchange.certified.clear()  # another connection
    assert relay.forwards("stork", "me") == [Moved, Forward]


@pytest.mark.parametrize("sender", ["/node/stork/client/ann/session/1", "/node/heron/client/joe/session/2"])
def test_no_certificate_goes_before_the_messages_of_others(sender: str) -> None:
    relay = Relay()
    relay.visits.observe(relay.certificate)
    assert relay.forwards("stork", "me", sender=sender) == [Forward]
    assert relay.forwards("me") == [Forward], "the certificates of own visitors are sent when they come"
