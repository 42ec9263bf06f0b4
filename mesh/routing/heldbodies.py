"""The contents of what this node has sent to a master, who then need not send them back."""

from __future__ import annotations

from msgspec.structs import replace

from mesh.wire.envelope import HELD, Envelope

# Law 1: what is promised to be held is held until it comes back, or for LIFE. There is room, or no promise.
# Law 2: an item without contents is filled with its own, or not at all: who cannot do that has it sent whole.

LIFE = 60.0  # s: what has not come back by then was wanted by nobody here, or comes whole
ROOM = 16 * 1024 * 1024  # bytes


class HeldBodies:
    """Envelopes by stream and domain, in each the oldest first."""

    def __init__(self, room: int = ROOM) -> None:
        self.bytes = 0
        self._room = room
        self._lanes: dict[tuple[bytes, str], dict[int, tuple[float, Envelope]]] = {}

    def hold(self, e: Envelope, now: float) -> Envelope | None:
        """It, as it tells its master that its contents are held here; None: there is no room for them."""
        self._drop(e.stream, e.domain, e.first)
        if e.numbers or self.bytes + _size(e) > self._room:
            return None
        self._lanes.setdefault((e.stream, e.domain), {})[e.first] = (now, e)
        self.bytes += _size(e)
        return replace(e, flags=e.flags | HELD)

    def whole(self, item: Envelope) -> Envelope | None:
        """The item that came without contents, with them; None: they are not here."""
        found = self._around(item)
        if found is None:
            return None
        numbers = item.number_list(range(item.count))
        piece = found.cut([number - found.first for number in numbers])
        if _keys(piece) != _keys(item):
            return None
        if numbers[-1] == found.last:  # its master sends the parts of it in their order
            self._drop(found.stream, found.domain, found.first)
        return replace(item, sizes=piece.sizes, props=piece.props, body=piece.body, flags=item.flags & ~HELD)

    def forget_old(self, now: float) -> None:
        """What is older than LIFE."""
        for (stream, domain), lane in list(self._lanes.items()):
            for first in [first for first, (since, _) in lane.items() if now - since >= LIFE]:
                self._drop(stream, domain, first)

    def _around(self, e: Envelope) -> Envelope | None:
        """What is held with all of these numbers in it."""
        lane = self._lanes.get((e.stream, e.domain), {})
        exact = lane.get(e.first)  # as a rule
        held = (exact,) if exact is not None else lane.values()
        return next((each for _, each in held if each.first <= e.first and e.last <= each.last), None)

    def _drop(self, stream: bytes, domain: str, first: int) -> None:
        lane = self._lanes.get((stream, domain), {})
        if first not in lane:
            return
        self.bytes -= _size(lane.pop(first)[1])
        if not lane:
            del self._lanes[stream, domain]


def without_contents(e: Envelope) -> Envelope:
    """The item, for the node that holds its contents."""
    return replace(e, sizes=0, props=0, body=b"", flags=e.flags | HELD)


def _keys(e: Envelope) -> list[str]:
    """Of each message."""
    return [e.keys[row] for row in e.rows()]


def _size(e: Envelope) -> int:
    return len(e.body) + 64 * e.count
