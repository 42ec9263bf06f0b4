"""A TCP proxy between the two ends of a connection, to stall the connection or to break it at a byte.

async with Proxy("127.0.0.1", 7710) as proxy:
    connect to proxy.port ...
    proxy.break_after(10_000)
"""

import asyncio
import socket
import struct
from types import TracebackType
from typing import Self

CHUNK = 65_536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: reset instead of close


class Proxy:
    """A proxy on a free port of 127.0.0.1.

    `passed` counts bytes from the dialer, and `broken` counts breaks.
    """

    def __init__(self, host: str, port: int) -> None:
        self.port = 0
        self.passed = self.broken = 0
        self._target = (host, port)
        self._left: int | None = None  # bytes until the break
        self._resets = True
        self._flows = asyncio.Event()
        self._flows.set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._came, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def break_after(self, count: int, *, reset: bool = True) -> None:
        """Break the connection after `count` more bytes from the dialer: reset, or close in order."""
        self._left, self._resets = count, reset

    def stall(self, is_stalled: bool = True) -> None:
        """Stop forwarding without notice, or go on if `is_stalled` is false."""
        (self._flows.clear if is_stalled else self._flows.set)()

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        writers = [writer]
        try:
            there, back = await asyncio.open_connection(*self._target)
            writers.append(back)
            ways = [
                asyncio.ensure_future(self._pump(reader, back, is_counted=True)),
                asyncio.ensure_future(self._pump(there, writer, is_counted=False)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except OSError:  # unreachable: the dialer sees a closed connection
            pass
        finally:
            for each in writers:
                self._end(each)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_counted: bool
    ) -> None:
        while data := await reader.read(CHUNK):
            await self._flows.wait()
            is_last = is_counted and self._left is not None and len(data) >= self._left
            if is_last:
                data = data[: self._left]
            elif is_counted and self._left is not None:
                self._left -= len(data)
            writer.write(data)
            await writer.drain()
            self.passed += len(data) if is_counted else 0
            if is_last:
                self._left = None
                self.broken += 1
                return

    def _end(self, writer: asyncio.StreamWriter) -> None:
        if self._resets:
            own: socket.socket = writer.get_extra_info("socket")
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.close()
