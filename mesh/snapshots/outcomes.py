"""Outcomes of messages to one address at one node, with a histogram of latencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil, frexp, ldexp

from msgspec import Struct, field

FINE = 8  # buckets per doubling; error below 1/16
LEAST = 1e-6  # s: the shortest latency counted

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
        """Return p50 and p99, in s, of the replies since the last call; None without replies."""
        found = quantile(self.recent, 0.5), quantile(self.recent, 0.99)
        self.recent.clear()
        self.told = self.total
        return found


def quantile(latencies: Mapping[int, int], share: float) -> float | None:
    """Return the latency in s that `share` of the replies does not exceed, or None without replies.

    The result is the middle of a bucket, with an error below 1/16.
    """
    left = ceil(share * sum(latencies.values()))
    for bucket in sorted(latencies):
        left -= latencies[bucket]
        if left <= 0:
            return _middle(bucket)
    return None


def bucket_of(seconds: float) -> int:
    """Return the bucket number of a latency in seconds."""
    fraction, exponent = frexp(max(seconds, LEAST))
    return exponent * FINE + int((2 * fraction - 1) * FINE)


def _middle(bucket: int) -> float:
    exponent, part = divmod(bucket, FINE)
    return ldexp(1 + (part + 0.5) / FINE, exponent - 1)
