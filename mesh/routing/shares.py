"""Messages of a stored envelope that are still owed.

If few are left, the others are cut from disk.
"""

from collections.abc import Sequence

from mesh.wire.envelope import Envelope

Indices = tuple[int, ...]  # of messages in an envelope
OwedShares = Sequence[tuple[object, Indices | None]]  # sink, its messages (None = all)

# Bytes of a body. Rewriting a smaller one costs more than it saves.
LARGE = 16 * 1024
FEW = 4  # divisor: at most 1/FEW of the messages are left


class Shares:
    """The messages (None: all) of one envelope that each subscriber is owed."""

    def __init__(self, owed: OwedShares) -> None:
        self._owed = dict(owed)
        self._looked = len(self._owed)  # sinks at the last count
        self._written: tuple[int, ...] = ()  # messages kept in the store

    def settle(self, subscriber: object) -> bool:
        """Remove a settled subscriber, and return whether to call `remaining` now.

        `remaining` takes time for each subscriber that is left, so it is due when half of them have gone.
        """
        self._owed.pop(subscriber, None)
        if not self._owed or 2 * len(self._owed) > self._looked + 1:
            return False
        self._looked = len(self._owed)
        return True

    def remaining(self, envelope: Envelope) -> Sequence[int]:
        """Return the indices of the messages to keep on disk, or () to leave the stored envelope as it is."""
        if None in self._owed.values():
            return ()
        left = {i for indices in self._owed.values() for i in indices or ()}
        stored = len(self._written) or envelope.count
        if FEW * len(left) > stored:
            return ()
        size = len(envelope.body) * stored // envelope.count
        if size < LARGE:
            return ()
        self._written = tuple(sorted(left))
        return self._written


def shares(owed: OwedShares, envelope: Envelope) -> Shares | None:
    """Return the shares, or None if nothing can be saved.

    Nothing is saved if the envelope is small, or if all of it is owed to each sink.
    """
    if len(envelope.body) < LARGE or all(indices is None for _, indices in owed):
        return None
    return Shares(owed)
