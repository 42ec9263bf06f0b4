"""A mesh in a Python that refuses to compare bytes with texts and numbers."""

import subprocess
import sys

PROGRAM = """
import asyncio
from mesh.testing import Mesh

async def main():
    async with Mesh(2) as made, made.connect() as m, m.subscribe(pattern="a/#") as readings:
        @m.service("calc/add")
        async def add(a: int, b: int = 1) -> int:
            return a + b
        async with m.running():
            await m.publish("a/b", {"t": 21.5})
            print((await anext(readings)).value["t"], (await m.request("calc/add", {"a": 2}, type=int)).value)
        q = m.queue("jobs")
        await q.declare()
        await q.put({"n": 7})
        async with q.consume() as jobs:
            async with await anext(jobs) as job:
                print(job.value["n"])

asyncio.run(main())
"""


def test_messages_requests_and_jobs_with_properties_go_their_way() -> None:
    ended = subprocess.run([sys.executable, "-bb", "-c", PROGRAM], capture_output=True, text=True)
    assert (ended.stderr, ended.stdout.split()) == ("", ["21.5", "3", "7"])
