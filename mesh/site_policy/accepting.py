"""Decides which messages of another site may enter this one or pass through it. System topics never do."""

# Law: another site can change the topics that it may write here, and reach the addresses and clients that it
# may address, and nothing else.

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from mesh.names import CLIENT, RESERVED
from mesh.patterns import SYSTEM, Trie, matches, may_share
from mesh.site_policy.selection import Selecting, Selection

ANY = "*"  # domain
EXACT, PATTERN, INBOX, REPLIES = "exact", "pattern", "inbox", "replies"  # kinds of queries
SITE, EVERYWHERE = "site/", "*"  # prefix of a destination; any destination
EVERY_CLIENT = "#"  # matches any client name


class Accepts(NamedTuple):
    """Domains, and topic patterns in any domain, that a site may write here."""

    domains: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


class Query(Protocol):
    """A subscription query. The domain "" stands for any domain."""

    @property
    def kind(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def domain(self) -> str: ...


class Neighbour(Selecting, Protocol):
    """A site and its rights here.

    If `accepts` is None, the site may write the domains and topics that it receives. `serves` has patterns of
    addresses that the site may ask, and `site/NAME` for each site to which its messages may pass. `letters`
    are the clients to which it may write. With `one_way` the site has no rights.
    """

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
    """An index of the topics, addresses and clients of this site that another site may write to.

    The index also contains the sites to which the other site may send messages through this one.
    """

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
        return bool(self._writes.sites_for(domain, topic))

    def may_bring(self, domain: str, topic: str) -> bool:
        """Return whether the site may write the topic; with the domain ANY, whether it may write at all."""
        return bool(self._writes) if domain == ANY else self.may_write(domain, topic)

    def may_reach(self, query: Query) -> bool:
        """Return whether a message that matches the query may enter."""
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
        """Return whether a direct message to that client, or to one of its sessions, may enter."""
        is_named = client in self._clients or EVERY_CLIENT in self._clients
        return is_named and not client.startswith(SYSTEM)

    def may_ask(self, address: str) -> bool:
        return not is_own_address(address) and bool(self._addresses.match(address))

    def may_pass(self, site: str) -> bool:
        """Return whether messages of the neighbor may pass through this site to `site`."""
        return site in self._sites or EVERYWHERE in self._sites


def any_brings(sites: Iterable[Accepting], domain: str, topic: str) -> bool:
    """Return whether any of the sites may write the topic. `domain` may be ANY."""
    return any(site.may_bring(domain, topic) for site in sites)


def is_own_address(text: str) -> bool:
    """Return whether an address or pattern begins like addresses of the mesh itself, or like client names."""
    first = text.partition("/")[0]
    return text.startswith((SYSTEM, "/")) or first in RESERVED or first == CLIENT
