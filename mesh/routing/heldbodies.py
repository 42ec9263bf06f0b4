"""Bodies of messages sent to a master, held here so that the master need not return them."""

from __future__ import annotations

from msgspec.structs import replace

from mesh.wire.envelope import HELD, Envelope

# Law 1: a promised body is held until it returns, or for LIFE. Without room there is no promise.
# Law 2: an item without its body is completed with exactly its body, or requested again whole.

# Seconds: a body that has not returned by then has no reader here, or will be sent whole.
LIFE = 60.0
ROOM = 16 * 1024 * 1024  # bytes


class HeldBodies:
    """The bodies that are held, by stream and domain.

    `room` is their limit in bytes, with 64 added for each message.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.bytes = 0
        self._room = room
        self._lanes: dict[tuple[bytes, str], dict[int, tuple[float, Envelope]]] = {}

    def hold_body(self, e: Envelope, now: float) -> Envelope | None:
        """Hold the body, and return the envelope marked as held here.

        Return None if there is no room, or if the numbers of the envelope are not consecutive.
        """
        self._drop(e.stream, e.domain, e.first)
        if e.numbers or self.bytes + _size(e) > self._room:
            return None
        self._lanes.setdefault((e.stream, e.domain), {})[e.first] = (now, e)
        self.bytes += _size(e)
        return replace(e, flags=e.flags | HELD)

    def whole(self, item: Envelope) -> Envelope | None:
        """Return the item with its body, or None if no held body has its numbers with the same keys.

        A body is dropped when the item with its last number has been completed.
        """
        found = self._around(item)
        if found is None:
            return None
        numbers = item.number_list(range(item.count))
        piece = found.cut([number - found.first for number in numbers])
        if _keys(piece) != _keys(item):
            return None
        if numbers[-1] == found.last:  # the master sends parts in order
            self._drop(found.stream, found.domain, found.first)
        return replace(item, sizes=piece.sizes, props=piece.props, body=piece.body, flags=item.flags & ~HELD)

    def forget_old(self, now: float) -> None:
        for (stream, domain), lane in list(self._lanes.items()):
            for first in [first for first, (since, _) in lane.items() if now - since >= LIFE]:
                self._drop(stream, domain, first)

    def _around(self, e: Envelope) -> Envelope | None:
        lane = self._lanes.get((e.stream, e.domain), {})
        exact = lane.get(e.first)  # the usual case
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
    """Return the item without its body and marked as held, for the node that holds the body."""
    return replace(e, sizes=0, props=0, body=b"", flags=e.flags | HELD)


def _keys(e: Envelope) -> list[str]:
    return [e.keys[row] for row in e.rows()]


def _size(e: Envelope) -> int:
    return len(e.body) + 64 * e.count
