"""Mapping of descriptors to inbound connections: descriptors are reused, and events are read late."""

from __future__ import annotations

from collections.abc import Callable, Hashable

# Law 1: ZeroMQ's events of a descriptor are: accepted, ended, accepted, … Each "accepted" begins another
# connection, though the number is the same. All events of a listener are read before a new connection is
# registered, so a later end does not belong to an earlier connection.
# Law 2: of the connections that have sent on a descriptor, at most the newest is alive.
# Law 3: ZeroMQ numbers connections in order in their routing ids, so of two the newer one is known, whichever
# is read first.

Key = Hashable  # of a connection: `Inbound`, or another value if dialed
Place = tuple[int, int]  # listener number, descriptor
Inbound = tuple[int, bytes]  # inbound connection: listener number, routing id
MADE = 5  # bytes of a generated routing id: 0, 32-bit number
HALF, WHOLE = 1 << 31, 1 << 32


class Arrivals:
    """The inbound connections of all listeners, by descriptor and by routing id."""

    def __init__(self) -> None:
        self.places: dict[Inbound, Place] = {}  # where each connection that has sent arrived
        self._open: set[Place] = set()  # accepted, and not ended
        self._newest: dict[Place, Inbound] = {}  # newest of those that have sent there

    def accepted(self, place: Place) -> Inbound | None:
        """Record a new connection at `place`.

        Return the previous connection there if it has sent something and its end was not reported, else None.
        """
        self._open.add(place)
        return self._newest.pop(place, None)

    def end_place(self, place: Place) -> Inbound | None:
        """Record the end of the connection at `place`. Return its key if it has sent something, else None."""
        self._open.discard(place)
        return self._newest.pop(place, None)

    def spoke(self, key: Inbound, place: Place, catch_up: Callable[[], None]) -> Inbound | None:
        """Register the connection `key` at its first message. Return a connection that has ended, or None.

        The result is `key` itself, or the previous connection at `place`. `catch_up` reads all pending events
        of the listener, so an end that is reported later belongs to `key`.
        """
        catch_up()
        self.places[key] = place
        if place not in self._open:
            return key  # it ended before it was read
        before = self._newest.get(place)
        if before is not None and is_newer(before, key):
            return key
        self._newest[place] = key
        return before

    def lives(self, key: Inbound) -> bool:
        """Return whether the connection has sent something and has not ended, as far as is known."""
        place = self.places.get(key)
        return place is not None and self._newest.get(place) == key

    def forget_connection(self, key: Inbound) -> Place | None:
        """Forget a connection, and return its place if it is alive, else None."""
        is_alive = self.lives(key)
        place = self.places.pop(key, None)
        if place is None or not is_alive:
            return None
        del self._newest[place]
        return place


def is_newer(one: Inbound, other: Inbound) -> bool:
    """Return whether `one` began after `other`, although `other` was read later.

    A routing id that a peer chose has no order, so the result is then False.
    """
    made = [key[1] for key in (one, other) if len(key[1]) == MADE and key[1][0] == 0]
    if len(made) < 2:
        return False
    first, second = (int.from_bytes(each[1:], "big") for each in made)
    return 0 < (first - second) % WHOLE < HALF
