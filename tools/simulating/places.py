"""Which sites are there, and what does each send where?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mesh.patterns import matches

MUCH = 1 << 30  # bytes
Masters = Mapping[str, tuple[str, ...]]  # names by whatever leads to them


@dataclass(frozen=True, slots=True)
class Sends:
    """The settings of what one site sends to another: these domains, and topics of any domain. `dials`: do
    its gateways? `via`: the site by which that one is reached, if it is no neighbour. `max_bytes` may wait
    for it, and then what comes is refused, or dropped. `letters`, `serves`: the clients to whom that one may
    write here, and the addresses for which it may ask."""

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
    """A site: a mesh of its own, whose rules are plain or drawn. See casts.Cast for its masters."""

    name: str
    nodes: tuple[str, ...]
    gateways: tuple[str, ...]
    rules: str = "plain"
    masters: Masters = field(default_factory=dict)
    keys: Masters = field(default_factory=dict)
    sends: tuple[Sends, ...] = ()

    @property
    def knows(self) -> tuple[str, ...]:
        """The sites with which it is linked, by others too."""
        return tuple(sends.to for sends in self.sends)

    def lets_write(self, site: str, client: str) -> bool:
        """May a client of that site write to this one here?"""
        named = next((sends.letters for sends in self.sends if sends.to == site), ())
        return client in named or "#" in named

    def lets_ask(self, site: str, address: str) -> bool:
        """May somebody of that site ask for this address here?"""
        served = next((sends.serves for sends in self.sends if sends.to == site), ())
        return any(matches(pattern, address) for pattern in served)


def secret_of(site: str, role: str) -> bytes:
    """That a site gives to those who come in that role: "relay NYC" is what it gives to NYC."""
    return f"{site} {role}".encode().ljust(32, b".")


def destinations(places: Iterable[Place], home: str, domain: str, key: str) -> frozenset[str]:
    """The sites that get what is published at that one. None of them sends it on."""
    sends = next(place.sends for place in places if place.name == home)
    return frozenset(each.to for each in sends if each.wants(domain, key))


def path(places: Iterable[Place], home: str, to: str) -> list[str]:
    """The sites by which something comes from one to another, which is the last of them."""
    vias = {(place.name, sends.to): sends.via for place in places for sends in place.sends}
    steps, at = [to], to
    while (at := vias.get((home, at), "")) and at not in steps:
        steps.insert(0, at)
    return steps
