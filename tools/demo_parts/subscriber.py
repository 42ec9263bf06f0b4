"""Writes to a file the messages that one node delivers, a line each, until SIGTERM.

python -m tools.demo_parts.subscriber NODE FILE [KEY]

The messages are the lines published under KEY; without it the direct messages to the reader's session.
"""

import asyncio
import signal
import sys
from pathlib import Path

import mesh
from tools.demo_parts.journey import DOMAIN, READER, READERS_SESSION


async def main(node: str, path: str, key: str = "") -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    if key:
        async with mesh.connect(node) as m, m.subscribe(key, domain=DOMAIN) as messages:
            await write_down(messages, Path(path))
    else:
        async with mesh.connect(node, client=READER, session=READERS_SESSION) as m, m.inbox() as messages:
            await write_down(messages, Path(path))


async def write_down(messages: mesh.Subscription, path: Path) -> None:
    with path.open("xb", buffering=0) as file:  # the file shows that the subscriber is ready
        async for batch in messages.batches():
            file.write(b"".join(content + b"\n" for content in batch.contents()))


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except asyncio.CancelledError:
        pass
    except mesh.MeshError as error:
        sys.exit(f"subscriber at {sys.argv[1]}: {error}")
