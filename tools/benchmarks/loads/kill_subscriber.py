"""Writes a line for each message that a subscriber receives while nodes die, until SIGTERM.

python -m tools.benchmarks.loads.kill_subscriber NODE QUERY ARRIVALS

QUERY: the arguments of `subscribe` as JSON, such as {"pattern": "kills/#", "domain": "NEWS"}.
"""

import asyncio
import json
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import mesh
from tools.running.told import tell, tell_events


async def write_down(subscription: mesh.Subscription, path: Path) -> None:
    """Write PUBLISHER NUMBER POSTED AT for each message, with times in monotonic s."""
    with path.open("x") as file:  # the file shows that the subscriber is ready
        async for batch in subscription.batches():
            now = time.monotonic()
            for content in batch.contents():
                name, number, posted, _ = content.decode().split(" ", 3)
                file.write(f"{name} {number} {posted} {now:.6f}\n")
            file.flush()
            if batch.gap:
                tell(f"{batch.gap} messages dropped")


async def main(node: str, query: str, arrivals: str) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with (
        mesh.connect(node) as m,
        m.subscribe(**json.loads(query)) as subscription,
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(tell_events(m))
        tasks.create_task(write_down(subscription, Path(arrivals)))


if __name__ == "__main__":
    with suppress(asyncio.CancelledError):
        asyncio.run(main(*sys.argv[1:]))
