"""The speed of etcd with aetcd: linearizable reads, puts, and transactions that compare.

All locks of a client share its lease, as etcd's own sessions do: a transaction creates the key, a delete
releases it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aetcd

from tools.benchmarks.operations.timing import KEYS, SIZE, Operation, Run, main
from tools.benchmarks.peers.client import host_and_port

CONTENT = b"." * SIZE


@asynccontextmanager
async def opening(address: str, run: Run) -> AsyncIterator[Operation]:
    load = run.load
    host, port = host_and_port(address)
    async with aetcd.Client(host=host, port=port) as etcd:
        terms = etcd.transactions
        for key in range(KEYS):
            await etcd.put(_key(load.name, key), CONTENT)
        found = [await etcd.get(_key(load.name, worker)) for worker in range(load.window)]
        revisions = [each.mod_revision for each in found]
        lease = await etcd.lease(600)

        async def get(_worker: int, number: int) -> None:
            assert (await etcd.get(_key(load.name, number % KEYS))).value == CONTENT

        async def put(_worker: int, number: int) -> None:
            await etcd.put(_key(load.name, number % KEYS), CONTENT)

        async def put_if(worker: int, _number: int) -> None:
            key = _key(load.name, worker)
            done, answers = await etcd.transaction(
                compare=[terms.mod(key) == revisions[worker]], success=[terms.put(key, CONTENT)], failure=[]
            )
            assert done, "another revision is there"
            revisions[worker] = answers[0].response_put.header.revision

        async def lock(worker: int, _number: int) -> None:
            key = f"{load.name}/lock-{worker}".encode()
            done, _ = await etcd.transaction(
                compare=[terms.create(key) == 0], success=[terms.put(key, b"", lease=lease)], failure=[]
            )
            assert done, "another client has the lock"
            await etcd.delete(key)

        yield {"get": get, "put": put, "put_if": put_if, "lock": lock}[load.what]


def _key(name: str, number: int) -> bytes:
    return f"{name}/{number}".encode()


if __name__ == "__main__":
    main(opening)
