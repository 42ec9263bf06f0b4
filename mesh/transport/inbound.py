"""Which connection is behind a descriptor? Descriptors are used again, and ZeroMQ's events are read late."""

from __future__ import annotations

from collections.abc import Callable

# Law 1: ZeroMQ tells of a descriptor in this order: accepted, ended, accepted, … Each "accepted" begins
#        another connection, though the number is the same. A listener's events are all read before a new
#        connection is named, so an end that is told later is not the end of an earlier one.
# Law 2: At most one of the connections that have spoken on a descriptor lives: the newest.
# Law 3: ZeroMQ numbers connections as they come, in their routing ids. So of two it is known which is newer,
#        whichever is heard first.

Place = tuple[int, int]  # number of the listener, and descriptor
Inbound = tuple[int, bytes]  # a connection that came in: number of the listener, and routing id
MADE = 5  # bytes of a routing id that ZeroMQ made: 0, and a number of 32 bits
HALF, WHOLE = 1 << 31, 1 << 32


class Arrivals:
    """The inbound connections of all listeners, by descriptor and by routing id."""

    def __init__(self) -> None:
        self.places: dict[Inbound, Place] = {}  # where each connection that has spoken came in
        self._open: set[Place] = set()  # accepted, and not ended
        self._newest: dict[Place, Inbound] = {}  # of those that have spoken there

    def accepted(self, place: Place) -> Inbound | None:
        """Begin another connection there; returns the one that is over, if its end was not told."""
        self._open.add(place)
        return self._newest.pop(place, None)

    def ended(self, place: Place) -> Inbound | None:
        """End the connection that is there, and return its key if it has spoken."""
        self._open.discard(place)
        return self._newest.pop(place, None)

    def spoke(self, key: Inbound, place: Place, catch_up: Callable[[], None]) -> Inbound | None:
        """Name a connection by its first words; returns the one that is over, which may be itself.

        `catch_up` reads all events of its listener. An end that is told later is about this connection."""
        catch_up()
        self.places[key] = place
        if place not in self._open:
            return key  # it ended before it was heard
        before = self._newest.get(place)
        if before is not None and is_newer(before, key):
            return key
        self._newest[place] = key
        return before

    def lives(self, key: Inbound) -> bool:
        """Return whether the connection has spoken, and has not ended as far as is known."""
        place = self.places.get(key)
        return place is not None and self._newest.get(place) == key

    def forget(self, key: Inbound) -> Place | None:
        """Forget a connection; returns where it is, if it lives."""
        is_alive = self.lives(key)
        place = self.places.pop(key, None)
        if place is None or not is_alive:
            return None
        del self._newest[place]
        return place


def is_newer(one: Inbound, other: Inbound) -> bool:
    """Return whether `one` came after `other`, which was heard after it. A routing id that a peer chose says
    nothing of its age, so of two the one that was heard later counts as the newer one."""
    made = [key[1] for key in (one, other) if len(key[1]) == MADE and key[1][0] == 0]
    if len(made) < 2:
        return False
    first, second = (int.from_bytes(each[1:], "big") for each in made)
    return 0 < (first - second) % WHOLE < HALF
