"""Replies to questions about locks."""

from __future__ import annotations

from msgspec import Struct

from mesh.wire.replies.value import ReplyValue


class LockAnswer(ReplyValue, frozen=True, kw_only=True):
    """The answer to a request for a lock.

    Attributes:
        code: `LOCK_HELD`, `LOCK_LOST` or `TOO_MANY_LOCKS`. Empty: the lock is granted, or the request waits.
        token: Fencing token of the grant, above all tokens before. 0: the request waits.
        waiting: Number of waiting clients: all of a granted lock, or those before the request.
        since: Time of the first request, in ns since 1970.
        ticket: MAC of `since`, with which a client keeps its place.
    """

    code: str = ""
    token: int = 0
    waiting: int = 0
    since: int = 0
    ticket: bytes = b""


class LocksRenewed(ReplyValue, frozen=True, kw_only=True):
    """The outcome of a renewal.

    Attributes:
        waiting: For each lock: number of waiting clients. -1: the lock is lost.
    """

    waiting: list[int] = []


class LockRow(Struct, frozen=True, kw_only=True):
    """A held lock.

    Attributes:
        key: Its name.
        client: Name of the client that holds it, as the client gives it.
        stream: Stream of that client.
        token: Its fencing token.
        lease: Its lease in ms.
        left: Rest of the lease in ms.
        waiting: Number of waiting clients.
        next: Names of the first waiting clients.
    """

    key: str
    client: str
    stream: bytes
    token: int
    lease: int
    left: int
    waiting: int = 0
    next: list[str] = []


class LockRows(ReplyValue, frozen=True, kw_only=True):
    """Held locks.

    Attributes:
        locks: The locks, by name.
        next: Value of `after` for the next page. Empty: this was the last.
        home: Name of the home of the locks.
    """

    locks: list[LockRow] = []
    next: str = ""
    home: str = ""
