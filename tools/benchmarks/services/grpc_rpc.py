"""The speed of gRPC with asyncio in Python: bytes in, bytes out, no protobuf; round-robin servers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import grpc.aio

from tools.benchmarks.services.asking import PATIENCE, Asking, Call, Echo, run

METHOD = "/bench.Echo/Ask"
IN_TURN = '{"loadBalancingConfig": [{"round_robin": {}}]}'


@asynccontextmanager
async def serving(address: str, echo: Echo) -> AsyncIterator[None]:
    async def answer(content: bytes, _: object) -> bytes:
        return await echo.reply(content)

    server = grpc.aio.server()
    handlers = {"Ask": grpc.unary_unary_rpc_method_handler(answer)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", handlers),))
    server.add_insecure_port(address.split(",")[echo.asking.server])
    await server.start()
    yield
    await server.stop(None)


@asynccontextmanager
async def opening(address: str, asking: Asking) -> AsyncIterator[Call]:
    """Connect to all servers of `address`, which are separated by commas."""
    options = [("grpc.service_config", IN_TURN)]
    async with grpc.aio.insecure_channel(f"ipv4:{address}", options) as channel:
        ask = channel.unary_unary(METHOD)

        async def call(content: bytes) -> bytes:
            return bytes(await ask(content, timeout=PATIENCE, wait_for_ready=True))

        yield call


if __name__ == "__main__":
    run(serving, opening)
