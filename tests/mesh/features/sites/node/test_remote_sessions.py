"""Requests of one session that come through several gateways of its site."""

import pytest

from mesh.wire.envelope import EVERY, REQUEST
from tests.mesh.features.sites.node.meshes import FIRST, gateway, links, member
from tests.mesh.features.sites.node.test_requests import User, table
from tests.seeds import scenarios
from tests.simulation import SimNetwork


class Moved:
    """A session of LON with an open message through gateway b, and one through a, which connected later.

    The server in NYC holds another message. With a `credit` of 1 the two wait for that.
    """

    def __init__(self, flags: int, credit: int = 1) -> None:
        net = self.net = SimNetwork()
        self.c = gateway(net, "c", "NYC", "LON", tables=table("LON"))
        net.cut("a", "c")
        self.a = gateway(net, "a", "LON", "NYC", FIRST, tables=table("NYC"))
        self.b = gateway(net, "b", "LON", "NYC", FIRST, "a", tables=table("NYC"))
        asks = member(net, "m", "LON", "a", tables=table("NYC"))
        net.until(lambda: links(self.c) == 1 and {"a", "b"} <= set(asks.alive))
        self.server, self.asker = User(self.c, "server"), User(asks, "asker")
        self.others = set(self.c.core.parts.sessions.others)
        self.server.serve("calc/add", credit=credit)
        held = self.asker.send("/site/NYC/calc/add", b"held")
        net.until(lambda: self.asker.state(held) == "OK")
        self.numbers = [self._send(b"1", flags)]
        net.heal()
        net.until(lambda: links(self.a) == 1)
        net.run(2)
        self.numbers.append(self._send(b"2", flags))
        assert self.a.metric("site_requests") == self.b.metric("site_requests") == 1

    def _send(self, content: bytes, flags: int) -> int:
        number = self.asker.send("/site/NYC/calc/add", content, flags=flags, ttl=60_000)
        self.net.run(1)
        return number

    def serve_all(self) -> None:
        """Settle the held message, and reply to the two others, if they come."""
        self.server.done(1, 1)
        for count in (2, 3):
            self.net.run(1)
            if len(self.server.contents()) >= count:
                self.server.reply((count, b"re: " + self.server.contents()[-1]))

    def outcomes(self) -> list[str]:
        """The final outcome of each message: a reply, a code, or OK for a message without a reply."""
        replies = {n: content.decode() for n, content, code, _ in self.asker.replies if not code}
        return [replies.get(n) or self.asker.fate(n) for n in self.numbers]

    def has_forgotten(self) -> bool:
        """Whether the gateway of NYC has forgotten the session."""
        return set(self.c.core.parts.sessions.others) == self.others


@pytest.mark.parametrize("flags", scenarios([0, REQUEST, REQUEST | EVERY], 2))
def test_each_message_is_answered_through_the_gateway_that_brought_it(flags: int) -> None:
    it = Moved(flags)
    it.serve_all()
    it.net.run(3)
    assert it.outcomes() == (["re: 1", "re: 2"] if flags else ["OK", "OK"])
    assert it.has_forgotten()


def test_replies_that_a_server_sends_together_are_split_between_the_gateways() -> None:
    it = Moved(REQUEST, credit=3)
    assert it.server.contents() == [b"held", b"1", b"2"]
    it.server.reply((2, b"re: 1"), (3, b"re: 2"))
    it.net.run(3)
    assert it.outcomes() == ["re: 1", "re: 2"]
    assert it.a.metric("site_requests") == it.b.metric("site_requests") == 0
    assert it.has_forgotten()


@pytest.mark.parametrize("lost", ["a", "b"])
@pytest.mark.parametrize("flags", scenarios([0, REQUEST, REQUEST | EVERY], 2))
def test_a_lost_gateway_ends_only_the_messages_that_it_brought(flags: int, lost: str) -> None:
    it = Moved(flags)
    {"a": it.a, "b": it.b}[lost].kill()
    it.net.run(1)
    it.serve_all()
    it.net.run(3)
    answered = ["re: 1", "re: 2"] if flags else ["OK", "OK"]
    answered["ba".index(lost)] = "HANDLER_LOST"
    assert it.outcomes() == answered
    assert it.has_forgotten()
