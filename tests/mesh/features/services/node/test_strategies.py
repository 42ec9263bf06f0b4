"""The consumers of messages to an address, as the strategies choose them."""

from collections.abc import Sequence

import pytest

from mesh.balancers.base import Candidate, Message, Registration, Strategy
from mesh.balancers.local_first import LocalFirst
from mesh.balancers.sticky import Sticky
from mesh.balancers.weighted_round_robin import WeightedRoundRobin
from mesh.values import Headers
from mesh.wire.envelope import EVERY
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.features.services.node.user import User
from tests.simulation import SimNetwork, SimNode


@pytest.fixture
def net() -> SimNetwork:
    return SimNetwork()


def chance() -> float:
    return 0.5


def outstanding(node: SimNode, of: str) -> int:
    found: int = node.core.parts.balancing.outstanding(of)
    return found


def sent(user: User, to: str, *customers: str) -> None:
    """Send an envelope with one message for each customer, whose header names it. "" has no such header."""
    bodies, lengths = [], b""
    for customer in customers:
        headers = Headers({"customer": customer} if customer else {})
        props = encode_properties(Properties(headers))
        bodies.append(props + customer.encode())
        lengths += len(props).to_bytes(4, "little")
    user.send(to, *bodies, props=lengths)


def test_each_consumer_gets_as_much_wherever_it_is(net: SimNetwork) -> None:
    strategy = WeightedRoundRobin(chance)
    a, b = net.node("a"), net.node("b", "a", balancer=strategy)
    net.until(lambda: b.alive == {"a"})
    one, two, three = User(a, "one"), User(b, "two"), User(b, "three")
    for user in (one, two, three):
        user.serve("x", credit=1000)
    asker = User(b, "asker")
    for n in range(300):
        asker.send("x", b"%d" % n)
    net.until(lambda: sum(len(user.contents()) for user in (one, two, three)) == 300)
    assert len(one.contents()) == pytest.approx(100, abs=2)


def test_each_message_of_an_envelope_goes_where_its_header_says(net: SimNetwork) -> None:
    nodes = net.mesh("a", "b", "c", address_balancers=(("calc/#", Sticky(chance, "customer")),))
    servers = [User(node, f"server{place}") for place, node in enumerate(nodes)]
    for server in servers:
        server.serve("calc/add", credit=1000)
    askers = [User(node, f"asker{place}") for place, node in enumerate(nodes)]
    customers = [f"c{n}" for n in range(40)]
    for asker in askers:
        sent(asker, "calc/add", *customers, *customers)
    net.until(lambda: sum(len(server.contents()) for server in servers) == 240)
    homes = [set(server.contents()) for server in servers]
    assert sum(map(len, homes)) == 40 and all(homes), "each has its own customers, and these are at no other"


def test_without_the_header_they_are_dealt_out(net: SimNetwork) -> None:
    a, b = net.mesh("a", "b", balancer=Sticky(chance, "customer"))
    servers = User(a, "one"), User(b, "two")
    for server in servers:
        server.serve("x", credit=1000)
    sent(User(b, "asker"), "x", *[""] * 40)
    net.until(lambda: sum(len(server.contents()) for server in servers) == 40)
    assert [len(server.contents()) for server in servers] == [20, 20]


def test_what_can_be_done_here_stays_here(net: SimNetwork) -> None:
    a, b = net.mesh("a", "b", balancer=LocalFirst(chance))
    far, near, asker = User(a, "far"), User(b, "near"), User(b, "asker")
    for server in (far, near):
        server.serve("x", credit=1000)
    asker.send("x", *[b"m"] * 20)
    net.until(lambda: len(near.contents()) == 20)
    near.unserve("x")
    asker.send("x", *[b"m"] * 20)
    net.until(lambda: len(far.contents()) == 20)


def test_what_is_not_answered_is_outstanding_and_nothing_stays_so(net: SimNetwork) -> None:
    a, b = net.mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x", credit=2)
    first = asker.request("x", *[b"m"] * 6)
    net.until(lambda: len(server.contents()) == 2)
    net.run(1)
    assert outstanding(b, "a") == 6, "also those that somebody works on"
    server.reply((1, b"r"), (2, b"r"))
    net.until(lambda: len(server.contents()) == 4)
    net.run(1)
    assert outstanding(b, "a") == 4
    server.vanish()
    net.until(lambda: asker.state(first + 5))
    net.run(1)
    assert outstanding(b, "a") == 0


def test_a_node_that_is_gone_owes_nothing(net: SimNetwork) -> None:
    a, b = net.mesh("a", "b")
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x", credit=2)
    first = asker.request("x", *[b"m"] * 6)
    net.until(lambda: len(server.contents()) == 2)
    a.kill()
    net.until(lambda: asker.state(first + 5) == "HANDLER_LOST")
    assert outstanding(b, "a") == 0


class Nobody(Strategy):
    """A strategy that gives messages for all consumers to none."""

    def __init__(self) -> None:
        super().__init__(chance)
        self.told: list[Registration] = []

    def pick(self, candidates: Sequence[Candidate], message: Message | None = None) -> str:
        return candidates[0].node

    def several(self, candidates: Sequence[Candidate], message: Message | None = None) -> list[str]:
        return []

    def registrations(self, delta: Sequence[Registration]) -> None:
        self.told += delta


def test_what_a_strategy_gives_nobody_is_answered_all_the_same(net: SimNetwork) -> None:
    strategy = Nobody()
    a, b = net.node("a"), net.node("b", "a", balancer=strategy)
    net.until(lambda: b.alive == {"a"})
    server, asker = User(a, "server"), User(b, "asker")
    server.serve("x")
    n = asker.request("x", b"m", flags=EVERY)
    net.until(lambda: asker.state(n))
    assert (asker.state(n), server.contents()) == ("NO_HANDLERS", [])
    assert strategy.told == [Registration("x", "a")]
