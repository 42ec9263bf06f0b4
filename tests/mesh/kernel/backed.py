"""A master with two backup masters: heron, then frodo, then golan. bilbo is a slave."""

from __future__ import annotations

from collections import Counter
from typing import Any

from mesh.mapping.rules import Rule
from tests.mesh.kernel.campaign import TOPICS, Campaign
from tests.mesh.kernel.masters import RUGBY, Cluster
from tests.mesh.kernel.several import Places
from tests.simulation import SimNetwork, SimNode

HOLDERS = ("heron", "frodo", "golan")
RULES = (
    Rule("heron", domains=(RUGBY,)),
    Rule("frodo", domains=(RUGBY,), backup=True),
    Rule("golan", domains=(RUGBY,), backup=True),
)


def backed(
    *names: str, net: SimNetwork | None = None, rules: tuple[Rule, ...] = RULES, **settings: Any
) -> Cluster:
    """Start these of the four nodes."""
    net = net or SimNetwork(1)
    net.places = Places()
    return Cluster(net, {node.name: node for node in net.mesh(*names, rules=rules, **settings)}).met()


def last_value(node: SimNode, key: str = "k") -> bytes | None:
    """Return the retained value that the node itself has."""
    last = node.core.parts.router.log.retained.get(key, RUGBY)
    return last.data if last is not None else None


class Backed(Campaign):
    """A campaign with publishers and subscribers everywhere. Masters and backups are killed and cut off."""

    domains = (RUGBY,)

    def _start(self, nodes: int, settings: dict[str, Any]) -> list[SimNode]:
        self.cluster = backed("heron", "frodo", "golan", "bilbo", net=self.net, **settings)
        return list(self.cluster.nodes.values())

    def _befall(self) -> None:
        victim = self.cluster[self.rng.choice(("heron", "heron", "frodo"))]
        what = self.rng.choice([self.kill, self.kill, self.cut, self.break_link, self.bounce])
        what(victim, self.rng.choice(self.nodes))

    def check(self) -> None:
        """Check that nothing is lost or owed, and that all masters have the same retained values.

        Messages that one master accepted while others accepted different ones arrive later, in no order.
        """
        self.net.run(5.0)  # transient values are fetched again, though not owed
        assert not self.missing()
        assert self.is_quiet
        senders = {p.stream: p for p in self.publishers}
        self.twice = 0
        for _, s in (*self.subscribers, *self.late):
            for message in s.got:
                stream, domain, number = message.id
                assert senders[stream].state(number, domain) == "OK", "it was refused"
            self.twice += sum(n - 1 for n in Counter(message.id for message in s.got).values())
        for key in TOPICS:
            assert len({last_value(self.cluster[name], key) for name in HOLDERS}) == 1, key
