"""The sites of a scenario, and the topics that each of them sends to the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mesh.patterns import matches

MUCH = 1 << 30  # bytes
Masters = Mapping[str, tuple[str, ...]]  # names of masters by domain or key


@dataclass(frozen=True, slots=True)
class Sends:
    """The domains, and the topics of any domain, that one site sends to another.

    `dials` says whether its gateways dial. `via` is the site in between if the two are no neighbors.
    `max_bytes` may wait for the other site; further messages are refused or dropped. The other site may send
    to the clients `letters` and to the addresses `serves`.
    """

    to: str
    domains: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    dials: bool = True
    via: str = ""
    max_bytes: int = MUCH
    rejects: bool = False
    letters: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()

    def wants(self, domain: str, key: str) -> bool:
        is_own = key.startswith("__sys__")
        return not is_own and (domain in self.domains or any(matches(topic, key) for topic in self.topics))


@dataclass(frozen=True, slots=True)
class Place:
    """A site: a mesh of its own, whose rules are plain or drawn.

    `masters` and `keys` are those of `casts.Cast`.
    """

    name: str
    nodes: tuple[str, ...]
    gateways: tuple[str, ...]
    rules: str = "plain"
    masters: Masters = field(default_factory=dict)
    keys: Masters = field(default_factory=dict)
    sends: tuple[Sends, ...] = ()

    @property
    def knows(self) -> tuple[str, ...]:
        """The sites to which this site is linked, directly or through others."""
        return tuple(sends.to for sends in self.sends)

    def lets_write(self, site: str, client: str) -> bool:
        named = next((sends.letters for sends in self.sends if sends.to == site), ())
        return client in named or "#" in named

    def lets_ask(self, site: str, address: str) -> bool:
        served = next((sends.serves for sends in self.sends if sends.to == site), ())
        return any(matches(pattern, address) for pattern in served)


def secret_of(site: str, role: str) -> bytes:
    """Return the secret that `site` gives to a role, such as "relay NYC" to the site NYC."""
    return f"{site} {role}".encode().ljust(32, b".")


def destinations(places: Iterable[Place], home: str, domain: str, key: str) -> frozenset[str]:
    """Return the sites that receive messages published at `home`.

    These sites do not forward the messages to further sites.
    """
    sends = next(place.sends for place in places if place.name == home)
    return frozenset(each.to for each in sends if each.wants(domain, key))


def path(places: Iterable[Place], home: str, to: str) -> list[str]:
    """Return the sites on the route from `home` to `to`, of which the last is `to`."""
    vias = {(place.name, sends.to): sends.via for place in places for sends in place.sends}
    steps, at = [to], to
    while (at := vias.get((home, at), "")) and at not in steps:
        steps.insert(0, at)
    return steps
