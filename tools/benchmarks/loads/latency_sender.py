"""Sends each message at its time on a fixed schedule, or as soon as possible after it.

python -m tools.benchmarks.loads.latency_sender NODE TOPIC DOMAIN RATE COUNT

Prints a list of the delays of the posts (s) as JSON. DOMAIN may be "".
"""

import asyncio
import json
import struct
import sys
import time

import mesh
from tools.benchmarks.loads.latency_receiver import DUE, SIZE


async def main(node: str, topic: str, domain: str, rate: str, count: str) -> list[float]:
    late = []
    async with mesh.connect(node) as m:
        await m.publish(topic, b"", domain=domain or None)  # leaves out the costs of a first message
        start = time.monotonic() + 0.1
        for number in range(int(count)):
            due = start + number / float(rate)
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(wait)  # noqa: ASYNC251  the loop's own clock is too coarse: 1 ms
            late.append(time.monotonic() - due)
            m.post(topic, struct.pack(DUE, due).ljust(SIZE, b"."), domain=domain or None)
            await asyncio.sleep(0)
        await m.flush()
    return late


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
