"""Prints messages of a queue or of a durable subscription, and acknowledges each printed message."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from mesh import sync
from mesh.cli import show
from mesh.errors import MeshTimeout
from mesh.features.queues.client.delivery import QueuedMessage
from mesh.printable import harmless

AHEAD = 1000  # messages to prefetch
TOGETHER = 500  # printed messages in one ack, at most

FormatJob = Callable[[QueuedMessage[Any]], bytes]


def ahead(most: int | None) -> int:
    """Return the prefetch, at most `most`."""
    return AHEAD if most is None else min(most, AHEAD)


def line_of(raw: bool, as_json: bool) -> FormatJob:
    return show.raw_line if raw else json_line if as_json else text_line


def tell(
    taken: sync.Consumer[Any],
    line: Callable[[QueuedMessage[Any]], bytes],
    most: int | None,
    timeout: float | None,
    end: float | None = None,
) -> int:
    """Print messages as they arrive, and return their number.

    `line` formats a message. Messages are acknowledged in batches. Printing ends after `most` messages, at
    `end` on the monotonic clock or, without `end`, when no message arrives for `timeout` s.
    """
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
                printed.append(job)  # before the write: Ctrl-C may follow a printed message
                try:
                    sys.stdout.buffer.write(line(job))
                    sys.stdout.buffer.flush()
                except OSError:  # the reader closed the pipe
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
    """Return the key, if any, and the content as one line of text with escaped control characters."""
    key = f"{harmless(message.key)}  " if message.key else ""
    return f"{key}{show.printable(message.content)}\n".encode()


def json_line(message: QueuedMessage[Any]) -> bytes:
    """Return the whole message as a line of JSON."""
    own = {"attempt": message.attempt, "redelivered": message.redelivered, "group": message.group}
    said = {**show.described(message), **own}
    return json.dumps(said).encode() + b"\n"
