"""How soon does each node answer what is sent to it, and what has it not answered?"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

WEIGHT = 1 / 8  # of the latest answer in the average, as in TCP
KEPT = 4096  # nodes, those that were sent something the latest


@dataclass(slots=True)
class Record:
    """One process of a node: the messages that it has not answered, and s that it takes (0 = unknown)."""

    boot: object
    outstanding: int = 0
    latency: float = 0.0


class AnswerRecords:
    """A record for each node, by name. What another process of it was sent is nothing any more."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}  # the latest last

    def sent(self, node: str, boot: object, n: int = 1) -> None:
        """n messages went there."""
        record = self._records.pop(node, None)
        if record is None or record.boot != boot:
            record = Record(boot)
        self._records[node] = record
        record.outstanding += n
        if len(self._records) > KEPT:
            del self._records[next(iter(self._records))]

    def answered(self, node: str, boot: object, n: int = 1, seconds: float | None = None) -> None:
        """n of them were answered after so long; None: no answer will come."""
        record = self._records.get(node)
        if record is None or record.boot != boot:
            return
        record.outstanding = max(0, record.outstanding - n)
        if seconds is not None and isfinite(seconds) and seconds > 0:
            weight = WEIGHT if record.latency else 1.0
            record.latency += (seconds - record.latency) * weight

    def of(self, node: str, boot: object) -> tuple[int, float]:
        """What it has not answered, and its latency."""
        record = self._records.get(node)
        return (record.outstanding, record.latency) if record and record.boot == boot else (0, 0.0)

    def keep(self, is_there: Callable[[str], bool]) -> None:
        """Forget all others."""
        self._records = {node: record for node, record in self._records.items() if is_there(node)}
