"""The cost of many stored messages: writing, keeping, loading after a restart, and delivery."""

import tempfile
from pathlib import Path

from mesh.store.sqlite import SQLiteStore
from tools.benchmarks.growth.guest import Guest
from tools.benchmarks.growth.host import Host
from tools.benchmarks.growth.memory import paused, resident

BATCH = 100  # messages in an envelope
GROUP = 16  # commits that wait, for a publisher's window
ROOM = 1 << 50  # bytes that may wait


def measured(size: int) -> dict[str, float]:
    """Store `size` messages of 100 bytes in SQLite for a disconnected subscriber, restart, and deliver them.

    `disk` and `bytes` are per message, and `quiet` is per idle second. All other figures are CPU s.
    """
    with tempfile.TemporaryDirectory(prefix="mesh-growth-") as folder:
        path = Path(folder) / "node.sqlite"
        token, appending = _append(path, size)
        on_disk = sum(file.stat().st_size for file in Path(folder).iterdir())
        before = resident()
        store = SQLiteStore(path)
        host = Host(store, boot=2, backlog_bytes=ROOM)
        each = (resident() - before) / size
        restarting, quiet, pause = host.spent + host.loaded, host.quiet(), paused()
        letting_go = _let_go(host, size, token)
        store.close()
    return {
        "append": appending,
        "disk": on_disk / size,
        "restart": restarting,
        "bytes": each,
        "quiet": quiet,
        "pause": pause,
        "drop": letting_go,
    }


def _append(path: Path, size: int) -> tuple[bytes, float]:
    """Store the messages, and return the subscriber's resume token and the CPU seconds of node and store."""
    store = SQLiteStore(path)
    host = Host(store, backlog_bytes=ROOM)
    reader, publisher = Guest(host, "reader"), Guest(host, "publisher")
    reader.subscribe(1, "exact", "room/temp")
    reader.drain()
    host.leave(reader.key)
    host.group = GROUP
    before = host.spent + host.written
    for start in range(0, size, BATCH):
        publisher.publish(["room/temp"] * min(BATCH, size - start), persistent=True)
        publisher.read()
    host.commit()
    publisher.read()
    assert publisher.answered == size, f"{publisher.answered} of {size} messages were answered"
    taken = host.spent + host.written - before
    store.close()
    return reader.token, taken


def _let_go(host: Host, size: int, token: bytes) -> float:
    """Let the subscriber return and read everything, and return the CPU seconds.

    They include those of the node and of the store's writes, but not those of its reads.
    """
    before = host.spent + host.written
    reader = Guest(host, "reader", token)
    reader.subscribe(1, "exact", "room/temp", resumed=True)
    came = reader.drain()
    host.quiet(2.0)  # write deferred commits
    assert came == size, f"{came} of {size} messages came"
    return host.spent + host.written - before
