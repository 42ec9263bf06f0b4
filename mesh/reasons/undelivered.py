"""Counts undelivered messages by receiver, topic and reason."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mesh.names import SessionName
from mesh.reasons.what import CLIENT, NODE, TOPIC, What

KEPT = 2048  # rows; beyond that the oldest are merged
REST = ""  # receiver and topic of merged rows


class Loss(NamedTuple):
    """The number of messages on one topic that one receiver did not get for one reason.

    `at` is the time of the latest, in s of the node's clock.
    """

    who: str
    topic: str
    domain: str
    why: str
    n: int
    at: float


class Undelivered:
    """The counts of undelivered messages, by receiver, topic and reason.

    Beyond `kept` rows, the oldest are merged by reason, so that the total stays exact.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._rows: OrderedDict[tuple[str, str, str, str], tuple[int, float]] = OrderedDict()
        self._rest: dict[str, tuple[int, float]] = {}  # by reason

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def total(self) -> int:
        return sum(loss.n for loss in self)

    def add(self, who: str, keys: Sequence[str], domain: str, why: str, n: int, now: float) -> None:
        """Count `n` undelivered messages for `who` under the first of `keys`, or under "" without keys."""
        row = (who, keys[0] if keys else "", domain, why)
        before, _ = self._rows.get(row, (0, 0.0))
        self._rows[row] = before + n, now
        self._rows.move_to_end(row)
        if len(self._rows) > self._kept:
            (*_, old), (m, at) = self._rows.popitem(last=False)
            rest, last = self._rest.get(old, (0, at))
            self._rest[old] = rest + m, max(last, at)

    def __iter__(self) -> Iterator[Loss]:
        """Yield the losses, latest first, and then the merged ones."""
        for (who, topic, domain, why), (n, at) in reversed(self._rows.items()):
            yield Loss(who, topic, domain, why, n, at)
        for why, (n, at) in self._rest.items():
            yield Loss(REST, REST, "", why, n, at)


def is_about(loss: Loss, what: What) -> bool:
    if what.kind == TOPIC:
        return loss.topic == what.text and loss.domain == what.domain
    if what.kind == NODE:
        return loss.who == what.text
    return what.kind == CLIENT and "client/" in loss.who and _is_of(SessionName.parse(loss.who), what.client)


def _is_of(who: SessionName, client: SessionName) -> bool:
    is_there = client.node in (None, who.node)
    return is_there and who.client == client.client and client.session in (None, who.session)
