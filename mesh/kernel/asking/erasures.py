"""Events about erased topics, with the client and the number of topics.

One client can erase thousands of topics, but only the last thousand events are kept. Therefore one event
reports many topics.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

AGAIN = 60.0  # s between two events of the same client
MOST = 64  # clients remembered; beyond, the oldest is reported


@dataclass(slots=True)
class _Erased:
    """The topics that a client has erased since its last event."""

    told: float  # time of that event
    by: str
    count: int = 0
    last: str = ""  # key of a topic


class Erasures:
    """Reports the first erased topic of a client immediately, and the number of further ones each minute.

    `report` receives the text of an event.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._by: OrderedDict[str, _Erased] = OrderedDict()  # by key, or by name of a session without one

    def add(self, who: str, by: str, key: str, now: float) -> None:
        """Count an erased topic.

        `who` identifies the client, and `by` is its name in the report.
        """
        if (known := self._by.get(who)) is not None:
            known.by, known.count, known.last = by, known.count + 1, key
            return
        self._report(f"{key!r} was erased by {by}")
        self._by[who] = _Erased(now, by)
        if len(self._by) > MOST:
            self._report_erased(self._by.popitem(last=False)[1])

    def tick(self, now: float) -> None:
        """Report how many more topics each client has erased, a minute after its last event."""
        for who in list(self._due(now)):
            erased = self._by.pop(who)
            if erased.count:
                self._report_erased(erased)
                self._by[who] = _Erased(now, erased.by)

    def _due(self, now: float) -> Iterator[str]:
        """Yield the clients whose next report is due, in the order of their last reports."""
        for who, erased in self._by.items():
            if now - erased.told < AGAIN:
                return
            yield who

    def _report_erased(self, erased: _Erased) -> None:
        if erased.count:
            topics = "topic was" if erased.count == 1 else "topics were"
            self._report(
                f"{erased.count:,} more {topics} erased by {erased.by}; the last was {erased.last!r}"
            )
