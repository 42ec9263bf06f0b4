"""Statistics of requests, counted at the sender's node, by address and serving node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, frexp, ldexp

from msgspec import Struct, field

from mesh.services.replies import codes
from mesh.wire.envelope import Envelope

COUNTED = 1024  # entries kept when there are too many
MOST = 2 * COUNTED
SPAN = 5.0  # s: recent means one to two spans
FINE = 8  # buckets per doubling; error below 1/16
LEAST = 1e-6  # s: the shortest latency counted
NOWHERE = ""  # node name if no node serves it

Latencies = Counter[int]  # replies by latency bucket


class OutcomeCounts(Struct):
    """The outcomes of messages to one address at one node. All counts except `recent` only grow."""

    sent: int = 0  # accepted messages without a reply
    requests: int = 0  # accepted or failed
    replies: int = 0
    seconds: float = 0.0  # total latency of the replies
    failed: int = 0  # the service failed
    lost: int = 0  # the service disconnected
    refused: int = 0  # no service accepted it
    expired: int = 0  # the deadline passed
    recent: Latencies = field(default_factory=Counter)  # since the last `take_percentiles`
    told: int = 0  # total at the last `take_percentiles`

    @property
    def failures(self) -> int:
        return self.failed + self.lost + self.refused + self.expired

    @property
    def total(self) -> int:
        """The sum of all counts. It differs from `told` if anything was counted since `take_percentiles`."""
        return self.sent + self.requests + self.replies + self.failures

    def take_percentiles(self) -> tuple[float | None, float | None]:
        """Return p50 and p99, in s, of the replies since the last call; None without any."""
        found = quantile(self.recent, 0.5), quantile(self.recent, 0.99)
        self.recent.clear()
        self.told = self.total
        return found


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
        """Count the replies in this envelope, with their latency. Refusals count as failures."""
        refusals = codes(e, places)
        n = len(places) - len(refusals)
        bucket = _bucket(seconds)
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
        """Return the latency, in s, of this share of recent replies, or 0 without any."""
        self._roll(now)
        return quantile(self._new + self._old, share) or 0.0

    def _roll(self, now: float) -> None:
        if now >= self._turn:
            self._old = self._new if now < self._turn + SPAN else Counter()
            self._new, self._turn = Counter(), now - now % SPAN + SPAN


def quantile(latencies: Mapping[int, int], share: float) -> float | None:
    """Return the latency, in s, up to which this share of the replies lies, or None without any.

    The result is the middle of a bucket, with an error below 1/16.
    """
    left = ceil(share * sum(latencies.values()))
    for bucket in sorted(latencies):
        left -= latencies[bucket]
        if left <= 0:
            return _middle(bucket)
    return None


def _bucket(seconds: float) -> int:
    fraction, exponent = frexp(max(seconds, LEAST))
    return exponent * FINE + int((2 * fraction - 1) * FINE)


def _middle(bucket: int) -> float:
    exponent, part = divmod(bucket, FINE)
    return ldexp(1 + (part + 0.5) / FINE, exponent - 1)


def _fail(fared: OutcomeCounts, code: str, otherwise: str, n: int) -> None:
    how = {"HANDLER_LOST": "lost", "EXPIRED": "expired"}.get(code, otherwise)
    setattr(fared, how, getattr(fared, how) + n)
