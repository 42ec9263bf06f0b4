"""The speed of NATS JetStream with nats-py: an atomic batch of messages, then confirmed acks apart.

Its batches cannot have acks in them, so a crash between the two repeats the jobs.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import nats
from nats.js.api import AckPolicy, ConsumerConfig

from tools.benchmarks.operations.timing import PATIENCE, Operation, Run, main

AT_A_TIME = 1000  # unacked jobs


async def _asked(connection: Any, subject: str, **terms: object) -> Any:
    answer = json.loads(
        (await connection.request(subject, json.dumps(terms).encode(), timeout=PATIENCE)).data
    )
    if "error" in answer:
        raise SystemExit(f"{subject}: {answer['error']}")
    return answer


@asynccontextmanager
async def opening(address: str, run: Run) -> AsyncIterator[Operation]:
    load = run.load
    source, target = f"{load.name}-from", f"{load.name}-to"
    connection = await nats.connect(address)
    js = connection.jetstream(timeout=PATIENCE, publish_async_max_pending=AT_A_TIME)
    for name in (source, target):
        terms = {"name": name, "subjects": [name], "retention": "workqueue", "storage": "file"}
        await _asked(connection, f"$JS.API.STREAM.CREATE.{name}", **terms, allow_atomic=name == target)
    await asyncio.gather(*[await js.publish_async(source, content) for content in load.contents()])
    config = ConsumerConfig(ack_policy=AckPolicy.EXPLICIT, max_ack_pending=AT_A_TIME, ack_wait=PATIENCE)
    jobs = await js.subscribe(source, durable="d", manual_ack=True, config=config, pending_msgs_limit=0)
    taking = asyncio.Lock()

    async def commit(_worker: int, number: int) -> None:
        async with taking:
            taken = [await jobs.next_msg(PATIENCE) for _ in range(load.jobs)]
        for place, job in enumerate(taken, 1):
            headers = {"Nats-Batch-Id": f"{number}", "Nats-Batch-Sequence": f"{place}"}
            if place < load.jobs:
                await connection.publish(target, job.data, headers=headers)
            else:
                headers["Nats-Batch-Commit"] = "1"
                answer = await connection.request(target, job.data, PATIENCE, headers=headers)
                if b'"error"' in answer.data:
                    raise SystemExit(f"refused: {answer.data!r}")
        await asyncio.gather(*(job.ack_sync(PATIENCE) for job in taken))

    yield commit
    states = [await _asked(connection, f"$JS.API.STREAM.INFO.{name}") for name in (source, target)]
    await connection.close()
    run.check_queues(*[state["state"]["messages"] for state in states])


if __name__ == "__main__":
    main(opening)
