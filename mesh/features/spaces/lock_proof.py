"""The texts that a client signs for its locks, and the tickets with which it keeps its place."""

from __future__ import annotations

import hashlib
import hmac

from mesh.proof import same
from mesh.wire.calls import AskLock, AskLockRelease, AskLockRenew
from mesh.wire.codec import pack


def ask_text(ask: AskLock) -> bytes:
    """Return the text to sign: all of a request that its outcome depends on, without the ticket."""
    terms = [ask.lease, ask.hold, ask.can_wait, ask.client, ask.is_election, ask.content, ask.props]
    return b"heronry lock\0" + pack([ask.space, ask.key, ask.number, ask.count, *terms, ask.writer])


def renew_text(ask: AskLockRenew) -> bytes:
    """Return the text to sign: all of a renewal."""
    return b"heronry renew\0" + pack([ask.space, [list(each) for each in ask.held], ask.count, ask.writer])


def release_text(ask: AskLockRelease) -> bytes:
    """Return the text to sign: all of a release."""
    return b"heronry release\0" + pack([ask.space, ask.key, ask.number, ask.writer])


def ticket(secret: bytes, ask: AskLock, since: int) -> bytes:
    """Return the MAC of the time at which a request was first received."""
    text = pack([ask.space, ask.key, ask.number, ask.writer, since])
    return hmac.digest(secret, b"heronry ticket\0" + text, hashlib.sha256)


def since_of(secret: bytes, ask: AskLock) -> int:
    """Return the time in a request's ticket, or 0 without a valid one."""
    return ask.since if ask.since and same(ask.ticket, ticket(secret, ask, ask.since)) else 0
