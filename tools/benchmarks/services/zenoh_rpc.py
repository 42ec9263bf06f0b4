"""The speed of Zenoh queryables, through its router or from peer to peer."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Lock

import zenoh

from tools.benchmarks.peers.zenoh_py import opened
from tools.benchmarks.services.asking import PATIENCE, Asking, Call, Echo, run

PEER = "peer:"  # prefix of addresses at which servers listen


@asynccontextmanager
async def serving(address: str, echo: Echo) -> AsyncIterator[None]:
    asking, alone = echo.asking, Lock()

    def answer(query: zenoh.Query) -> None:
        """Answer a query, in a thread of Zenoh."""
        echo.served += 1
        if asking.work:
            with alone:
                time.sleep(asking.work)
        payload = query.payload
        query.reply(query.key_expr, payload.to_bytes() if payload is not None else b"")

    if address.startswith(PEER):
        mode, side, at = "peer", "listen", address.removeprefix(PEER).split(",")[asking.server]
    else:
        mode, side, at = "client", "connect", address
    with opened(mode, side, at) as session:
        queryable = session.declare_queryable(asking.name, answer, complete=True)
        yield
        queryable.undeclare()


@asynccontextmanager
async def opening(address: str, asking: Asking) -> AsyncIterator[Call]:
    loop = asyncio.get_running_loop()
    mode = "peer" if address.startswith(PEER) else "client"
    with opened(mode, "connect", address.removeprefix(PEER)) as session:

        async def call(content: bytes) -> bytes:
            came: asyncio.Future[bytes] = loop.create_future()

            def take(reply: zenoh.Reply) -> None:
                sample = reply.ok
                content = sample.payload.to_bytes() if sample is not None else None
                loop.call_soon_threadsafe(_settle, came, content)

            target = zenoh.QueryTarget.BEST_MATCHING
            session.get(asking.name, take, payload=content, target=target, timeout=PATIENCE)
            async with asyncio.timeout(PATIENCE):
                return await came

        yield call


def _settle(came: "asyncio.Future[bytes]", content: bytes | None) -> None:
    if came.done():
        return
    if content is None:
        came.set_exception(RuntimeError("an error came for a reply"))
    else:
        came.set_result(content)


if __name__ == "__main__":
    run(serving, opening)
