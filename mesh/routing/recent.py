"""Recent envelopes whose retained values are not cut out yet: most are replaced before any read.

The next envelope of a publisher usually has newer values of the same topics. Only its values need to be cut
out then, which saves most of the work.
"""

from __future__ import annotations

from mesh.routing.retained_value import OVERHEAD, RetainedValue, last_values
from mesh.wire.envelope import Envelope

MOST_ENVELOPES = 64
MOST_BYTES = 8 * 1024 * 1024  # if all of their topics were new


class Recent:
    """Envelopes of each publisher stream and domain, in order."""

    def __init__(self) -> None:
        self.bytes = 0
        self._count = 0
        self._runs: dict[tuple[bytes, str], list[Envelope]] = {}

    def __bool__(self) -> bool:
        return bool(self._runs)

    @property
    def is_full(self) -> bool:
        return self._count >= MOST_ENVELOPES or self.bytes > MOST_BYTES

    def follows(self, envelope: Envelope) -> bool:
        """Return whether the envelope may follow the last one of its stream and domain.

        Its numbers must be higher, and its timestamp must not be lower.
        """
        run = self._runs.get((envelope.stream, envelope.domain))
        return run is None or (envelope.first > run[-1].last and envelope.sent >= run[-1].sent)

    def add(self, envelope: Envelope, size: int) -> None:
        """Add an envelope of this `size_if_new`."""
        self._runs.setdefault((envelope.stream, envelope.domain), []).append(envelope)
        self.bytes += size
        self._count += 1

    def take_all(self) -> list[RetainedValue]:
        """Remove all envelopes, and return the newest value of each topic in each stream, by timestamp."""
        runs, self._runs, self.bytes, self._count = self._runs, {}, 0, 0
        values = [value for run in runs.values() for value in _newest(run)]
        if len(runs) > 1:
            values.sort(key=lambda value: value.envelope.sent)
        return values


def size_if_new(envelope: Envelope) -> int:
    """Return the bytes that the values of an envelope take at most: if all of its topics were new."""
    keys = envelope.keys
    each = OVERHEAD + len(envelope.xml) if envelope.xml else OVERHEAD
    return len(envelope.body) + each * len(keys) + sum(map(len, keys))


def _newest(run: list[Envelope]) -> list[RetainedValue]:
    found: list[list[RetainedValue]] = []
    seen: set[str] = set()
    for envelope in reversed(run):
        if not seen.issuperset(envelope.keys):
            values = last_values(envelope, without=seen)
            seen.update([value.key for value in values])
            found.append(values)
    return [value for values in reversed(found) for value in values]
