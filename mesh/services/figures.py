"""How did requests fare? Counted where they are sent, by address and by the node that served them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, frexp, ldexp

from msgspec import Struct, field

from mesh.services.replies import codes
from mesh.wire.envelope import Envelope

COUNTED = 1024  # addresses at nodes that are kept when there are too many: the busiest
MOST = 2 * COUNTED
SPAN = 5.0  # s: what is recent is no older than this, or twice this
FINE = 8  # buckets in which a latency doubles: none is told wrong by more than a sixteenth
LEAST = 1e-6  # s: what is sooner counts as this
NOWHERE = ""  # the node, where there is none that serves it

Latencies = Counter[int]  # replies, by the bucket of their latency


class Fared(Struct):
    """The fate of what was sent to one address at one node. All counts only grow."""

    sent: int = 0  # that somebody has, and that want no reply
    requests: int = 0  # that somebody has, or that have failed
    replies: int = 0
    seconds: float = 0.0  # that the replies took, all together
    failed: int = 0  # whoever had them could not do it,
    lost: int = 0  # has gone meanwhile,
    refused: int = 0  # nobody took them,
    expired: int = 0  # or their time was over
    recent: Latencies = field(default_factory=Counter)  # since somebody looked,
    told: int = 0  # and the total then

    @property
    def failures(self) -> int:
        return self.failed + self.lost + self.refused + self.expired

    @property
    def total(self) -> int:
        """Differs from `told` when anything was counted meanwhile."""
        return self.sent + self.requests + self.replies + self.failures

    def look(self) -> tuple[float | None, float | None]:
        """p50 and p99 (s) of the replies since the last look."""
        found = quantile(self.recent, 0.5), quantile(self.recent, 0.99)
        self.recent.clear()
        self.told = self.total
        return found


class ServiceFigures:
    """Since the start, of each (address, node), and of all together.

    With more than MOST of them the least busy ones are forgotten, and begin again from 0 when they come back.
    """

    def __init__(self) -> None:
        self.all = Fared()
        self._at: dict[tuple[str, str], Fared] = {}
        self._new: Latencies = Counter()
        self._old: Latencies = Counter()
        self._turn = 0.0  # when what is new becomes old

    # --- counting ---------------------------------------------------------------------------------------

    def sent(self, address: str, node: str, n: int) -> None:
        """So many that want no reply are taken."""
        for fared in self._both(address, node):
            fared.sent += n

    def asked(self, address: str, node: str, n: int, state: str = "OK") -> None:
        """So many requests are taken, or refused."""
        for fared in self._both(address, node):
            fared.requests += n
            if state != "OK":
                _fail(fared, state, "refused", n)

    def failed(self, address: str, node: str, n: int, code: str) -> None:
        """So many requests will have no reply, although they were taken."""
        for fared in self._both(address, node):
            _fail(fared, code, "failed", n)

    def replied(
        self, address: str, node: str, e: Envelope, places: Sequence[int], seconds: float, now: float
    ) -> None:
        """Replies of this envelope came, so long after they were asked for."""
        refusals = codes(e, places)
        n = len(places) - len(refusals)
        bucket = _bucket(seconds)
        for fared in self._both(address, node):
            for code in refusals:
                _fail(fared, "" if e.sender else code, "failed", 1)  # whoever serves may use any code
            fared.replies += n
            fared.seconds += n * seconds
        if n:
            self._of(address, node).recent[bucket] += n
            self._roll(now)
            self._new[bucket] += n

    def _both(self, address: str, node: str) -> tuple[Fared, Fared]:
        return self.all, self._of(address, node)

    def _of(self, address: str, node: str) -> Fared:
        fared = self._at.get((address, node))
        if fared is None:
            if len(self._at) >= MOST:
                self._at = {(a, n): f for a, n, f in self.busiest(COUNTED)}
            fared = self._at[address, node] = Fared()
        return fared

    # --- telling ----------------------------------------------------------------------------------------

    def each(self) -> Iterator[tuple[str, Fared]]:
        """(address, how it fared at some node) of all that are kept."""
        return ((address, fared) for (address, _), fared in self._at.items())

    def busiest(self, n: int) -> list[tuple[str, str, Fared]]:
        """(address, node, how it fared) of so many, those to which most was sent first."""
        ordered = sorted(self._at.items(), key=lambda item: item[1].sent + item[1].requests, reverse=True)[:n]
        return [(address, node, fared) for (address, node), fared in ordered]

    def latency(self, now: float, share: float) -> float:
        """s within which this share of the replies of the last 5 to 10 s came; 0 without any."""
        self._roll(now)
        return quantile(self._new + self._old, share) or 0.0

    def _roll(self, now: float) -> None:
        if now >= self._turn:
            self._old = self._new if now < self._turn + SPAN else Counter()
            self._new, self._turn = Counter(), now - now % SPAN + SPAN


def quantile(latencies: Mapping[int, int], share: float) -> float | None:
    """s within which this share of them lies; None without any."""
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


def _fail(fared: Fared, code: str, otherwise: str, n: int) -> None:
    how = {"HANDLER_LOST": "lost", "EXPIRED": "expired"}.get(code, otherwise)
    setattr(fared, how, getattr(fared, how) + n)
