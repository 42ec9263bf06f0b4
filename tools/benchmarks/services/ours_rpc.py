"""The speed of Heronry's requests, from clients at nodes, and from programs with nodes of their own.

python -m tools.benchmarks.services.ours_rpc serve|ask NODE|own:HOST:PORT ASKING
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import mesh
from tools.benchmarks.services.asking import PATIENCE, Asking, Call, Echo, run

OWN = "own:"  # prefix of the first embedded node's address
PLAIN = {"discovery": {"remember": False}}
PREFETCH, AT_WORK = 512, 2  # prefetch of idle and of working servers


def opened(address: str, name: str, is_first: bool) -> Any:
    """Return a client: at a node, or with a node of its own.

    The first of the embedded nodes binds the address; the others use it as their seed.
    """
    if not address.startswith(OWN):
        return mesh.connect(address)
    where = {"bind" if is_first else "seeds": f"tcp://{address.removeprefix(OWN)}"}
    return mesh.node(f"own-{name}", mdns=False, config=PLAIN, **where)  # type: ignore[arg-type]


@asynccontextmanager
async def serving(address: str, echo: Echo) -> AsyncIterator[None]:
    asking = echo.asking
    prefetch = AT_WORK if asking.work else PREFETCH
    async with AsyncExitStack() as stack:
        m = await stack.enter_async_context(opened(address, str(asking.server), asking.server == 0))
        service = await stack.enter_async_context(m.serve(asking.name, prefetch=prefetch))
        for _ in range(prefetch if asking.work else 1):
            stack.callback(asyncio.create_task(answer(service, echo)).cancel)
        yield


async def answer(service: mesh.Service[Any], echo: Echo) -> None:
    async for request in service:
        await request.reply(await echo.reply(request.content))


@asynccontextmanager
async def opening(address: str, asking: Asking) -> AsyncIterator[Call]:
    async with opened(address, "asker", False) as m:

        async def call(content: bytes) -> bytes:
            return bytes((await m.request(asking.name, content, timeout=PATIENCE)).content)

        yield call


if __name__ == "__main__":
    run(serving, opening)
