"""The speed of Heronry's maps and locks, whose home is the client's node.

Operations: get, put, put_if, lock, which is acquired and released; publish: a persistent message.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import mesh
from tools.benchmarks.operations.timing import KEYS, PATIENCE, SIZE, Operation, Run, main

CONTENT = b"." * SIZE


@asynccontextmanager
async def opening(address: str, run: Run) -> AsyncIterator[Operation]:
    load = run.load
    async with mesh.connect(address, timeout=PATIENCE) as m:
        data: mesh.Map[bytes] = m.map(load.name)
        versions = [await data.put(f"k{key}", CONTENT) for key in range(KEYS)]

        async def get(_worker: int, number: int) -> None:
            entry = await data.get(f"k{number % KEYS}")
            assert entry is not None and entry.value == CONTENT, f"{entry!r}"

        async def put(_worker: int, number: int) -> None:
            await data.put(f"k{number % KEYS}", CONTENT)

        async def put_if(worker: int, _number: int) -> None:
            version = await data.put_if(f"k{worker}", CONTENT, version=versions[worker])
            assert version is not None, "another version is there"
            versions[worker] = version

        async def lock(worker: int, _number: int) -> None:
            async with m.lock(f"{load.name}/{worker}", lease=30):
                pass

        async def publish(worker: int, _number: int) -> None:
            await m.publish(f"bench/{worker}", CONTENT, persistent=True)

        yield {"get": get, "put": put, "put_if": put_if, "lock": lock, "publish": publish}[load.what]


if __name__ == "__main__":
    main(opening)
