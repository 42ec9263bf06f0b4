"""The clients of Heronry: those of `loads`, and those for schedules, windows, direct messages and sessions.

python -m tools.benchmarks.peers.ours send|receive NODE LOAD
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing
from functools import partial
from itertools import islice

import mesh
from mesh.errors import WouldBlock
from tools.benchmarks.loads import publisher, subscriber
from tools.benchmarks.loads.load import Load
from tools.benchmarks.loads.opening import opened
from tools.benchmarks.peers.client import Figures, Sending, Tally, all_of, run
from tools.benchmarks.peers.sessions import in_sessions

AT_A_TIME = 1_000  # direct messages
STEPS = 4  # per window


async def send(node: str, load: Load) -> Figures:
    if load.rate:
        return await _on_schedule(node, load)
    if load.letters:
        return await _letters(node, load)
    if load.at_a_time:
        return await in_sessions(load, partial(_session, node))
    if load.window:
        return await _in_window(node, load)
    return await publisher.main(node, load.packed())


async def _on_schedule(node: str, load: Load) -> Figures:
    async with opened(node) as m:
        sending = Sending(load)
        async with aclosing(sending.in_turns()) as turns:
            async for messages in turns:
                for key, content in messages:
                    try:
                        m.post(key, content)
                    except WouldBlock:
                        await m.publish_oneway(key, content)
        await m.flush()
        return sending.told()


async def _in_window(node: str, load: Load) -> Figures:
    """Keep about a window of unanswered messages at most; answers come in the order of the messages."""
    marks: deque[mesh.Receipt] = deque()
    async with mesh.connect(node) as m:
        sending = Sending(load)
        for number, (key, content) in enumerate(sending.messages()):
            while True:
                try:
                    receipt = m.post(key, content, persistent=True)
                    break
                except WouldBlock:
                    await m.room()
            if number % (load.window // STEPS) == 0:
                marks.append(receipt)
                if len(marks) == STEPS:
                    await marks.popleft()
        await m.flush()
        return sending.told()


async def _letters(node: str, load: Load) -> Figures:
    """Send direct messages, AT_A_TIME concurrently, each until it is delivered."""
    to = f"/node/{node}/client/{load.inbox}"
    async with mesh.connect(node) as m:
        sending = Sending(load)
        messages = sending.messages()
        while some := list(islice(messages, AT_A_TIME)):
            await asyncio.gather(*(m.send(to, content) for _, content in some))
        return sending.told()


async def _session(node: str, key: str, content: bytes) -> None:
    async with mesh.connect(node, timeout=60.0) as m:
        await m.publish(key, content)


async def receive(node: str, load: Load) -> Mapping[str, object]:
    if not load.rate and not load.letters and not load.at_a_time:
        return await subscriber.main(node, load.packed())
    tally = Tally(load)
    async with AsyncExitStack() as stack:
        m = await stack.enter_async_context(opened(node, client=load.inbox))
        wanted = m.inbox() if load.letters else m.subscribe(load.keys[0], initial=False)
        subscription = await stack.enter_async_context(wanted)
        taking = asyncio.create_task(_take(subscription, tally))
        tally.ready()
        await all_of(tally)
        taking.cancel()
    return tally.told()


async def _take(subscription: mesh.Subscription, tally: Tally) -> None:
    async for batch in subscription.batches():
        tally.take_all(batch.contents())


if __name__ == "__main__":
    run(send, receive)
