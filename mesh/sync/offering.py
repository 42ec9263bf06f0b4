"""The calls of a client that serve addresses and list the nodes that serve them.

Generated from mesh/features/services/client/offering.py: change that, and type
`tools/generate_sync`.
"""

from __future__ import annotations

from collections.abc import Callable

from mesh.client.message import T
from mesh.features.services.client.offering import F
from mesh.sync.connected import Connected
from mesh.sync.services import Registrations, Service


class Offering(Connected):
    """The client's calls that serve an address, in a loop or by a function, and watch its services."""

    def serve(
        self, address: str, *, type: type[T] | None = None, local_only: bool = False, prefetch: int = 64
    ) -> Service[T]:
        """Serve an address: iterate over its requests inside `with`.

        Each message to the address goes to one of its services, at any node, unless the sender addresses all.
        Answer a request with `request.reply(…)` or `request.fail(…)`.

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
            with m.serve("orders") as orders:
                for request in orders:
                    request.reply(b"done")
        """
        return Service(
            self._client,
            self._thread,
            self._aio.serve(address, type=type, local_only=local_only, prefetch=prefetch),
        )

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
            def add(a: int, b: int) -> int:
                return a + b
        """
        return super().service(address, concurrency=concurrency, local_only=local_only)

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
            for registration in m.registrations("orders"):
                print(registration.node, registration.consumers, registration.numbers)
        """
        return super().registrations(address)
