"""Which messages of a stored envelope are still owed? When they are few, the rest need not stay on disk."""

from collections.abc import Sequence

from mesh.wire.envelope import Envelope

Indices = tuple[int, ...]  # of messages in an envelope
OwedShares = Sequence[tuple[object, Indices | None]]  # to whom, and what of it; None = all

LARGE = 16 * 1024  # bytes of a body; below, to write it again is more work than it saves
FEW = 4  # one of so many messages, or fewer


class Shares:
    """Of one envelope: the messages (None: all) that each subscriber is owed."""

    def __init__(self, owed: OwedShares) -> None:
        self._owed = dict(owed)
        self._looked = len(self._owed)  # how many there were when they were last put together
        self._written: tuple[int, ...] = ()  # what the store was told to keep

    def settle(self, subscriber: object) -> bool:
        """Note that it is owed nothing any more. Is it worth a look what is left? (Each look is as much work
        as there are subscribers left, so there is one when half of them have gone.)"""
        self._owed.pop(subscriber, None)
        if not self._owed or 2 * len(self._owed) > self._looked + 1:
            return False
        self._looked = len(self._owed)
        return True

    def left(self, envelope: Envelope) -> Sequence[int]:
        """The messages to which the stored envelope should be cut; none when it shall stay as it is."""
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
    """None where nothing can be saved: it is small, or all is owed to each."""
    if len(envelope.body) < LARGE or all(indices is None for _, indices in owed):
        return None
    return Shares(owed)
