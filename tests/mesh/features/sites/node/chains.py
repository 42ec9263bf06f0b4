"""Simulated sites, some of which are reached through others."""

from __future__ import annotations

from mesh.config.sites import RemoteSite
from mesh.features.sites.node.parts import SiteParts
from tests.mesh.features.sites.node.meshes import FIRST, SECOND, Reader, gateway_to, links, member
from tests.simulated_client import SimClient, Subscription
from tests.simulation import SimNetwork, SimNode

STOCK = "STOCK"
HF, NET1, NET2, NET3 = LINE = ("HF", "NET1", "NET2", "NET3")
STAR = {HF: (NET1,), NET1: (HF, NET2, NET3), NET2: (NET1,), NET3: (NET1,)}
CHAIN = {HF: (NET1,), NET1: (HF, NET2), NET2: (NET1, NET3), NET3: (NET2,)}
RING = {HF: (NET1, NET3), NET1: (HF, NET2), NET2: (NET1, NET3), NET3: (HF, NET2)}

Plan = dict[str, tuple[str, ...]]  # the neighbors of each site


def next_of(plan: Plan, here: str, to: str) -> str:
    """Return the first hop of a shortest route, the first in `plan` among equal ones."""
    known, reached = {here: ""}, [here]
    for site in reached:
        for other in plan[site]:
            if other not in known:
                known[other] = known[site] or other
                reached.append(other)
    return known[to]


def tables(plan: Plan, here: str, **fields: object) -> dict[str, RemoteSite]:
    """Return a site's configuration of all others. A site that is no neighbor is reached via one."""
    found = {}
    for site in plan:
        if site != here:
            step = next_of(plan, here, site)
            given = {"domains": (STOCK,), "serves": ("site/*",), **fields}
            found[site] = RemoteSite(site, via="" if step == site else step, **given)  # type: ignore[arg-type]
    return found


class Sites:
    """Sites of `members` nodes each, linked as in the plan.

    If `apart`, each neighbor has a gateway of its own, as far as there are members. Otherwise all share one.
    """

    def __init__(self, plan: Plan, apart: bool = False, members: int = 3, **fields: object) -> None:
        self.net = net = SimNetwork()
        self.plan = plan
        self.nodes: dict[str, list[SimNode]] = {}
        self.links: dict[str, int] = {}
        addresses: dict[tuple[str, str], str] = {}
        port = 5000
        for site, neighbours in plan.items():
            table, made = tables(plan, site, **fields), list[SimNode]()
            for number in range(members):
                port += 1
                mine = [n for at, n in enumerate(neighbours) if (at % members if apart else 0) == number]
                name, seeds = f"{site.lower()}{number}", [node.name for node in made]
                dials = {other: addresses.get((other, site), "") for other in mine}
                for other in mine:
                    addresses[site, other] = f"tcp://127.0.0.1:{port}"
                if mine:
                    made.append(gateway_to(net, name, site, dials, *seeds, tables=table))
                    self.links[name] = len(mine)
                else:
                    made.append(member(net, name, site, *seeds, tables=table))
            self.nodes[site] = made
        net.until(lambda: all(links(n) == self.links.get(n.name, 0) for n in self.all()))
        net.until(lambda: all(len(node.alive) == members - 1 for node in self.all()))
        self.heard: dict[str, Subscription] = {}
        for node in self.all():
            self.heard[node.name] = (
                Reader(net, node.ipc, f"ann-{node.name}").connected().subscribed(pattern="#", domain=STOCK)
            )
        self.users: dict[str, SimClient] = {}
        self.sent: list[bytes] = []

    def all(self) -> list[SimNode]:
        return [node for nodes in self.nodes.values() for node in nodes]

    def node(self, name: str) -> SimNode:
        return next(node for node in self.all() if node.name == name)

    def publish(self, at: str, content: bytes, persistent: bool = True) -> None:
        """Publish from a client at that node."""
        if at not in self.users:
            self.users[at] = SimClient(self.net, self.node(at).ipc, f"joe-{at}").connected()
        self.users[at].publish("quote", content, domain=STOCK, persistent=persistent)
        self.sent.append(content)

    def waiting(self) -> int:
        """Return how many messages all masters keep for other sites."""
        return sum(int(node.core.parts[SiteParts].relaying.figures()["site_pending"]) for node in self.all())

    def got(self, node: str) -> list[bytes]:
        return self.heard[node].contents

    def settled(self) -> None:
        """Wait until all sites have each message once, and check that no gateway keeps anything."""
        self.net.until(lambda: not self.waiting())
        self.net.run(3)
        for name in self.heard:
            assert sorted(self.got(name)) == sorted(self.sent), name
        assert not any(
            node.core.parts[SiteParts].through._flights.get(s) for node in self.all() for s in self.plan
        )
        assert not any(
            node.core.parts[SiteParts].through.figures()["site_passing_bytes"] for node in self.all()
        )


class Middle:
    """HF, and NET2 behind NET1, whose two gateways are both linked with either side."""

    def __init__(self, **fields: dict[str, object]) -> None:
        """Build the three sites. `fields` has further settings for the files of a site."""
        self.net = net = SimNetwork()
        plan: Plan = {HF: (NET1,), NET1: (HF, NET2), NET2: (NET1,)}
        table = {site: tables(plan, site, **fields.get(site, {})) for site in plan}
        self.hf = gateway_to(net, "hf0", HF, {NET1: ""}, tables=table[HF])
        self.net2 = gateway_to(net, "net20", NET2, {NET1: ""}, tables=table[NET2])
        dials = {HF: FIRST, NET2: SECOND}
        self.first = gateway_to(net, "net10", NET1, dials, tables=table[NET1])
        self.second = gateway_to(net, "net11", NET1, dials, "net10", tables=table[NET1])
        self.middle = (self.first, self.second)
        net.until(lambda: links(self.hf) == links(self.net2) == 2 and bool(self.first.alive))
        net.run(1)
        self.heard = Reader(net, self.net2.ipc, "ann").connected().subscribed(pattern="#", domain=STOCK)
        self.joes = [SimClient(net, self.hf.ipc, f"joe{n}").connected() for n in range(4)]
        self.sent: dict[int, list[bytes]] = {n: [] for n in range(4)}

    def publish(self, count: int, persistent: bool = True) -> None:
        """Publish `count` messages from each of the four clients."""
        for _ in range(count):
            for n, joe in enumerate(self.joes):
                self.sent[n].append(b"%d/%03d" % (n, len(self.sent[n])))
                joe.publish("quote", self.sent[n][-1], domain=STOCK, persistent=persistent)

    def settled(self) -> None:
        self.net.until(lambda: not self.hf.core.parts[SiteParts].relaying.figures()["site_pending"], 130.0)
        self.net.run(2)
        for n, contents in self.sent.items():
            assert [each for each in self.heard.contents if each[:1] == b"%d" % n] == contents
        for node in self.middle:
            assert not node.core.parts[SiteParts].through.figures()["site_passing_bytes"]
            assert not node.core.parts[SiteParts].through._flights.get(NET2)
