"""Services, gathered replies and registrations without an event loop.

Generated from mesh/client/registrations.py and mesh/features/services/client/gathering.py and
mesh/features/services/client/service.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from mesh.client.message import T
from mesh.sync.iterators import ThreadGathering, ThreadRegistrations, ThreadService


class Service(ThreadService[T]):
    """A service of one address: `for request in service`, in one thread at a time.

    A context manager: inside it, messages to the address arrive here, as for `mesh.Service`.

    Example:
        with m.serve("orders") as orders:
            for request in orders:
                request.reply(b"done")
    """

    @property
    def address(self) -> str:
        """The address that is served."""
        return self._aio.address

    def close(self) -> None:
        """Stop serving. Unanswered requests are lost for their senders."""
        super().close()


class Gathering(ThreadGathering[T]):
    """The replies as they arrive, until all services or `most` of them have replied, or the timeout ends.

    A context manager: the request is sent on entering. Replies that arrive after leaving are dropped.

    Example:
        with m.gather("who") as answers:
            for answer in answers:
                print(answer.sender, answer.error or answer.text)
    """

    @property
    def expected(self) -> int | None:
        """The number of services that received the request; None while it is unknown."""
        return self._aio.expected


class Registrations(ThreadRegistrations):
    """An iterator over the nodes that serve an address, then over changes.

    A slow reader receives the latest state of each node, not every step.
    """

    def close(self) -> None:
        """Stop watching. An iterator that is no longer referenced also stops."""
        super().close()
