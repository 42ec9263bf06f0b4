"""Two masters of one domain: bilbo -> frodo -> heron and avalon; golan -> heron and avalon."""

from __future__ import annotations

from typing import Any

from mesh.mapping.rules import Rule
from mesh.routing.verdict import PARTLY_REFUSED
from tests.mesh.kernel.campaign import Campaign
from tests.mesh.kernel.masters import RUGBY, Cluster, cluster
from tests.simulation import SimNetwork, SimNode

MASTERS = (Rule("heron", domains=(RUGBY,)), Rule("avalon", domains=(RUGBY,)))
RULES = {
    "heron": MASTERS,
    "avalon": MASTERS,
    "golan": MASTERS,
    "frodo": (Rule("frodo", 1, (RUGBY,)), *MASTERS),
    "bilbo": (Rule("frodo", 1, (RUGBY,)),),
}


class Places(dict[Any, Any]):
    """The positions of messages, one in the log of each master."""

    def setdefault(self, key: Any, place: Any = None) -> Any:
        return super().setdefault((key, place[0]), place)


def several(*names: str, net: SimNetwork | None = None, **settings: Any) -> Cluster:
    """Start these of the five nodes."""
    net = net or SimNetwork(1)
    net.places = Places()
    return cluster(*names, net=net, rules=RULES, known=tuple(RULES), **settings)


class Several(Campaign):
    """A campaign with publishers and subscribers everywhere. The `victims` are killed and cut off."""

    domains = (RUGBY,)
    victims: tuple[str, ...] = ("avalon",)

    def _start(self, nodes: int, settings: dict[str, Any]) -> list[SimNode]:
        names = ("heron", "avalon", "frodo", "bilbo", "golan")
        self.cluster = several(*names, net=self.net, **settings)
        return list(self.cluster.nodes.values())

    def _befall(self) -> None:
        victim = self.cluster[self.rng.choice(self.victims)]
        other = self.rng.choice(self.nodes)
        what = self.rng.choice([self.kill, self.kill, self.cut, self.break_link, self.bounce])
        what(victim, other)

    def check(self) -> None:
        """Check the campaign, and that both masters have each persistent message that was answered OK."""
        super().check()
        for publisher in self.publishers:
            for (domain, number), (_, _, is_persistent) in publisher.sent.items():
                state = publisher.state(number, domain)
                assert state in ("OK", PARTLY_REFUSED), (publisher.name, number, state)
                if state == "OK" and is_persistent:
                    for name in ("heron", "avalon"):
                        lane = self.cluster[name].core.parts.router.log._lanes[publisher.stream][domain]
                        has = number < lane.origin.low or number in lane.origin.above
                        assert has, f"{name} lacks {publisher.name} {number}"
