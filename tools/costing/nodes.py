"""The cost of an envelope for the nodes that it passes.

Their cores are real, on simulated wires; one envelope is in transit at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

from mesh.features.services.client.core.requests import One
from mesh.features.services.client.core.serving import ClientServing
from mesh.mapping.rules import Rule
from mesh.wire.envelope import REQUEST
from tools.costing.meter import Bill, Meter
from tools.simulator.clients.client import SimClient
from tools.simulator.clients.kept import Subscription
from tools.simulator.clients.outcome import Outcome
from tools.simulator.world.mesh import SimNetwork
from tools.simulator.world.node import SimNode

CONTENT = bytes(100)
QUIET = 5.0  # s until nodes and clients are quiet
THROUGH = 0.05  # s until an envelope and its answers arrive
ANSWERED = 0.2  # s until requests are answered and settled
FULL = 100  # messages in the larger of the two envelopes
NEWS = "NEWS"
ON_THE_WAY = {
    "bilbo": (Rule("frodo", 1, (NEWS,)),),
    "frodo": (Rule("frodo", 2, (NEWS,)), Rule("heron", domains=(NEWS,))),
    "heron": (Rule("heron", domains=(NEWS,)),),
}


class MeteredNode(SimNode):
    """A node whose core is counted when it handles input, but not when time passes."""

    net: MeteredNetwork

    def made(self) -> None:
        for name in ("receive", "stored", "take_effects"):
            setattr(self.core, name, self.net.meter.metered(getattr(self.core, name)))


class MeteredNetwork(SimNetwork):
    """A mesh whose nodes share a meter."""

    def __init__(self) -> None:
        super().__init__(1)
        self.meter = Meter()

    def node(self, name: str, *seeds: str, **settings: object) -> SimNode:
        node = MeteredNode(self, name, seeds, settings)
        node.start()
        return node


class NodePath:
    """The path from a client of the first node to the `subscribers` at the last one."""

    def __init__(
        self,
        nodes: int = 1,
        subscribers: int = 1,
        topics: int = 1,
        domain: str = "",
        persistent: bool = False,
        rules: Sequence[Rule] = (),
    ) -> None:
        self._net = MeteredNetwork()
        first, last = self._mesh(nodes, domain, rules)
        self._keys = cycle([f"bench/{topic}" for topic in range(topics)])
        self._options = {"domain": domain, "persistent": persistent}
        self._subscriptions = [self._subscriber(last, i, domain) for i in range(subscribers)]
        self._publisher = SimClient(self._net, first.ipc, "publisher").connected()
        self._net.run(QUIET)
        for _ in range(max(1, topics // 100)):
            self.bill(100)
        self.bill(1)

    def _mesh(self, nodes: int, domain: str, rules: Sequence[Rule]) -> Sequence[SimNode]:
        names = ("bilbo", "frodo", "heron")[-nodes:]
        if rules:
            mesh = [self._net.node(name, *names[:1], rules=rules) for name in names]
        elif not domain:
            mesh = self._net.mesh(*names)
        else:
            mesh = [
                self._net.node(name, *names[:1], rules=ON_THE_WAY[name], known=names, links="configured")
                for name in names
            ]
            self._net.until(lambda: all(len(node.alive) == nodes - 1 for node in mesh))
        return mesh[0], mesh[-1]

    def _subscriber(self, node: SimNode, i: int, domain: str) -> Subscription:
        client = SimClient(self._net, node.ipc, f"subscriber{i}").connected()
        return client.subscribed(pattern="bench/#", domain=domain)

    def bill(self, count: int) -> Bill:
        self._net.meter.take()
        before = [len(subscription.got) for subscription in self._subscriptions]
        keys = " ".join(islice(self._keys, count))
        self._publisher.publish(keys, *[CONTENT] * count, **self._options)  # type: ignore[arg-type]
        self._net.run(THROUGH)
        bill = self._net.meter.take()
        came = [len(s.got) - n for s, n in zip(self._subscriptions, before, strict=True)]
        assert came == [count] * len(came), f"{count} messages were published, {came} came"
        assert self._publisher.is_through, "not all of it is answered"
        return bill


class Echo(SimClient):
    """A client that serves an address, and replies immediately with the request."""

    _serving: ClientServing | None = None

    def serve(self, address: str) -> None:
        services, number = self.core.services, self.core.subscriptions.next_number()
        self._serving = services.new_service(number, address, 2 * FULL, local_only=False)
        self._serving.stirred = self._wake
        self._keep(services.register(self._serving))
        self._turn()

    def _look(self) -> None:
        while self._serving is not None and (taken := self._serving.take_request()) is not None:
            self._serving.settle_reply(taken, taken.message.content)


class RequestPath:
    """The path of a request from a client of one node to a server at another, and of its reply."""

    def __init__(self) -> None:
        self._net = MeteredNetwork()
        near, far = self._net.mesh("frodo", "heron")
        echo = Echo(self._net, far.ipc, "echo")
        echo.connected()
        echo.serve("bench")
        self._asker = SimClient(self._net, near.ipc, "asker").connected()
        self._net.run(QUIET)
        for count in (FULL, 1):
            self.bill(count)

    def bill(self, count: int) -> Bill:
        """Return the bill for an envelope of `count` requests."""
        self._net.meter.take()
        core, net = self._asker.core, self._net
        core.context.now = net.now
        until, came = core.requests.until(5.0), []
        for _ in range(count):
            number = core.publisher.post_to("bench", "", CONTENT, REQUEST, b"", until)
            promise = Outcome()
            promise.then(lambda reply, error: came.append(error or reply.content))
            core.requests.add(number, One(promise, core.requests.bucket(until), "bench", 5.0))
        net.run(ANSWERED)
        assert came == [CONTENT] * count, f"of {count} requests came {came[:3]}, …"
        assert core.publisher.is_quiet, "not all of it is answered"
        return net.meter.take()
