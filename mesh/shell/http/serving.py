"""Serves HTTP on a thread with its own loop, so that slow or many requests cost the node nothing.

The thread asks the node's loop for its state, at most once a second. A node whose loop does not answer in
time counts as not alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future

from mesh.forks import close_in_child
from mesh.metrics.exposition import CONTENT_TYPE, exposed
from mesh.metrics.families import families
from mesh.shell.http.asked import LONGEST, HttpPath, HttpRequest, HttpResponse, no, read, wanted
from mesh.shell.seen import SeenNode

log = logging.getLogger("mesh.node")
CONNECTIONS = 16  # answered at a time; each ends within TIME
SILENT = 64  # connections without a request so far
TIME = 5.0  # s for a request and its answer
PATIENCE = 2.0  # s to wait for the node's loop
FRESH = 1.0  # s for which a state is reused
END = 2.0  # s to wait for the end of the thread


class HttpThread:
    """HTTP server on the socket `server`.

    `ask` makes the node's own loop fill a future with the node's state.
    """

    def __init__(self, server: socket.socket, token: str, ask: Callable[[Future[SeenNode]], None]) -> None:
        self._server, self._token, self._ask = server, token, ask
        self._port = int(server.getsockname()[1])
        self._open = 0  # connections being answered
        self._silent: dict[asyncio.StreamWriter, None] = {}  # without a request so far, the oldest first
        self._seen: tuple[float, SeenNode | None] | None = None  # None: the node did not answer
        self._loop = asyncio.new_event_loop()
        self._asking = asyncio.Lock()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="mesh-http", daemon=True)
        close_in_child(server, socket.socket.close)

    @property
    def url(self) -> str:
        """The address of the endpoint."""
        host = self._server.getsockname()[0]
        return f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}"

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop answering, and wait at most 2 s for the end of the thread."""
        with contextlib.suppress(RuntimeError):  # its loop has ended
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(END)

    # --- in its thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._live())
        except Exception as error:
            log.error("HTTP has stopped: %s", error)
        finally:
            with contextlib.suppress(Exception):
                self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    async def _live(self) -> None:
        async with await asyncio.start_server(self._on_connection, sock=self._server, limit=LONGEST):
            await self._end.wait()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(TIME):
                request = await self._read_request(reader, writer)
                await self._respond(request, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the connection ended, or the request was incomplete
        finally:
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()

    async def _read_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> HttpRequest | HttpResponse:
        """Read the request.

        Idle connections are limited: the oldest is closed for a new one.
        """
        if len(self._silent) >= SILENT:
            oldest = next(iter(self._silent))
            del self._silent[oldest]
            oldest.transport.abort()
        self._silent[writer] = None
        try:
            return read(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            return no("431 Request Header Fields Too Large", f"at most {LONGEST} bytes")
        finally:
            self._silent.pop(writer, None)

    async def _respond(self, request: HttpRequest | HttpResponse, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open > CONNECTIONS:
                writer.write(no("503 Service Unavailable", "too many requests at once").frames())
            else:
                writer.write(await self._response_to(request))
            await writer.drain()
        finally:
            self._open -= 1

    async def _response_to(self, request: HttpRequest | HttpResponse) -> bytes:
        if isinstance(request, HttpResponse):
            return request.frames()
        path = wanted(request, self._port, self._token)
        answer = path if isinstance(path, HttpResponse) else await self._make_response(path)
        return answer.frames(has_body=request.method == "GET")

    async def _make_response(self, path: HttpPath) -> HttpResponse:
        seen = await self._fetch_state()
        if seen is None:
            return no("503 Service Unavailable", f"the node did not answer within {PATIENCE:g} s")
        if path is HttpPath.METRICS:
            text = exposed(families(seen.info, seen.queues, seen.addresses), with_process=True)
            return HttpResponse("200 OK", text, CONTENT_TYPE)
        if path is HttpPath.SERVES and seen.why:
            return no("503 Service Unavailable", seen.why)
        return HttpResponse("200 OK", b"ok\n")

    async def _fetch_state(self) -> SeenNode | None:
        """Return the node's state, at most FRESH seconds old, or `None` without an answer."""
        async with self._asking:
            if self._seen is None or self._loop.time() - self._seen[0] > FRESH:
                seen = await self._fresh()
                self._seen = (self._loop.time(), seen)
            return self._seen[1]

    async def _fresh(self) -> SeenNode | None:
        asked: Future[SeenNode] = Future()
        try:
            self._ask(asked)
            async with asyncio.timeout(PATIENCE):
                return await asyncio.wrap_future(asked)
        except (TimeoutError, RuntimeError):  # the loop is busy, or has ended
            return None
