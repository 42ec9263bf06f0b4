"""Receives a load with one client, and prints the counts of errors and the times as JSON.

python -m tools.benchmarks.loads.subscriber NODE LOAD

Creates the file `Load.ready` when it is subscribed. Ends when all messages have arrived, or none arrives for
10 s (for 30 s before the first).
"""

import asyncio
import json
import sys
import time
from array import array
from contextlib import AsyncExitStack
from itertools import chain
from struct import iter_unpack
from typing import Any

import psutil

import mesh
from tools.benchmarks.loads.figures import counted
from tools.benchmarks.loads.load import NUMBER, Load
from tools.benchmarks.loads.opening import opened

STALL = 10.0  # s without news until messages are lost
QUIET = 0.2  # s in which duplicates would arrive


class Tally:
    """The numbers of the messages that have arrived, separately for each subscription."""

    def __init__(self, size: int) -> None:
        self.count = 0
        self._head = f"<Q{size - NUMBER}x"  # the number in a message
        self.first = self.last = 0.0
        self.numbers: list[array[int]] = []

    async def take(self, subscription: mesh.Subscription) -> None:
        """Receive until cancelled."""
        numbers = array("Q")
        self.numbers.append(numbers)
        async for batch in subscription.batches():
            self.last = time.monotonic()
            self.first = self.first or self.last
            found = batch.contents()
            numbers.extend(chain.from_iterable(iter_unpack(self._head, b"".join(found))))
            self.count += len(found)


async def main(node: str, packed: str) -> dict[str, object]:
    """Return first and last arrival (monotonic s, 0 without one), CPU time (s), and the counts of errors."""
    load = Load.unpacked(packed)
    tally = Tally(load.size)
    process = psutil.Process()
    queries: list[dict[str, Any]] = (
        [{"key": key} for key in load.keys] if load.exact else [{"pattern": f"{load.root}/#"}]
    )
    async with opened(node) as m, AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        subscriptions = [m.subscribe(**query, domain=load.domain or None, initial=False) for query in queries]
        for subscription in subscriptions:
            await stack.enter_async_context(subscription)
        taking = [tasks.create_task(tally.take(s)) for s in subscriptions]
        used = process.cpu_times()
        load.ready.touch()
        await all_of(tally, load.messages)
        now_used = process.cpu_times()
        await asyncio.sleep(QUIET)
        for task in taking:
            task.cancel()
    cpu = now_used.user + now_used.system - used.user - used.system
    count = counted(load.messages, tally.numbers)
    return {
        "first": tally.first,
        "last": tally.last,
        "cpu": cpu,
        "lost": count.lost,
        "doubled": count.doubled,
        "disordered": count.disordered,
    }


async def all_of(tally: Tally, messages: int) -> None:
    """Wait until `messages` have arrived, or none arrives for STALL seconds (3 * STALL before the first)."""
    seen, since = 0, time.monotonic()
    while tally.count < messages and (time.monotonic() - since < (STALL if seen else 3 * STALL)):
        if tally.count != seen:
            seen, since = tally.count, time.monotonic()
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
