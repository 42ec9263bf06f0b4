"""Measures the latency of each message, from the time when it was due to its arrival.

python -m tools.benchmarks.loads.latency_receiver NODE TOPIC DOMAIN COUNT READY

Creates the file READY when it is subscribed. Prints the latencies (s) in the order of arrival as JSON: COUNT
of them, or fewer if no message arrives for 10 s. DOMAIN may be "".
"""

import asyncio
import json
import struct
import sys
import time
from pathlib import Path

import mesh

DUE, SIZE = "<d", 100  # due time (monotonic s), and size (bytes)
STALL = 10.0  # s


async def main(node: str, topic: str, domain: str, count: str, ready: str) -> list[float]:
    taken: list[float] = []
    async with (
        mesh.connect(node) as m,
        m.subscribe(topic, domain=domain or None, initial=False) as subscription,
    ):
        Path(ready).touch()  # noqa: ASYNC240  nothing else is waiting yet
        while len(taken) < int(count):
            try:
                message = await asyncio.wait_for(anext(subscription), STALL)
            except TimeoutError:
                break
            if message.content:
                taken.append(time.monotonic() - struct.unpack_from(DUE, message.content)[0])
    return taken


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
