"""The speed of NATS JetStream work queues with the Python client; its server acks before an fsync.

Consumers are a queue group of one durable push consumer; acks are sent and not confirmed.
"""

import asyncio

import nats
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StorageType, StreamConfig

from tools.benchmarks.queues.jobs import Figures, Jobs, Putting, Taken, run, until_ended

PATIENCE = 120.0  # s
GROUP = "workers"


async def _stream(js: JetStreamContext, jobs: Jobs) -> None:
    config = StreamConfig(
        name=jobs.name, subjects=[jobs.name], retention=RetentionPolicy.WORK_QUEUE, storage=StorageType.FILE
    )
    await js.add_stream(config)


async def put(address: str, jobs: Jobs) -> Figures:
    connection = await nats.connect(address)
    js = connection.jetstream(timeout=PATIENCE, publish_async_max_pending=jobs.window)
    await _stream(js, jobs)
    putting = Putting(jobs)
    if jobs.window == 1:
        for content in putting.contents:
            await js.publish(jobs.name, content)
    else:
        futures = [
            await js.publish_async(jobs.name, content, wait_stall=PATIENCE) for content in putting.contents
        ]
        await asyncio.gather(*futures)
    told = putting.told()
    await connection.close()
    return told


async def take(address: str, jobs: Jobs) -> Figures:
    taken, over = Taken(jobs), until_ended()
    connection = await nats.connect(address)
    js = connection.jetstream(timeout=PATIENCE)
    await _stream(js, jobs)

    async def done(message: Msg) -> None:
        taken.take([message.data], [0] if message.metadata.num_delivered > 1 else [])
        await message.ack()
        taken.acked(1)

    config = ConsumerConfig(
        ack_policy=AckPolicy.EXPLICIT, max_ack_pending=jobs.window * jobs.consumers, ack_wait=PATIENCE
    )
    await js.subscribe(
        jobs.name, queue=GROUP, durable=GROUP, cb=done, manual_ack=True, config=config, pending_msgs_limit=0
    )
    await connection.flush()
    taken.ready()
    await over.wait()
    told = taken.told()
    await connection.close()
    return told


if __name__ == "__main__":
    run(put, take)
