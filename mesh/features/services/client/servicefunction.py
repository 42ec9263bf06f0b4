"""Functions that answer requests, and the failures that their exceptions become."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from mesh.client.threads import in_thread
from mesh.errors import BadContent, MeshError, RequestFailed
from mesh.features.services.client.request import Request
from mesh.features.services.client.service import Service, settled
from mesh.features.services.client.signature import Arguments, ReadArguments, is_async
from mesh.shortening import shown
from mesh.wire.properties import LONGEST_CODE

if TYPE_CHECKING:
    from mesh.client.tracing import Tracer

log = logging.getLogger("mesh.client")

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class RequestSource:
    """The requests of one service, shared by several workers."""

    def __init__(self, service: Service[Any]) -> None:
        self._service = service
        self._turn = asyncio.Lock()

    async def next_item(self) -> Request[Any] | None:
        """Return the next request, or None after the service was left on purpose."""
        # Pending requests are taken without a wait, so that many replies leave together.
        found = self._service._take_request()
        if found is None:
            async with self._turn:
                found = await self._service._next()
        return None if found is None else found[1]


class ServiceFunction:
    """A function that answers requests, at most `most` at a time.

    `serve` creates the service for a client, and `arguments` turns a request into the function's arguments.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: ReadArguments,
        serve: Callable[[Any], Service[Any]],
        most: int,
        tracer: Tracer | None,
    ) -> None:
        self.most = most
        self._function, self._arguments, self._serve, self._tracer = function, arguments, serve, tracer
        self._name = getattr(function, "__qualname__", type(function).__name__)
        self._is_async = is_async(function)

    @asynccontextmanager
    async def open(self, client: Any) -> AsyncIterator[RequestSource]:
        async with self._serve(client) as service:
            yield RequestSource(service)

    async def work(self, source: RequestSource, stop_on_error: bool) -> None:
        while (request := await source.next_item()) is not None:
            with nullcontext() if self._tracer is None else self._tracer.processing(request):
                await self._handle(request, stop_on_error)
            settled(request)

    async def _handle(self, request: Request[Any], stop_on_error: bool) -> None:
        """Call the function and reply; an exception becomes the failure that the requester receives."""
        try:
            arguments = self._arguments(request)
        except BadContent as error:  # the caller's fault: no traceback
            log.warning("%s (%s): %s", self._name, request.id, error)
            _fail(request, error)
            return
        try:
            result = await self._called(arguments)
            if request._awaits:
                request._reply(result)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # This task was not cancelled: something that the function awaited was.
            self._failed(request, RuntimeError(f"the call was canceled: {error!r}"), stop_on_error)
        except Exception as error:
            self._failed(request, error, stop_on_error)

    async def _called(self, arguments: Arguments) -> Any:
        args, kwargs = arguments
        if self._is_async:
            return await self._function(*args, **kwargs)
        result = await in_thread(self._function, *args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    def _failed(self, request: Request[Any], error: Exception, stop_on_error: bool) -> None:
        _fail(request, error)
        if stop_on_error:
            raise error
        if isinstance(error, RequestFailed):  # a deliberate failure
            return
        log.error(
            "%s failed with a request of %s (%s)", self._name, request.sender, request.id, exc_info=error
        )


def _fail(request: Request[Any], error: Exception) -> None:
    if request._awaits:
        request._fail(*failure_of(error))


def failure_of(error: Exception) -> tuple[str, str]:
    if isinstance(error, RequestFailed):
        return _clean(error.code), error.text
    if isinstance(error, MeshError):
        return _clean(error.code), error.what
    return _clean(_WORDS.sub("_", type(error).__name__).upper()), _text(error)


def _clean(code: Any) -> str:
    """Return a code that the wire accepts: shortened, without forbidden characters, "ERROR" if empty."""
    said = re.sub(r"[^!-~]", "_", code)[:LONGEST_CODE] if isinstance(code, str) else ""
    return said or "ERROR"


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return shown(error)
