"""The cost of many waiting messages, for a slow reader or a disconnected client."""

from tools.benchmarks.growth.guest import Guest
from tools.benchmarks.growth.host import Host

ROOM = 1 << 40
DROPPED = 300  # messages that exceed the limit


def newest(size: int) -> dict[str, float]:
    return {"drop": _overrun("drop_newest", size)}


def oldest(size: int) -> dict[str, float]:
    return {"drop": _overrun("drop_oldest", size)}


def _overrun(policy: str, size: int) -> float:
    """Return the CPU seconds per message when each one forces a drop."""
    host = Host(window_bytes=ROOM, window_count=1, backlog_bytes=ROOM)
    reader, publisher = Guest(host, "reader"), Guest(host, "publisher")
    reader.subscribe(1, "exact", "room/temp", overflow=policy, max_queue=size)
    reader.read()
    for _ in range(size + 1):  # the first is in flight
        publisher.publish(["room/temp"])
    spent = host.cost_of_each(range(DROPPED), lambda _: publisher.publish(["room/temp"]))
    dropped = host.core.parts.context.figures()["dropped"]
    assert dropped == DROPPED, f"{dropped} were dropped, not {DROPPED}"
    return spent / DROPPED


def letters(size: int) -> dict[str, float]:
    """Send `size` direct messages to a disconnected client, deliver them, and return the CPU seconds."""
    host = Host(backlog_bytes=ROOM)
    publisher = Guest(host, "publisher")
    writing = host.cost_of_each(range(size), lambda _: publisher.publish([""], to="client/joe/session/1"))
    quiet = host.quiet()
    publisher.read()
    assert publisher.answered == size, f"{publisher.answered} of {size} letters were answered"

    def come() -> None:
        reader = Guest(host, "joe")
        reader.subscribe(0, "inbox", "")
        came = reader.drain()
        assert came == size, f"{came} of {size} letters came"

    return {"write": writing, "quiet": quiet, "take": host.cost(come)}
