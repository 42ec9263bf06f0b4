"""The cost of sessions of one message: each connects, sends, waits for the answer, and leaves."""

import asyncio
from collections.abc import Awaitable, Callable

from tools.benchmarks.loads.load import Load
from tools.benchmarks.peers.client import Figures, Sending


async def in_sessions(load: Load, session: Callable[[str, bytes], Awaitable[None]]) -> Figures:
    """Run a session for each message, at most `at_a_time` concurrently."""
    sending = Sending(load)
    messages = sending.messages()

    async def one_by_one() -> None:
        for key, content in messages:  # shared by all
            await session(key, content)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(load.at_a_time):
            tasks.create_task(one_by_one())
    return sending.told()
