"""A slow line to a node: a proxy of its local socket with a limited rate, each way."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

BUFFER = 32 * 1024  # bytes of each buffer on the line


class SlowLine:
    """A slow proxy. A client dials its `address` in place of the node's."""

    def __init__(self, address: str, rate: float) -> None:
        self.address = address
        self.rate = rate  # bytes a second
        self.connections = 0
        self.passed = 0  # bytes, both ways
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, there: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        other = socket.socket(socket.AF_UNIX)
        for end in (other, writer.get_extra_info("socket")):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        other.connect(str(there))
        far_reader, far_writer = await asyncio.open_unix_connection(sock=other, limit=BUFFER)
        ways = [(reader, far_writer), (far_reader, writer)]
        for come, go in ways:
            go.transport.set_write_buffer_limits(BUFFER)
            task = asyncio.create_task(self._pass(come, go))
            self._tasks.add(task)

    async def _pass(self, come: asyncio.StreamReader, go: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        free = loop.time()
        try:
            while data := await come.read(BUFFER // 2):
                free = max(free, loop.time()) + len(data) / self.rate
                await asyncio.sleep(free - loop.time())
                go.write(data)
                await go.drain()
                self.passed += len(data)
        except ConnectionError:
            pass
        finally:
            go.close()

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


@asynccontextmanager
async def slow_line(node: str, rate: float) -> AsyncIterator[SlowLine]:
    """Run a slow proxy of the node with this ipc address."""
    there = Path(node.removeprefix("ipc://"))
    place = there.with_name("slow.sock")
    line = SlowLine(f"ipc://{place}", rate)
    server = await asyncio.start_unix_server(
        lambda reader, writer: line.serve(there, reader, writer), place, limit=BUFFER
    )
    try:
        yield line
    finally:
        server.close()
        line.close()
