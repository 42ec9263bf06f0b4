"""A subscriber in a long run that counts the numbers of all publishers, until SIGTERM.

python -m tools.lab_parts.soak_subscriber NODE TOPICS LEDGER
"""

import asyncio
import signal
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import mesh
from tools.lab_parts import ledger
from tools.lab_parts.soak_publisher import WRITTEN
from tools.running.told import tell_events


async def take(subscription: mesh.Subscription, came: dict[int, ledger.Came]) -> None:
    async for batch in subscription.batches():
        for content in batch.contents():
            came[content[0]].take(int.from_bytes(content[1:9]))


async def keep(subscription: mesh.Subscription, came: dict[int, ledger.Came], path: Path) -> None:
    while True:
        described = {str(who): them.described() for who, them in came.items()}
        ledger.write(path, {"came": described, "dropped": subscription.dropped})
        await asyncio.sleep(WRITTEN)


async def main(node: str, topics: str, path: str) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    came: dict[int, ledger.Came] = defaultdict(ledger.Came)
    async with (
        mesh.connect(node) as m,
        m.subscribe(pattern=topics) as subscription,
        asyncio.TaskGroup() as tasks,
    ):
        for work in (tell_events(m), take(subscription, came), keep(subscription, came, Path(path))):
            tasks.create_task(work)


if __name__ == "__main__":
    with suppress(asyncio.CancelledError):
        asyncio.run(main(*sys.argv[1:]))
