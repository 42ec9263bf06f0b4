"""What can a client do for others: serve an address, itself or by a function?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mesh.client.arguments import whole, yes_or_no
from mesh.client.content import address_of
from mesh.client.handling import MOST, Handling
from mesh.client.message import T
from mesh.client.reading import ContentReader, reader_of
from mesh.client.registrations import Registrations
from mesh.client.request import Request
from mesh.client.service import Service
from mesh.client.servicefunction import ServiceFunction
from mesh.client.signature import reading_of

F = TypeVar("F", bound=Callable[..., Any])
PREFETCH = 10_000  # requests that a service may have at once
AHEAD = 4  # times as many as a function answers at a time: the next ones are there when it has


class Offering(Handling):
    """The verbs of those who serve addresses, and of those who look at who does."""

    def serve(
        self, address: str, *, type: type[T] | None = None, local_only: bool = False, prefetch: int = 64
    ) -> Service[T]:
        """Serve an address: `async with m.serve("orders") as orders: async for request in orders`.

        Each message to the address goes to one of all who serve it, wherever they are; a request is answered
        by `await request.reply(…)` or `await request.fail(…)`. `prefetch`: how many may be given before they
        are answered; many are fast, few are shared evenly with others. `local_only`: only what is sent at
        this client's node. `type`: what `request.value` is, as for `subscribe`. Raises BadName.
        """
        return self._service(address_of(address), reader_of(self._codec, type), local_only, prefetch)

    def _service(
        self, address: str, reader: ContentReader | None, local_only: bool, prefetch: int
    ) -> Service[Any]:
        core = self._core
        credit = whole("prefetch", prefetch, 1, PREFETCH)
        number = core.subscriptions.next_number()
        made = core.services.make(number, address, credit, yes_or_no("local_only", local_only))
        return Service(self, self._shell, made, self._codec, reader)

    def service(self, address: str, *, concurrency: int = 16, local_only: bool = False) -> Callable[[F], F]:
        """Answer requests to an address by the function below, while `run` or `running` run.

        Its arguments are read from the content by their types: one is the whole value, several are the fields
        of an object, and one that is a `mesh.Request` is the request itself. What it returns is the reply,
        written as `publish` does. What it raises is the failure that the caller gets, as RequestFailed: its
        text, and as `code` the name of its class (VALUE_ERROR), or that of a RequestFailed; BAD_CONTENT for a
        content that does not fit. The function may be `async`; one that is not works in a thread.
        `concurrency`: so many at a time. Raises BadName, BadType, BadArgument.
        """
        to, most = address_of(address), whole("concurrency", concurrency, 1, MOST)
        yes_or_no("local_only", local_only)

        def serve(client: Offering) -> Service[Any]:
            return client._service(to, None, local_only, AHEAD * most)

        def take(function: F) -> F:
            self._check_function(function, f'@m.service("{to}")')
            reading = reading_of(function, self._codec, self._handed)
            self._handlers.append(ServiceFunction(function, reading, serve, most, self._tracer))
            return function

        return take

    def _handed(self, request: Request[Any]) -> Request[Any]:
        """The request, for a function that wants one."""
        return request

    def registrations(self, address: str) -> Registrations:
        """Who serves an address: `async for registration in m.registrations("orders")`.

        First each node where it is served, as far as this client's node knows, then what changes: each has
        `node`, `uuid`, `boot`, `consumers` (how many there, by now) and `change`: "initial", "added",
        "changed" or "removed". Who is slow gets the last word on each node, not each step. Raises BadName.
        """
        to = address_of(address)
        self._now()
        return Registrations(self, self._shell, to)
