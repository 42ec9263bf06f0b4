"""What do sessions of one message cost? Each connects, sends, waits until it is taken, and leaves."""

import asyncio
from collections.abc import Awaitable, Callable

from tools.benchmarks.loads.load import Load
from tools.benchmarks.peers.client import Figures, Sending


async def in_sessions(load: Load, session: Callable[[str, bytes], Awaitable[None]]) -> Figures:
    """One for each message, and never more than the load allows at a time."""
    sending = Sending(load)
    messages = sending.messages()

    async def one_by_one() -> None:
        for key, content in messages:  # all take from the same
            await session(key, content)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(load.at_a_time):
            tasks.create_task(one_by_one())
    return sending.told()
