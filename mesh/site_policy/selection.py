"""Selects the sites that receive a message, by its domain or topic."""

# Law 1: an empty selection selects nothing, and system topics never leave a site.
# Law 2: the cost of a lookup grows neither with the number of named topics nor with the number of sites.

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mesh.names import RESERVED
from mesh.patterns import SYSTEM, Trie

NOWHERE: tuple[str, ...] = ()


class Selecting(Protocol):
    """A site with the domains and topics that it receives."""

    @property
    def name(self) -> str: ...

    @property
    def domains(self) -> tuple[str, ...]: ...

    @property
    def topics(self) -> tuple[str, ...]: ...


class Selection:
    """An index of the sites that receive a message. The caller has checked the domains and patterns.

    `stays` is a mask of the envelope flags whose messages never leave their site.
    """

    __slots__ = ("_domains", "_stays", "_topics")

    def __init__(self, stays: int = 0) -> None:
        self._domains: dict[str, tuple[str, ...]] = {}
        self._topics: Trie[str] | None = None
        self._stays = stays

    @classmethod
    def of(cls, sites: Iterable[Selecting], stays: int = 0) -> Selection:
        """Return an index of the domains and topics that `sites` receive."""
        found, topics = cls(stays), Trie[str]()
        for site in sites:
            for domain in site.domains:
                found._domains[domain] = _merged(found._domains.get(domain, NOWHERE), site.name)
            for topic in site.topics:
                topics.add(topic, site.name)
                found._topics = topics
        return found

    def __bool__(self) -> bool:
        return bool(self._domains) or self._topics is not None

    def sites_for(self, domain: str, topic: str, *, flags: int = 0) -> tuple[str, ...]:
        """Return the names of the sites that receive a message of `topic` with these envelope `flags`."""
        if flags & self._stays or is_own(domain) or topic.startswith(SYSTEM):
            return NOWHERE
        found = self._domains.get(domain, NOWHERE)
        if self._topics is not None:
            found = _merged(found, *self._topics.match(topic))
        return found


def is_own(domain: str) -> bool:
    """Return whether the domain belongs to the mesh itself, and therefore never leaves its site."""
    return domain.startswith(SYSTEM) or domain.partition("/")[0] in RESERVED


def _merged(before: tuple[str, ...], *more: str) -> tuple[str, ...]:
    return tuple(sorted({*before, *more})) if more else before
