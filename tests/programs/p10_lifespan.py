"""The lifespan of a web application: one client from start to end, and the caller's trace is passed on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import mesh


@asynccontextmanager
async def lifespan(app: SimpleNamespace) -> AsyncGenerator[None, None]:
    async with mesh.connect() as m:
        app.state.mesh = m
        yield


async def post_order(app: SimpleNamespace, traceparent: str) -> None:
    """Handle a request."""
    m: mesh.Client = app.state.mesh
    await m.publish("p10/orders", b"1", headers={"traceparent": traceparent})


async def main() -> None:
    app = SimpleNamespace(state=SimpleNamespace())
    async with lifespan(app):
        await post_order(app, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        m: mesh.Client = app.state.mesh
        (message,) = await m.get("p10/orders")
        print(message.headers["traceparent"])


if __name__ == "__main__":
    asyncio.run(main())
