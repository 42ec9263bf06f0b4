"""Commits that break a limit, by one more: the node hangs up, and nothing of them happens."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from mesh.features.transactions.wire import Commit, Settled
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.frames import write
from mesh.wire.limits import (
    MIB,
    TRANSACTION_BYTES,
    TRANSACTION_ENVELOPES,
    TRANSACTION_OPERATIONS,
    TRANSACTIONS_OPEN,
)
from mesh.wire.packed import PackedEnvelopes
from tests.mesh.features.queues.node.worker import a_node
from tests.mesh.features.transactions.node.clerk import Clerk

Frames = list[bytes]
Mistake = Callable[[Clerk], Frames]


def commit(joe: Clerk, *envelopes: Envelope, **fields: object) -> Frames:
    """Return the frames of a COMMIT with a put into `jobs`, and these envelopes."""
    packed = PackedEnvelopes([joe.envelope("jobs", b"x"), *envelopes])
    command = replace(Commit(9, 1, 1, sizes=packed.sizes), **fields)
    return write(command, [packed])


def refusal(joe: Clerk) -> str:
    """Return the code with which the node hangs up."""
    joe.net.until(lambda: any(isinstance(each, c.Refuse) for each in joe.heard))
    return next(each.code for each in joe.heard if isinstance(each, c.Refuse))


def settled(count: int) -> Settled:
    return Settled("jobs", 1, 0, 0, False, b"s" * 16, (1, count))


def many(joe: Clerk, count: int) -> Frames:
    return commit(joe, *(joe.message("a", b"") for _ in range(count - 1)))


def messages(joe: Clerk) -> Frames:
    e = replace(joe.message("a", b""), count=2000, last=2000)
    more = [replace(e, first=2000 * n + 1, last=2000 * n + 2000) for n in range(5)]
    return commit(joe, *more)


def long_headers(joe: Clerk) -> Frames:
    keys = tuple(f"{n:0>400}" for n in range(250))
    index = b"".join(n.to_bytes(2, "little") for n in range(250))
    e = Envelope(joe.stream, "", 1, 250, keys, 250, 0, b"", index=index, flags=PERSISTENT)
    return commit(joe, *(replace(e, first=250 * n + 1, last=250 * n + 250) for n in range(12)))


def large(joe: Clerk, size: int) -> Frames:
    left, messages = size - 1, list[Envelope]()
    while left:
        messages.append(joe.message("a", b"x" * min(left, MIB)))
        left -= messages[-1].count and len(messages[-1].body)
    return commit(joe, *messages)


def numbered(joe: Clerk, number: int) -> Envelope:
    return replace(joe.message("a", b""), first=number, last=number)


def cut(joe: Clerk) -> Frames:
    *frames, body = commit(joe)
    return [*frames, body[:-1]]


MISTAKES: dict[str, tuple[Mistake, str]] = {
    "operations": (lambda joe: commit(joe, settles=(settled(TRANSACTION_OPERATIONS + 1),)), "MALFORMED"),
    "messages": (messages, "MALFORMED"),
    "envelopes": (lambda joe: many(joe, TRANSACTION_ENVELOPES + 1), "MALFORMED"),
    "headers": (long_headers, "FRAME_TOO_LARGE"),
    "bytes": (lambda joe: large(joe, TRANSACTION_BYTES + 1), "TOO_LARGE"),
    "content": (lambda joe: commit(joe, joe.message("a", b"x" * (MIB + 1))), "TOO_LARGE"),
    "unanswered": (lambda joe: commit(joe, count=1 + TRANSACTIONS_OPEN), "OUT_OF_ORDER"),
    "below low": (lambda joe: commit(joe, low=2), "OUT_OF_ORDER"),
    "phase": (lambda joe: commit(joe, phase="perhaps"), "MALFORMED"),
    "stream": (lambda joe: commit(joe, replace(joe.message("a", b""), stream=b"o" * 16)), "FORGED_SENDER"),
    "order": (
        lambda joe: commit(joe, joe.message("a", b""), replace(joe.message("b", b""), first=1, last=1)),
        "OUT_OF_ORDER",
    ),
    "cut": (cut, "MALFORMED"),
    "frames": (lambda joe: commit(joe)[:-1], "MALFORMED"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_more_than_a_limit_ends_the_connection_and_does_nothing(mistake: str) -> None:
    _, a = a_node()
    joe = Clerk(a, "joe")
    joe.declare("jobs")
    frames, code = MISTAKES[mistake]
    assert joe._pipe is not None
    joe._pipe.send(0, frames(joe))
    assert refusal(joe) == code
    ann = Clerk(a, "ann")
    assert ann.info("jobs")["ready"] == 0


def test_the_limit_of_bytes_is_a_setting() -> None:
    _, a = a_node(transaction_bytes=100)
    joe = Clerk(a, "joe")
    joe.declare("jobs")
    assert joe.code([], joe.envelope("jobs", b"x" * 100)) == ""
    joe.commits([], joe.envelope("jobs", b"x" * 50), joe.envelope("jobs", b"x" * 51))
    assert refusal(joe) == "TOO_LARGE"
    assert Clerk(a, "ann").info("jobs")["ready"] == 1
