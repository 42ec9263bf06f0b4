"""How much lies in memory of messages that are whole, and that nobody has read yet? Decided from figures.

No socket bounds the messages that wait to be read (Law 1 of `options.py`), so the guard bounds their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from mesh.transport.unfinished import CLIENT, NODE, PUB, STRANGER, TOGETHER, UNPROVEN, Guest, size
from mesh.wire.limits import MIB

# Law 1: A connection has at most what it received, less what was read of it, in memory.
# Law 2: When its socket was seen empty, all whole messages that it had received at the last look were read.
#        So the difference of Law 1 is set anew then, and no error in it grows.
# Law 3: An honest peer never reaches a limit: its windows are smaller.

LIMITS = {STRANGER: UNPROVEN, CLIENT: 128 * MIB, NODE: 256 * MIB}  # bytes of one connection
IN_ALL = 1024 * MIB  # bytes of all connections that have said HELLO
FRAME_HEAD, CURVE_HEAD = 9, 33  # bytes that ZMTP, and CURVE, add to a frame at most


class Unread:
    """The unread bytes of guests, by descriptor."""

    def __init__(self) -> None:
        self._waiting: dict[int, Guest] = {}  # guests of which something was unread at the last look

    def grows(self, number: int, guest: Guest, received: int, read: int, is_empty: bool) -> bool:
        """Take note of what is unread, and return whether that is more than it was.

        `received` and `read`: bytes since the connection came. `is_empty`: its socket was so at some time
        since the last look.
        """
        if is_empty:
            guest.slack = guest.seen - read
        before, guest.unread = guest.unread, max(0, received - read - guest.slack)
        guest.seen = received
        if guest.unread and guest.role != PUB:
            self._waiting[number] = guest
        else:
            self.forget(number)
        return guest.unread > max(before, UNPROVEN)

    def forget(self, number: int) -> None:
        """Forget a guest that is gone, or goes."""
        self._waiting.pop(number, None)

    def excess(self, guest: Guest) -> str:
        """The excess that a guest has, in words; "" if it has none."""
        limit = LIMITS.get(guest.role)
        if limit is None or guest.unread <= limit:
            return ""
        return f"more than {size(limit)} that this node has not read yet, {guest.role}"

    def crowding(self) -> Iterator[tuple[int, str]]:
        """Of strangers, and of the others, those with most and why, until the rest have room."""
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
                yield number, f"more than {size(limit)} of all connections that this node has not read yet"
