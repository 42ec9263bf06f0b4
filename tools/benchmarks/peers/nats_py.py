"""The speed of NATS with its Python client."""

from contextlib import aclosing
from functools import partial

import nats
from nats.aio.msg import Msg

from tools.benchmarks.loads.load import Load
from tools.benchmarks.peers.client import Figures, Sending, Tally, all_of, run
from tools.benchmarks.peers.sessions import in_sessions


async def send(address: str, load: Load) -> Figures:
    if load.at_a_time:
        return await in_sessions(load, partial(_session, address))
    connection = await nats.connect(address)
    sending = Sending(load)
    async with aclosing(sending.in_turns()) as turns:
        async for messages in turns:
            for key, content in messages:
                await connection.publish(key, content)
    await connection.flush(timeout=60)
    told = sending.told()
    await connection.close()
    return told


async def _session(address: str, key: str, content: bytes) -> None:
    connection = await nats.connect(address)
    await connection.publish(key, content)
    await connection.flush(timeout=60)
    await connection.close()


async def receive(address: str, load: Load) -> Figures:
    connection = await nats.connect(address)
    tally = Tally(load)

    async def take(message: Msg) -> None:
        tally.take(message.data)

    for key in load.keys:  # 0: unlimited
        await connection.subscribe(key, cb=take, pending_msgs_limit=0, pending_bytes_limit=0)
    await connection.flush()  # answered after the subscriptions
    tally.ready()
    await all_of(tally)
    told = tally.told()
    await connection.close()
    return told


if __name__ == "__main__":
    run(send, receive)
