"""What does this node want from each other node? One upstream query, however many ask for it here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

from mesh.routing.querytrie import QueryTrie
from mesh.wire.commands import Interest, Query
from mesh.wire.spoken import KINDS, is_spoken

CLIENTS = b""  # who wants it: clients of this node; else the uuid of a peer for which this node is on the way
STANDBY = b"standby"  # or this node itself, as a master with backups, or one of these
LINGER = (
    10.0  # s that a node is still asked after another took its place: what it was sent for us may be late
)
OVER = 512  # queries that one peer is asked no more at once
LEFT = 4096  # queries of which it is remembered that a peer was asked before another was
TOPICS = 10_000  # of one peer, that are remembered

LEVEL = 512  # bytes that each level of a pattern may take in the tree of patterns


def weight(query: Query) -> int:
    """Bytes that it takes, at most, beside what each query does: its text, and the levels of a pattern."""
    size = len(query.text.encode()) + len(query.domain.encode())
    return size + (LEVEL * (1 + query.text.count("/")) if query.kind == "pattern" else 0)


@dataclass(slots=True)
class PeerInterest:
    """The queries that one peer was asked for. Each change has a version, so that it can confirm it."""

    version: int = 0
    queries: dict[Query, None] = field(default_factory=dict)
    leaving: dict[Query, float] = field(default_factory=dict)  # asked no more from then on, the first first,
    stays: float = 0.0  # but not before then: it was away
    # Of others than it now, and when that began: what it holds for us may still come.
    left: dict[Query, float] = field(default_factory=dict)
    topics: dict[str, set[str]] = field(
        default_factory=dict
    )  # domain -> keys that it is known to be asked for

    def change(self, add: tuple[Query, ...] = (), remove: tuple[Query, ...] = ()) -> Interest:
        """Take it up; returns what the peer must be told."""
        self.version += 1
        if remove:
            self.topics.clear()
        for query in add:
            self.queries[query] = None
        for query in remove:
            self.queries.pop(query, None)
            self.leaving.pop(query, None)
        return Interest(self.version, False, add, remove)


class Interests:
    """The queries that are wanted here, by whom, and which peers were asked for them."""

    def __init__(self) -> None:
        self._wants: dict[Query, Counter[bytes]] = {}
        self._trie: QueryTrie[Query] = QueryTrie()  # of the same queries
        self._asked: dict[bytes, PeerInterest] = {}
        self._has_later_kinds = False  # of queries, than those that everybody understands

    def __len__(self) -> int:
        return len(self._wants)

    def asked(self, peer: bytes) -> PeerInterest:
        """The queries that a peer was asked for."""
        return self._asked.setdefault(peer, PeerInterest())

    def queries(self) -> list[Query]:
        return list(self._wants)

    def matching(self, key: str, domain: str, xml: str = "") -> list[Query]:
        """The queries for messages of this key, domain and XML."""
        found = [query for query in self._trie.match(key, domain, xml) if query.domain in ("", domain)]
        return sorted(found, key=lambda query: (query.text, query.domain, query.kind))

    def wanted_by(self, query: Query) -> set[bytes]:
        """CLIENTS, and uuids of peers."""
        return set(self._wants.get(query, ()))

    def add(self, query: Query, by: bytes) -> bool:
        """One more wants it. Is that news?"""
        wants = self._wants.get(query)
        if wants is None:
            wants = self._wants[query] = Counter()
            self._trie.add(query, query)
            self._has_later_kinds |= query.kind not in KINDS
        wants[by] += 1
        return wants[by] == 1

    def discard(self, query: Query, by: bytes) -> bool:
        """One fewer. Is that news?"""
        wants = self._wants[query]
        wants[by] -= 1
        if wants[by] > 0:
            return False
        del wants[by]
        if not wants:
            del self._wants[query]
            self._trie.discard(query, query)
        return True

    def aim(self, query: Query, targets: set[bytes], now: float) -> list[tuple[bytes, Interest]]:
        """Ask these peers for it and no others; returns (peer, what it must be told)."""
        if query not in self._wants:
            targets = set()  # rules name a way to it all the same
        told: list[tuple[bytes, Interest]] = []
        for uuid, asked in self._asked.items():
            if uuid in targets:
                asked.leaving.pop(query, None)
            elif query in asked.queries:
                if targets:
                    asked.leaving.setdefault(query, now + LINGER)
                else:
                    told.append((uuid, asked.change(remove=(query,))))
        for uuid in sorted(targets):
            if query not in self.asked(uuid).queries:
                told.append((uuid, self.asked(uuid).change(add=(query,))))
        return told

    def aim_all(
        self, queries: Sequence[Query], targets: Collection[bytes], peers: Iterable[bytes], now: float
    ) -> list[tuple[bytes, Interest]]:
        """The same for several, that are wanted: but only these peers are told anything."""
        told: list[tuple[bytes, Interest]] = []
        for uuid in sorted(peers):
            asked, add, remove = self.asked(uuid), list[Query](), list[Query]()
            for query in queries:
                is_asked = query in asked.queries
                if uuid in targets:
                    asked.leaving.pop(query, None)
                    if not is_asked:
                        add.append(query)
                elif is_asked and targets:
                    asked.leaving.setdefault(query, now + LINGER)
                elif is_asked:
                    remove.append(query)
            if add or remove:
                told.append((uuid, asked.change(tuple(add), tuple(remove))))
        return told

    def asked_before(self, uuid: bytes, queries: Iterable[Query], now: float) -> None:
        """A peer is asked for these for a while, though others are: an earlier process asked it, perhaps."""
        asked = self.asked(uuid)
        for query in queries:
            if query in self._wants and query not in asked.queries:
                asked.queries[query] = None
                asked.leaving[query] = now + LINGER

    def sweep(self, now: float, is_here: Callable[[bytes], bool]) -> list[tuple[bytes, Interest]]:
        """Ask no more those whose time is over; one that is away may still hold something for us. Of very
        many it tells some; the next time, more of them."""
        told: list[tuple[bytes, Interest]] = []
        for uuid, asked in self._asked.items():
            if not asked.leaving:
                continue
            if not is_here(uuid):
                asked.stays = now + LINGER
                continue
            if asked.stays > now:
                continue
            first = islice(asked.leaving.items(), OVER)
            over = tuple([query for query, until in takewhile(lambda item: item[1] <= now, first)])
            if over:
                told.append((uuid, asked.change(remove=over)))
                asked.left.update(dict.fromkeys(over, now))
                while len(asked.left) > LEFT:
                    del asked.left[next(iter(asked.left))]
        return told

    def is_asked(self, peer: bytes, key: str, domain: str, is_old: bool = False, xml: str = "") -> bool:
        """Was that peer asked for such a message? `is_old`: also by an earlier process of this node."""
        asked = self.asked(peer)
        known = asked.topics.get(domain, ())
        if key in known:
            return True
        found = self.matching(key, domain, xml)
        if any(query in asked.queries for query in found):
            if sum(map(len, asked.topics.values())) >= TOPICS:
                asked.topics.clear()
            asked.topics.setdefault(domain, set()).add(key)
            return True
        return bool(found) and (is_old or any(query in asked.left for query in found))

    def full(
        self, peer: bytes, positions: tuple[tuple[bytes, int], ...], words: frozenset[str] = frozenset()
    ) -> Interest:
        """Everything, for a peer that has just logged in and understands these words."""
        asked = self.asked(peer)
        queries = tuple(asked.queries)
        if self._has_later_kinds:
            queries = tuple(query for query in queries if is_spoken(query.kind, words))
        return Interest(asked.version, True, queries, positions=positions)
