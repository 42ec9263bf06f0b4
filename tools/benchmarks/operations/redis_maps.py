"""The speed of Redis with redis-py: GET, SET, a script that compares and sets, and redis-py's lock."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis

from tools.benchmarks.operations.timing import KEYS, SIZE, Operation, Run, main
from tools.benchmarks.peers.client import host_and_port

CONTENT = b"." * SIZE
COMPARE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) return 1 end
return 0
"""


@asynccontextmanager
async def opening(address: str, run: Run) -> AsyncIterator[Operation]:
    load = run.load
    host, port = host_and_port(address)
    async with Redis(host=host, port=port) as redis:
        for key in range(KEYS):
            await redis.set(f"{load.name}-{key}", CONTENT)
        values, compare = [CONTENT] * load.window, redis.register_script(COMPARE)

        async def get(_worker: int, number: int) -> None:
            assert await redis.get(f"{load.name}-{number % KEYS}") == CONTENT

        async def put(_worker: int, number: int) -> None:
            await redis.set(f"{load.name}-{number % KEYS}", CONTENT)

        async def put_if(worker: int, number: int) -> None:
            value = str(number).encode().ljust(SIZE, b".")
            done = await compare(keys=[f"{load.name}-{worker}"], args=[values[worker], value])
            assert done, "another value is there"
            values[worker] = value

        async def lock(worker: int, _number: int) -> None:
            async with redis.lock(f"{load.name}-lock-{worker}", timeout=30):
                pass

        yield {"get": get, "put": put, "put_if": put_if, "lock": lock}[load.what]


if __name__ == "__main__":
    main(opening)
