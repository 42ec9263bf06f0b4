"""Jobs that wait in a queue during a week: put at each node, and consumed at the end."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import mesh
from tools.running.nodes import READY
from tools.running.processes import Processes

QUEUE = "next-week"
EACH = 200  # at each node
TAKING = 120.0  # s
T = TypeVar("T")


class Jobs:
    """A queue whose messages stay where they were put."""

    def __init__(self, processes: Processes) -> None:
        self._environ = {"MESH_STATE_DIR": str(processes.place)}

    def put(self, names: Sequence[str]) -> str:
        for name in names:
            self._at(name, lambda m, name=name: _put(m, name))  # type: ignore[misc]
        return f"{EACH} at each node"

    def take(self, names: Sequence[str]) -> str:
        """Consume all jobs, and return the errors as text; it is empty if each job came once."""
        found = Counter[str]()
        for name in names:
            found.update(self._at(name, _taken))
        left = self._at(names[0], _left)
        owed = {f"{name} {number}" for name in names for number in range(EACH)}
        missing, strange, doubled = owed - found.keys(), found.keys() - owed, found.total() - len(found)
        if missing or strange or doubled or left:
            wrong = f"{len(missing)} jobs are missing, {doubled} came twice, {len(strange)} are none"
            return f"{wrong}, {left} B are left"
        return ""

    def _at(self, name: str, what: Callable[[mesh.Client], Awaitable[T]]) -> T:
        async def done() -> T:
            async with mesh.connect(name, environ=self._environ, timeout=READY) as m:
                return await what(m)

        return asyncio.run(done())


async def _put(m: mesh.Client, name: str) -> None:
    queue = m.queue(QUEUE)
    await queue.declare(distribution="independent", redistribution=None)
    await asyncio.gather(*(queue.put(f"{name} {number}") for number in range(EACH)))


async def _taken(m: mesh.Client) -> list[str]:
    """Consume EACH jobs at this node, and return them. Raises TimeoutError after TAKING seconds."""
    found: list[str] = []
    async with m.queue(QUEUE).consume(prefetch=50) as jobs, asyncio.timeout(TAKING):
        async for job in jobs:
            async with job:
                found.append(job.content.decode())
            if len(found) >= EACH:
                break
    return found


async def _left(m: mesh.Client) -> int:
    """Return the bytes in the queue at all nodes."""
    return (await m.queue(QUEUE).info()).bytes
