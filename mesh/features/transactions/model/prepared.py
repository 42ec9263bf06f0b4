"""Prepared transactions of a node, their rows, and the outcomes of decided ones."""

# Law 1: a name is used once by each user, until the outcome of its transaction is forgotten.
# Law 2: outcomes are kept for KEPT, at most MOST_OUTCOMES; then those decided first are forgotten.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from mesh.errors import MeshError
from mesh.features.transactions.model.outcomes import DECISION
from mesh.features.transactions.wire import Settled
from mesh.operations import Delete, Op, Put
from mesh.routing.branches import BRANCH, TransactionKey, hidden_of, pieces
from mesh.wire.codec import reader
from mesh.wire.envelope import Envelope, decode

KEPT = 7 * 24 * 3600 * 10**9  # ns
MOST_OUTCOMES = 100_000
COMMITTED, REFUSED = "committed", "refused"  # outcomes
PREPARED_ROW = b"\2"  # first byte of a key in the table `branch`
SEPARATOR = b"\0"

Name = tuple[str, str]  # user, name at this node


class PreparedRow(msgspec.Struct, frozen=True, array_like=True):
    """A prepared transaction, as it is stored in the node's own store.

    Attributes:
        user: Key of the user who prepared it; "" without keys.
        name: Its name at this node.
        since: When it was prepared, in ns since 1970.
        settles: The deliveries that it settles.
        envelopes: Header and body of each envelope, with its sender.
    """

    user: str
    name: str
    since: Annotated[int, Meta(ge=0)]
    settles: tuple[Settled, ...] = ()
    envelopes: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def size(self) -> int:
        return sum(len(header) + len(body) for header, body in self.envelopes)

    @property
    def operations(self) -> int:
        settled = (b - a + 1 for each in self.settles for a, b in _pairs(each.numbers))
        return sum(settled) + sum(e.count for e in self.decoded())

    def decoded(self) -> list[Envelope]:
        return [decode(header, body) for header, body in self.envelopes]

    def puts(self, key: TransactionKey) -> list[Put]:
        packed = msgspec.msgpack.encode(self)
        return [Put(BRANCH, place, piece) for place, piece in pieces(PREPARED_ROW, key, packed)]


_read_prepared = reader(PreparedRow, 2**28)
_read_outcome = reader(tuple[str, Annotated[int, Meta(ge=0)]], 64)


def _pairs(ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(ends[::2], ends[1::2], strict=True)


def restored(rows: Mapping[bytes, bytes]) -> Iterator[tuple[TransactionKey, PreparedRow, list[bytes]]]:
    """Yield the prepared transactions in the rows of a store, with the keys. Raises: MeshError."""
    for key, places in hidden_of(rows, PREPARED_ROW).items():
        yield key, _read_prepared(b"".join(rows[place] for place in places)), places


class Decisions(Struct):
    """The outcomes of prepared transactions, those decided first in front."""

    _all: dict[Name, tuple[str, int]] = field(default_factory=dict)  # value: outcome, ns since 1970

    def find(self, name: Name) -> str:
        return self._all.get(name, ("", 0))[0]

    def of_name(self, name: str) -> str:
        """Return the outcome of the transaction of that name which was decided last, of any user."""
        return next((found for (_, n), (found, _) in reversed(self._all.items()) if n == name), "")

    def record(self, name: Name, outcome: str, stamp: int) -> list[bytes]:
        """Record an outcome, and return the keys of rows to be deleted."""
        self._all[name] = outcome, stamp
        old = [next(iter(self._all))] if len(self._all) > MOST_OUTCOMES else []
        return self._forget(old)

    def expire(self, before: int) -> list[bytes]:
        """Forget the outcomes from before `before`, and return the keys of their rows."""
        old = list[Name]()
        for name, (_, stamp) in self._all.items():
            if stamp >= before:
                break
            old.append(name)
        return self._forget(old)

    def _forget(self, names: Iterable[Name]) -> list[bytes]:
        for name in names:
            del self._all[name]
        return [decision_key(name) for name in names]

    def restore(self, rows: Mapping[bytes, bytes]) -> list[bytes]:
        """Restore the rows of the node's own store, and return the keys of unreadable ones."""
        damaged, found = list[bytes](), dict[Name, tuple[str, int]]()
        for key, value in rows.items():
            if key[:1] == DECISION:
                try:
                    user, _, name = key[1:].partition(SEPARATOR)
                    found[user.decode(), name.decode()] = _read_outcome(value)
                except (MeshError, UnicodeDecodeError):
                    damaged.append(key)
        self._all = dict(sorted(found.items(), key=lambda each: each[1][1]))
        return damaged


def decision_key(name: Name) -> bytes:
    return DECISION + name[0].encode() + SEPARATOR + name[1].encode()


def decision_put(name: Name, outcome: str, stamp: int) -> Put:
    return Put("done", decision_key(name), msgspec.msgpack.encode((outcome, stamp)))


def deletions_of(places: Iterable[bytes]) -> list[Op]:
    return [Delete(BRANCH, place) for place in places]
