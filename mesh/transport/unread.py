"""Memory of whole messages that were not read yet, computed from byte counts.

No socket limits the messages that wait to be read (Law 1 of `options.py`), so the guard limits their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from mesh.transport.unfinished import CLIENT, NODE, PUB, STRANGER, TOGETHER, UNPROVEN, Guest, size
from mesh.wire.limits import MIB

# Law 1: a connection has at most its received minus its read bytes in memory.
# Law 2: when its socket was seen empty, all whole messages received before the last check were read. The
# difference of Law 1 is then reset, so errors in it do not grow.
# Law 3: an honest peer never reaches a limit, because its windows are smaller.

LIMITS = {STRANGER: UNPROVEN, CLIENT: 128 * MIB, NODE: 256 * MIB}  # bytes of one connection
IN_ALL = 1024 * MIB  # bytes of all connections after HELLO
FRAME_HEAD, CURVE_HEAD = 9, 33  # maximum of bytes added to a frame by ZMTP and CURVE


class Unread:
    """The unread bytes of connections, by descriptor."""

    def __init__(self) -> None:
        self._waiting: dict[int, Guest] = {}  # with unread bytes at the last check

    def grows(self, number: int, guest: Guest, received: int, read: int, is_empty: bool) -> bool:
        """Update the unread bytes of a connection. Return whether they have grown beyond UNPROVEN.

        `received` and `read` are bytes since the connection began. With `is_empty` its socket was empty at
        some time since the last check.
        """
        if is_empty:
            guest.slack = guest.seen - read
        before, guest.unread = guest.unread, max(0, received - read - guest.slack)
        guest.seen = received
        if guest.unread and guest.role != PUB:
            self._waiting[number] = guest
        else:
            self.forget_connection(number)
        return guest.unread > max(before, UNPROVEN)

    def forget_connection(self, number: int) -> None:
        self._waiting.pop(number, None)

    def excess(self, guest: Guest) -> str:
        """Return why the connection must be closed: it holds more than its role may. "" if it does not."""
        limit = LIMITS.get(guest.role)
        if limit is None or guest.unread <= limit:
            return ""
        return f"more than {size(limit)} of unread data, {guest.role}"

    def crowding(self) -> Iterator[tuple[int, str]]:
        """Yield the largest connections of strangers and of others, with the reason, until the rest fits."""
        for is_stranger, limit in ((True, TOGETHER), (False, IN_ALL)):
            group = [
                (guest.unread, number)
                for number, guest in self._waiting.items()
                if (guest.role == STRANGER) is is_stranger
            ]
            total = sum(unread for unread, _ in group)
            for unread, number in sorted(group, reverse=True):
                if total <= limit:
                    break
                total -= unread
                whose = "all connections that have not logged in" if is_stranger else "all connections"
                yield number, f"more than {size(limit)} of unread data from {whose}"
