"""What does one node deliver of a topic? Written to a file, a line a message, until SIGTERM.

python -m tools.demo_parts.subscriber NODE KEY FILE
"""

import asyncio
import signal
import sys
from pathlib import Path

import mesh


async def write_down(node: str, key: str, path: Path) -> None:
    """Subscribe, make the file, and fill it."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with mesh.connect(node) as m, m.subscribe(key) as messages:
        with path.open("xb", buffering=0) as file:  # that it is there says: from now on nothing is missed
            async for batch in messages.batches():
                file.write(b"".join(content + b"\n" for content in batch.contents()))


if __name__ == "__main__":
    try:
        asyncio.run(write_down(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
    except asyncio.CancelledError:
        pass
    except mesh.MeshError as error:
        sys.exit(f"subscriber at {sys.argv[1]}: {error}")
