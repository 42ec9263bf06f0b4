"""Statistics of requests, counted at the sender's node, by address and serving node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from mesh.features.services.model.replies import codes
from mesh.snapshots.outcomes import Latencies, OutcomeCounts, bucket_of, quantile
from mesh.wire.envelope import Envelope

COUNTED = 1024  # entries kept when there are too many
MOST = 2 * COUNTED
SPAN = 5.0  # s: recent means one to two spans
NOWHERE = ""  # node name if no node serves it


class ServiceFigures:
    """The statistics since the start, for each (address, node) and in total.

    Beyond MOST entries the least busy ones are dropped, and start again at 0 when they return.
    """

    def __init__(self) -> None:
        self.all = OutcomeCounts()
        self._at: dict[tuple[str, str], OutcomeCounts] = {}
        self._new: Latencies = Counter()
        self._old: Latencies = Counter()
        self._turn = 0.0  # time of the next roll

    # --- counting ---------------------------------------------------------------------------------------

    def sent(self, address: str, node: str, n: int) -> None:
        """Count n accepted messages that expect no reply."""
        for fared in self._both(address, node):
            fared.sent += n

    def count_requests(self, address: str, node: str, n: int, state: str = "OK") -> None:
        """Count n requests that were accepted or refused."""
        for fared in self._both(address, node):
            fared.requests += n
            if state != "OK":
                _fail(fared, state, "refused", n)

    def count_failed(self, address: str, node: str, n: int, code: str) -> None:
        """Count n accepted requests that will get no reply."""
        for fared in self._both(address, node):
            _fail(fared, code, "failed", n)

    def count_replies(
        self, address: str, node: str, e: Envelope, places: Sequence[int], seconds: float, now: float
    ) -> None:
        """Count the replies at `places` in an envelope, with their latency in s. Refusals are failures."""
        refusals = codes(e, places)
        n = len(places) - len(refusals)
        bucket = bucket_of(seconds)
        for fared in self._both(address, node):
            for code in refusals:
                _fail(fared, "" if e.sender else code, "failed", 1)  # services may use any code
            fared.replies += n
            fared.seconds += n * seconds
        if n:
            self._counts_of(address, node).recent[bucket] += n
            self._roll(now)
            self._new[bucket] += n

    def _both(self, address: str, node: str) -> tuple[OutcomeCounts, OutcomeCounts]:
        return self.all, self._counts_of(address, node)

    def _counts_of(self, address: str, node: str) -> OutcomeCounts:
        fared = self._at.get((address, node))
        if fared is None:
            if len(self._at) >= MOST:
                self._at = {(a, n): f for a, n, f in self.busiest(COUNTED)}
            fared = self._at[address, node] = OutcomeCounts()
        return fared

    # --- reports ----------------------------------------------------------------------------------------

    def each(self) -> Iterator[tuple[str, OutcomeCounts]]:
        """Yield (address, outcomes at some node) for all entries."""
        return ((address, fared) for (address, _), fared in self._at.items())

    def busiest(self, n: int) -> list[tuple[str, str, OutcomeCounts]]:
        """Return (address, node, outcomes) of the n busiest entries, in falling order."""
        ordered = sorted(self._at.items(), key=lambda item: item[1].sent + item[1].requests, reverse=True)[:n]
        return [(address, node, fared) for (address, node), fared in ordered]

    def latency(self, now: float, share: float) -> float:
        """Return the latency in s that `share` of the recent replies did not exceed, or 0 without replies."""
        self._roll(now)
        return quantile(self._new + self._old, share) or 0.0

    def _roll(self, now: float) -> None:
        if now >= self._turn:
            self._old = self._new if now < self._turn + SPAN else Counter()
            self._new, self._turn = Counter(), now - now % SPAN + SPAN


def _fail(fared: OutcomeCounts, code: str, otherwise: str, n: int) -> None:
    how = {"HANDLER_LOST": "lost", "EXPIRED": "expired"}.get(code, otherwise)
    setattr(fared, how, getattr(fared, how) + n)
