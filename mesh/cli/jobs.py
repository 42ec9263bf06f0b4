"""What is taken from a queue, or for a durable subscription, is printed; what is printed is done."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from mesh import sync
from mesh.cli import show
from mesh.client.delivery import QueuedMessage
from mesh.errors import MeshTimeout
from mesh.printable import harmless

AHEAD = 1000  # messages that are taken before they are printed
TOGETHER = 500  # that are printed before they are acked, at most

FormatJob = Callable[[QueuedMessage[Any]], bytes]


def ahead(most: int | None) -> int:
    """How many to take before they are printed."""
    return AHEAD if most is None else min(most, AHEAD)


def line_of(raw: bool, as_json: bool) -> FormatJob:
    """How a message is printed."""
    return show.raw_line if raw else json_line if as_json else text_line


def tell(
    taken: sync.Consumer[Any],
    line: Callable[[QueuedMessage[Any]], bytes],
    most: int | None,
    timeout: float | None,
    end: float | None = None,
) -> int:
    """Print messages as they come; returns how many. They are acked when no more are there at once, or many
    are. It ends when none comes for `timeout` s, or at the `end`, on the monotonic clock."""
    printed, done = list[sync.Delivery[Any]](), 0
    try:
        while most is None or done < most:
            try:
                left = timeout if end is None else max(0.0, end - time.monotonic())
                job = taken.next_delivery(0 if printed else left)
            except MeshTimeout:
                if not printed:
                    break
                job = None
            if job is not None:
                printed.append(job)  # before, for by Ctrl-C it may be printed already
                try:
                    sys.stdout.buffer.write(line(job))
                    sys.stdout.buffer.flush()
                except OSError:  # nobody reads any more
                    printed.pop()
                    raise
                done += 1
            elif not printed:
                break
            if job is None or len(printed) >= TOGETHER:
                said, printed = printed, []
                taken.ack(said)
    finally:
        taken.ack(printed)
    return done


def text_line(message: QueuedMessage[Any]) -> bytes:
    """Its key, if there is one, and its content, as one line of text; what cannot be printed is escaped."""
    key = f"{harmless(message.key)}  " if message.key else ""
    return f"{key}{show.printable(message.content)}\n".encode()


def json_line(message: QueuedMessage[Any]) -> bytes:
    """All that is known of it."""
    own = {"attempt": message.attempt, "redelivered": message.redelivered, "group": message.group}
    said = {**show.described(message), **own}
    return json.dumps(said).encode() + b"\n"
