"""The outcomes of transactions, by session, until their clients have them."""

# Law 1: an outcome stays until its client has it, or KEPT has passed since the session's last transaction.
# Law 2: `low` of a session never falls, and a transaction below it has no outcome here.
# Law 3: there are at most MOST outcomes. Beyond that, those of the session idle for the longest time go.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from mesh.errors import MeshError, StoreError
from mesh.wire.codec import reader
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from mesh.wire.header import FromOne

KEPT = 24 * 3600 * 10**9  # ns
MOST = 1_000_000
WARNING = "FORWARD_WARNING"
OUTCOME, LOW, DECISION = b"\0", b"\1", b"\2"  # first byte of a key in the table `done`
STREAM = 16  # bytes

StoredRow = tuple[str, bytes]  # store, key


class EnvelopeOutcome(msgspec.Struct, frozen=True, array_like=True):
    """The answer to the messages of one envelope."""

    state: str = "OK"  # or WARNING: at least one message is on its way to other nodes
    matched: Annotated[int, Meta(ge=0)] = 0
    text: str = ""


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """The outcome of a transaction: answers, or the code, text and index of its refusal."""

    stamp: Annotated[int, Meta(ge=0)]  # when it was recorded, ns since 1970
    answers: tuple[EnvelopeOutcome, ...] = ()
    code: str = ""  # "": committed
    text: str = ""
    index: int = -1  # of the refused operation; -1: none

    def pack(self) -> bytes:
        return msgspec.msgpack.encode(self)

    def is_forwarded(self, envelopes: Sequence[Envelope], answer: Answer) -> bool:
        """Return whether the envelope to which an answer belongs also has messages for other nodes."""
        for envelope, each in zip(envelopes, self.answers, strict=True):
            if envelope.domain == answer.domain and envelope.first <= answer.first <= envelope.last:
                return each.state == WARNING
        return False


read_outcome = reader(Outcome, 2**24)
_read_low = reader(tuple[FromOne, Annotated[int, Meta(ge=0)]], 64)


class SessionOutcomes(Struct):
    """The transactions of one session at this node."""

    low: int = 1  # all below are answered
    used: int = 0  # time of the last one, ns since 1970
    outcomes: dict[int, tuple[str, Outcome]] = field(default_factory=dict)  # by number, with the store
    stores: set[str] = field(default_factory=set)  # that have a row with `low`


class Outcomes:
    """The outcomes of all sessions, of which the caller stores the rows."""

    def __init__(self) -> None:
        self._all: dict[bytes, SessionOutcomes] = {}  # by stream, the longest unused first
        self.count = 0

    def find(self, stream: bytes, number: int) -> Outcome | None:
        session = self._all.get(stream)
        found = session.outcomes.get(number) if session is not None else None
        return found[1] if found is not None else None

    def low(self, stream: bytes) -> int:
        session = self._all.get(stream)
        return session.low if session is not None else 1

    def raise_low(self, stream: bytes, low: int) -> list[StoredRow]:
        """Drop the outcomes below `low`, which the client has, and return their rows."""
        session = self._all.get(stream)
        if session is None or low <= session.low:
            return []
        session.low = low
        old = [number for number in session.outcomes if number < low]
        self.count -= len(old)
        return [(session.outcomes.pop(number)[0], outcome_key(stream, number)) for number in old]

    def record(self, stream: bytes, number: int, low: int, store: str, outcome: Outcome) -> list[StoredRow]:
        """Record an outcome whose row, and that of `low`, is in `store`; return rows to be deleted."""
        session = self._all.pop(stream, None) or SessionOutcomes()
        self._all[stream] = session
        rows = self.raise_low(stream, low)
        session.used = max(session.used, outcome.stamp)
        self.count += number not in session.outcomes
        session.outcomes[number] = store, outcome
        session.stores.add(store)
        while self.count > MOST and len(self._all) > 1:
            rows += self.forget(next(iter(self._all)))
        return rows

    def forget(self, stream: bytes) -> list[StoredRow]:
        """Forget a session that repeats nothing any more, and return its rows."""
        session = self._all.pop(stream, None)
        if session is None:
            return []
        self.count -= len(session.outcomes)
        rows = [(store, outcome_key(stream, number)) for number, (store, _) in session.outcomes.items()]
        return rows + [(store, LOW + stream) for store in sorted(session.stores)]

    def expire(self, before: int) -> list[StoredRow]:
        """Forget the sessions without a transaction since `before`, and return their rows."""
        old = []
        for stream, session in self._all.items():
            if session.used >= before:
                break
            old.append(stream)
        return [row for stream in old for row in self.forget(stream)]

    def restore(self, store: str, rows: dict[bytes, bytes]) -> Iterator[bytes]:
        """Restore the rows of one store, and yield the keys of rows that cannot be read."""
        for key, value in rows.items():
            try:
                self._restore_row(store, key, value)
            except MeshError:
                yield key

    def _restore_row(self, store: str, key: bytes, value: bytes) -> None:
        kind, stream, number = key[:1], key[1 : 1 + STREAM], key[1 + STREAM :]
        session = self._all.get(stream) or SessionOutcomes()
        if kind == LOW and len(key) == 1 + STREAM:
            low, used = _read_low(value)
            session.low, session.used = max(session.low, low), max(session.used, used)
            session.stores.add(store)
        elif kind == OUTCOME and len(number) == 8:
            outcome = read_outcome(value)
            session.outcomes[int.from_bytes(number)] = store, outcome
            session.used = max(session.used, outcome.stamp)
            self.count += 1
        else:
            raise StoreError(f"a row of transactions has the key {key[:40]!r}")
        self._all[stream] = session

    def restored(self) -> Sequence[StoredRow]:
        """Order the restored sessions by their last use; return the rows below `low`, to be deleted."""
        self._all = dict(sorted(self._all.items(), key=lambda each: each[1].used))
        rows = list[StoredRow]()
        for stream, session in self._all.items():
            low, session.low = session.low, 1
            rows += self.raise_low(stream, low)
        return rows


def outcome_key(stream: bytes, number: int) -> bytes:
    return OUTCOME + stream + number.to_bytes(8)


def low_key(stream: bytes) -> bytes:
    return LOW + stream


def low_row(low: int, used: int) -> bytes:
    return msgspec.msgpack.encode((low, used))
