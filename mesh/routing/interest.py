"""Queries that this node sends to other nodes, each once for all its requesters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

from mesh.routing.querytrie import QueryTrie
from mesh.wire.commands import Interest, Query
from mesh.wire.limits import XPATH
from mesh.wire.spoken import KINDS, is_spoken

# The clients of this node as requester of a query. The other requesters are STANDBY and uuids of peers.
CLIENTS = b""
STANDBY = b"standby"  # this node itself, as a master with backups or a backup
# Seconds that a node is still queried after another took its place, for messages in transit.
LINGER = 10.0
OVER = 512  # queries withdrawn from one peer per sweep
LEFT = 4096  # withdrawn queries that are remembered
TOPICS = 10_000  # topics of one peer that are remembered

LEVEL = 512  # bytes of a pattern level in the tree


def weight(query: Query) -> int:
    """Return the bytes that a query uses: its text, its domain, and LEVEL for each level of a pattern."""
    size = len(query.text.encode()) + len(query.domain.encode())
    return size + (LEVEL * (1 + query.text.count("/")) if query.kind == "pattern" else 0)


@dataclass(slots=True)
class PeerInterest:
    """The queries sent to one peer.

    Each change has a version, which the peer confirms.
    """

    version: int = 0
    queries: dict[Query, None] = field(default_factory=dict)
    leaving: dict[Query, float] = field(default_factory=dict)  # query: when it is withdrawn, earliest first
    stays: float = 0.0  # earliest withdrawal after the peer was unreachable
    # Withdrawn queries by time: messages for them may still arrive.
    left: dict[Query, float] = field(default_factory=dict)
    topics: dict[str, set[str]] = field(default_factory=dict)  # domain: keys known to be covered

    def change(self, add: tuple[Query, ...] = (), remove: tuple[Query, ...] = ()) -> Interest:
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
    """The queries that are wanted here, by requester, and the peers that they were sent to."""

    def __init__(self) -> None:
        self._wants: dict[Query, Counter[bytes]] = {}
        self._trie: QueryTrie[Query] = QueryTrie()  # of the same queries
        self._asked: dict[bytes, PeerInterest] = {}
        self._has_later_kinds = False  # whether newer kinds of queries are in use

    def __len__(self) -> int:
        return len(self._wants)

    def interest_of(self, peer: bytes) -> PeerInterest:
        """Return the queries sent to a peer; a new peer has none."""
        return self._asked.setdefault(peer, PeerInterest())

    def queries(self) -> list[Query]:
        return list(self._wants)

    def matching(self, key: str, domain: str, xml: str = "") -> list[Query]:
        found = [query for query in self._trie.match(key, domain, xml) if query.domain in ("", domain)]
        return sorted(found, key=lambda query: (query.text, query.domain, query.kind))

    def wanted_by(self, query: Query) -> set[bytes]:
        """Return the requesters of the query: CLIENTS, STANDBY, and uuids of peers."""
        return set(self._wants.get(query, ()))

    def requests(self, query: Query, by: bytes) -> int:
        """Return the number of requests for `query` by the requester `by`."""
        return self._wants[query][by] if query in self._wants else 0

    def add(self, query: Query, by: bytes) -> bool:
        """Count a request for `query` by the requester `by`, and return whether it is the first by `by`."""
        wants = self._wants.get(query)
        if wants is None:
            wants = self._wants[query] = Counter()
            self._trie.add(query, query)
            self._has_later_kinds |= query.kind not in KINDS
        wants[by] += 1
        return wants[by] == 1

    def remove_request(self, query: Query, by: bytes) -> bool:
        """Remove a request for `query` by the requester `by`, and return whether it was the last by `by`."""
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
        """Aim the query at the peers in `targets` only, and return the messages to send, by peer.

        Other peers keep the query for LINGER seconds, or lose it immediately if there are no targets. A query
        that is not wanted any longer has no targets.
        """
        if query not in self._wants:
            targets = set()  # the rules would still name a route
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
            if query not in self.interest_of(uuid).queries:
                told.append((uuid, self.interest_of(uuid).change(add=(query,))))
        return told

    def aim_all(
        self, queries: Sequence[Query], targets: Collection[bytes], peers: Iterable[bytes], now: float
    ) -> list[tuple[bytes, Interest]]:
        """Aim several wanted queries at `targets` only, and return the messages to send, by peer.

        Only `peers` are considered. A peer outside `targets` keeps or loses the queries as in `aim`.
        """
        told: list[tuple[bytes, Interest]] = []
        for uuid in sorted(peers):
            asked, add, remove = self.interest_of(uuid), list[Query](), list[Query]()
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
        """Treat the queries in `queries` that are wanted here as sent to the peer for LINGER seconds.

        An earlier process of this node may have sent them.
        """
        asked = self.interest_of(uuid)
        for query in queries:
            if query in self._wants and query not in asked.queries:
                asked.queries[query] = None
                asked.leaving[query] = now + LINGER

    def sweep(self, now: float, is_here: Callable[[bytes], bool]) -> list[tuple[bytes, Interest]]:
        """Withdraw queries that are due, a limited number from each peer, and return the messages by peer.

        Queries to an unreachable peer stay until LINGER seconds after its return, because it may still have
        messages for this node.
        """
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
        """Return whether the peer was sent a query for messages of this key, domain and XML.

        Withdrawn queries count while they are remembered. With `is_old`, each matching query counts, because
        an earlier process of this node may have sent it.
        """
        asked = self.interest_of(peer)
        known = asked.topics.get(domain, ())
        if key in known:
            return True
        found = self.matching(key, domain, xml)
        if any(query in asked.queries for query in found if query.kind != XPATH):
            if sum(map(len, asked.topics.values())) >= TOPICS:
                asked.topics.clear()
            asked.topics.setdefault(domain, set()).add(key)
            return True
        if any(query in asked.queries for query in found):  # by the XML of this message alone
            return True
        return bool(found) and (is_old or any(query in asked.left for query in found))

    def full(
        self, peer: bytes, positions: tuple[tuple[bytes, int], ...], words: frozenset[str] = frozenset()
    ) -> Interest:
        """Return the message with all queries for a peer that has just logged in.

        Queries of newer kinds are left out, unless `words`, the peer's features, include the kind.
        """
        asked = self.interest_of(peer)
        queries = tuple(asked.queries)
        if self._has_later_kinds:
            queries = tuple(query for query in queries if is_spoken(query.kind, words))
        return Interest(asked.version, True, queries, positions=positions)
