"""The calls of a client that serve addresses and list the nodes that serve them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mesh.client.arguments import whole, yes_or_no
from mesh.client.content import address_of
from mesh.client.handler import MOST, Handlers
from mesh.client.message import T
from mesh.client.posting import Posting
from mesh.client.reading import ContentReader, reader_of
from mesh.client.registrations import Registrations
from mesh.features.services.client.service import Service
from mesh.features.services.client.servicefunction import ServiceFunction
from mesh.features.services.client.signature import reading_of

F = TypeVar("F", bound=Callable[..., Any])
PREFETCH = 10_000  # limit of a service's prefetch
AHEAD = 4  # prefetch per concurrent call of a function


class Offering(Posting):
    """The client's calls that serve an address, in a loop or by a function, and watch its services."""

    _handlers: Handlers

    def serve(
        self, address: str, *, type: type[T] | None = None, local_only: bool = False, prefetch: int = 64
    ) -> Service[T]:
        """Serve an address: iterate over its requests inside `async with`.

        Each message to the address goes to one of its services, at any node, unless the sender addresses all.
        Answer a request with `await request.reply(…)` or `await request.fail(…)`.

        Args:
            address: The address, such as "orders" or "calc/add".
            type: The type of `request.value`, as for `subscribe`.
            local_only: Whether to accept only messages sent at this client's node.
            prefetch: Unanswered requests that this service may have, 1 to 10,000. A higher limit is faster, a
                lower one shares requests more evenly. Default: 64.

        Returns:
            The service. Entering it registers it.

        Raises:
            BadName, BadType, BadArgument: An argument is invalid.

        Example:
            async with m.serve("orders") as orders:
                async for request in orders:
                    await request.reply(b"done")
        """
        return self._service(address_of(address), reader_of(self._codec, type), local_only, prefetch)

    def _service(
        self, address: str, reader: ContentReader | None, local_only: bool, prefetch: int
    ) -> Service[Any]:
        core = self._core
        credit = whole("prefetch", prefetch, 1, PREFETCH)
        number = core.subscriptions.next_number()
        made = core.services.new_service(number, address, credit, yes_or_no("local_only", local_only))
        return Service(self, self._shell, made, self._codec, reader)

    def service(self, address: str, *, concurrency: int = 16, local_only: bool = False) -> Callable[[F], F]:
        """Decorate a function that answers the requests to an address while `run` or `running` runs.

        The arguments are decoded from the content by their types: a single argument is the whole value,
        several are fields of an object, and a single argument of type `mesh.Request` is the request. The
        returned value is the reply, encoded as by `publish`. An exception fails the request: the requester
        receives RequestFailed with the text and, as `code`, the class name (VALUE_ERROR) or the code of a
        `MeshError`. Content of the wrong shape fails with BAD_CONTENT. A function that is not `async` runs in
        a thread.

        Args:
            address: The address.
            concurrency: Calls that may run at a time, 1 to 1,000. Default: 16.
            local_only: Whether to accept only messages sent at this client's node.

        Raises:
            BadName, BadType, BadArgument: An argument or the function is unsuitable.

        Example:
            @m.service("calc/add")
            async def add(a: int, b: int) -> int:
                return a + b
        """
        to, most = address_of(address), whole("concurrency", concurrency, 1, MOST)
        yes_or_no("local_only", local_only)

        def serve(client: Offering) -> Service[Any]:
            return client._service(to, None, local_only, AHEAD * most)

        def take(function: F) -> F:
            self._handlers.check_function(function, f'@m.service("{to}")')
            reading = reading_of(function, self._codec, self._handlers.handed)
            self._handlers.add(ServiceFunction(function, reading, serve, most, self._tracer))
            return function

        return take

    def registrations(self, address: str) -> Registrations:
        """Watch which nodes serve an address.

        The iterator first yields each node that serves the address, as far as this client's node knows, then
        the changes. A registration has `node`, `uuid`, `boot`, `consumers` (their number at that node),
        `numbers` (their sequence numbers) and `change`: "initial", "added", "changed" or "removed". A slow
        reader receives the latest state of each node, not every step.

        A sequence number is given to each consumer when it registers, and is never used twice while the node
        runs. So a consumer that was replaced by another one is a change, although their count is the same.
        Of a node with more than 100 consumers of the address, or of an earlier release, `numbers` is empty.

        Args:
            address: The address, such as "calc/add".

        Raises:
            BadName: The address is invalid.

        Example:
            async for registration in m.registrations("orders"):
                print(registration.node, registration.consumers, registration.numbers)
        """
        to = address_of(address)
        self._now()
        return Registrations(self, self._shell, to)
