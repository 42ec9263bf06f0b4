"""The cost of an envelope for the nodes of a group, a durable subscription, and two sites."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from mesh.config.sites import RemoteSite
from mesh.mapping.rules import Rule
from mesh.names import PUTS, SUBS, group_name
from mesh.site_policy.accepting import Accepts
from mesh.wire import commands as c
from tools.costing.meter import Bill
from tools.costing.nodes import ANSWERED, CONTENT, FULL, NEWS, QUIET, MeteredNetwork
from tools.costing.queues import CREDIT, Boss
from tools.simulator.clients.client import SimClient
from tools.simulator.world.keys import gateway_settings, member_settings, tables_of
from tools.simulator.world.node import SimNode

PATTERN = "bench/#"
KEYS = "bench/1 "
HERE, THERE = "LON", "NYC"


class Member(Boss):
    """A member of a group, whose settlements are not answered."""

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        super().hear(key, frames)
        self.settled = self._given

    def settle(self, first: int, last: int) -> None:
        self.say(c.Settle(1, self._epoch, (first, last)))


class ConsumerPath:
    """The path from a publisher at the first node to consumers that ack, at nodes given by index."""

    def __init__(
        self, address: str, consumers: tuple[int, ...], kind: type[Boss] = Boss, durable: str = ""
    ) -> None:
        self._net = MeteredNetwork()
        nodes = self._net.mesh(*("frodo", "heron", "ibis")[: 1 + max(consumers)])
        self._publisher = SimClient(self._net, nodes[0].ipc, "publisher").connected()
        self._consumers = [kind(self._net, nodes[at], f"consumer{at}") for at in consumers]
        self._published = 0
        self._net.run(1)
        if durable:
            queries = [("pattern", PATTERN, "")]
            self._consumers[0].say(c.Call(1, "durable", {"name": durable, "queries": queries}))
            self._net.run(1)
        for consumer in self._consumers:
            consumer.say(c.Consume(2, 1, address, CREDIT))
        self._net.run(QUIET)
        for count in (FULL, 1):
            self.bill(count)

    def bill(self, count: int) -> Bill:
        """Return the bill for an envelope with `count` messages for each consumer."""
        for consumer in self._consumers:
            consumer.say(c.Ping(1))
        self._net.run(ANSWERED)
        self._net.meter.take()
        n = count * len(self._consumers)
        self._publisher.publish(KEYS * n, *[CONTENT] * n)
        self._published += n
        self._net.run(ANSWERED)
        bill = self._net.meter.take()
        assert self._publisher.is_through, "not all of it is answered"
        settled = sum(consumer.settled for consumer in self._consumers)
        assert settled == self._published, f"{settled} of {self._published} acked"
        return bill


def group() -> ConsumerPath:
    """Return the path to a group with a member at each of two other nodes."""
    return ConsumerPath(group_name("workers", "", PATTERN), (1, 2), Member)


def durable() -> ConsumerPath:
    """Return the path to a durable subscription that another node reads."""
    return ConsumerPath(PUTS + SUBS + "audit", (1,), durable="audit")


class SitePath:
    """The path from a client of one site to a subscriber in another, over five nodes.

    These are the publisher's node, the master, both gateways, and the subscriber's node.
    """

    def __init__(self) -> None:
        net = self._net = MeteredNetwork()
        here = self._site(HERE, THERE, ("bilbo", "frodo", "heron"), ())
        there = self._site(THERE, HERE, ("ibis", "stork"), (here[-1].address,))
        net.until(lambda: here[-1].metric("site_links") == there[0].metric("site_links") == 1)
        reader = SimClient(net, there[-1].ipc, "reader").connected()
        self._subscription = reader.subscribed(pattern=PATTERN, domain=NEWS)
        self._publisher = SimClient(net, here[0].ipc, "publisher").connected()
        net.run(QUIET)
        for count in (FULL, 1):
            self.bill(count)

    def _site(self, site: str, other: str, names: Sequence[str], dials: tuple[str, ...]) -> list[SimNode]:
        """Return the nodes of a site.

        The gateway to `other` is the last node of HERE, and the first of THERE.
        """
        tables = tables_of([RemoteSite(other, domains=(NEWS,), accepts=Accepts(domains=(NEWS,)))])
        gateway = names[-1] if site == HERE else names[0]
        nodes = []
        for name in names:
            is_gateway = name == gateway
            keys = gateway_settings(name, site, {other: dials}) if is_gateway else member_settings(name, site)
            rules = (Rule(names[1], domains=(NEWS,)),) if site == HERE else ()
            nodes.append(self._net.node(name, *names[:1], rules=rules, **{**keys, **tables}))
        self._net.until(lambda: all(len(node.alive) == len(names) - 1 for node in nodes))
        return nodes

    def bill(self, count: int) -> Bill:
        self._net.run(ANSWERED)
        self._net.meter.take()
        before = len(self._subscription.got)
        self._publisher.publish(KEYS * count, *[CONTENT] * count, domain=NEWS)
        self._net.run(ANSWERED)
        bill = self._net.meter.take()
        assert self._publisher.is_through, "not all of it is answered"
        received = len(self._subscription.got) - before
        assert received == count, f"{count} messages were published, {received} received"
        return bill
