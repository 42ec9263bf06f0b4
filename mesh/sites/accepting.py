"""What may come in from another site? What its operator was promised, and nothing of the mesh's own."""

# Law: whoever owns another site owns the topics that it may write here, and nothing else.

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from mesh.names import CLIENT, RESERVED
from mesh.patterns import SYSTEM, Trie, matches, may_share
from mesh.sites.selection import Selecting, Selection

ANY = "*"  # domain
EXACT, PATTERN, INBOX, REPLIES = "exact", "pattern", "inbox", "replies"  # kinds of queries
SITE, EVERYWHERE = "site/", "*"  # to where something may be passed on: site/NYC, or site/*
EVERY_CLIENT = "#"  # instead of the name of one


class Accepts(NamedTuple):
    """Domains, and patterns of topics in any domain, that a site may write here."""

    domains: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


class Query(Protocol):
    """What somebody subscribes to; domain "": whatever it is."""

    @property
    def kind(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def domain(self) -> str: ...


class Neighbour(Selecting, Protocol):
    """A site, and what is let in from there. `accepts` None: the mirror of what is sent there."""

    @property
    def one_way(self) -> bool: ...

    @property
    def accepts(self) -> Accepts | None: ...

    @property
    def serves(self) -> tuple[str, ...]: ...

    @property
    def letters(self) -> tuple[str, ...]: ...


class _Inbound(NamedTuple):
    name: str
    domains: tuple[str, ...]
    topics: tuple[str, ...]


class Accepting:
    """An index of what one site may say here."""

    __slots__ = ("_accepts", "_addresses", "_clients", "_sites", "_writes")

    def __init__(self, site: Neighbour) -> None:
        mirror = Accepts(site.domains, site.topics)
        accepts = Accepts() if site.one_way else mirror if site.accepts is None else site.accepts
        self._accepts = accepts
        self._writes = Selection.of([_Inbound(site.name, *accepts)])
        self._addresses = Trie[str]()
        self._sites: set[str] = set()
        for pattern in () if site.one_way else site.serves:
            if pattern.startswith(SITE):
                self._sites.add(pattern.removeprefix(SITE))
            else:
                self._addresses.add(pattern, site.name)
        self._clients = frozenset(() if site.one_way else site.letters)

    def may_write(self, domain: str, topic: str) -> bool:
        """May a message come in that is published there?"""
        return bool(self._writes.sites_for(domain, topic))

    def may_bring(self, domain: str, topic: str) -> bool:
        """The same; ANY domain: of some domain."""
        return bool(self._writes) if domain == ANY else self.may_write(domain, topic)

    def may_reach(self, query: Query) -> bool:
        """Return whether a message may come in that matches the query."""
        kind, text, domain = query.kind, query.text, query.domain
        if kind in (INBOX, REPLIES) or (kind in (EXACT, PATTERN) and text.startswith(SYSTEM)):
            return False
        domains, topics = self._accepts
        if domain in domains or (domain == "" and domains):
            return True
        if kind == EXACT:
            return any(matches(topic, text) for topic in topics)
        return any(kind != PATTERN or may_share(topic, text) for topic in topics)

    def may_write_to(self, client: str) -> bool:
        """May a letter come in for that client, or a session of it?"""
        is_named = client in self._clients or EVERY_CLIENT in self._clients
        return is_named and not client.startswith(SYSTEM)

    def may_ask(self, address: str) -> bool:
        """May a message or a request come in for that address?"""
        return not is_own_address(address) and bool(self._addresses.match(address))

    def may_pass(self, site: str) -> bool:
        """May it have messages passed on through this site to that one?"""
        return site in self._sites or EVERYWHERE in self._sites


def any_brings(sites: Iterable[Accepting], domain: str, topic: str) -> bool:
    """May any of these bring a value of that topic, in that domain or in ANY?"""
    return any(site.may_bring(domain, topic) for site in sites)


def is_own_address(text: str) -> bool:
    """Does an address, or a pattern, begin as those of the mesh's own do, or names of clients?"""
    first = text.partition("/")[0]
    return text.startswith((SYSTEM, "/")) or first in RESERVED or first == CLIENT
