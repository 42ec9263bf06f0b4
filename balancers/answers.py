"""Response times and unanswered messages of each node."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

# Weight of the latest response time in the average, as in TCP.
WEIGHT = 1 / 8
KEPT = 4096  # nodes, the most recently used


@dataclass(slots=True)
class AnswerRecord:
    """Unanswered messages and response time of one process of a node.

    `latency` is an average in s, or 0 if it is unknown.
    """

    boot: object
    outstanding: int = 0
    latency: float = 0.0


class AnswerRecords:
    """Records of the KEPT most recently used nodes, by name.

    The record of a restarted node starts empty.
    """

    def __init__(self) -> None:
        self._records: dict[str, AnswerRecord] = {}  # most recently used last

    def sent(self, node: str, boot: object, n: int = 1) -> None:
        record = self._records.pop(node, None)
        if record is None or record.boot != boot:
            record = AnswerRecord(boot)
        self._records[node] = record
        record.outstanding += n
        if len(self._records) > KEPT:
            del self._records[next(iter(self._records))]

    def count_answers(self, node: str, boot: object, n: int = 1, seconds: float | None = None) -> None:
        """Count `n` messages as answered by `node` after `seconds`, if the record is of this boot.

        If `seconds` is None, the messages will never be answered, and the response time is unchanged.
        """
        record = self._records.get(node)
        if record is None or record.boot != boot:
            return
        record.outstanding = max(0, record.outstanding - n)
        if seconds is not None and isfinite(seconds) and seconds > 0:
            weight = WEIGHT if record.latency else 1.0
            record.latency += (seconds - record.latency) * weight

    def record_of(self, node: str, boot: object) -> tuple[int, float]:
        """Return the number of unanswered messages, and the average response time in s, 0 if unknown."""
        record = self._records.get(node)
        return (record.outstanding, record.latency) if record and record.boot == boot else (0, 0.0)

    def keep(self, is_there: Callable[[str], bool]) -> None:
        """Forget the nodes for which `is_there` is false."""
        self._records = {node: record for node, record in self._records.items() if is_there(node)}
