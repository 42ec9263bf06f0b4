"""Durable subscriptions: consumers that declare their subscription when they are entered."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Self

from mesh.client.connected import Connected
from mesh.client.message import T
from mesh.client.reading import ContentReader
from mesh.client.shell import Shell
from mesh.features.queues.client.consumer import Consumer
from mesh.features.queues.client.core.queue_consumption import QueueConsumption
from mesh.features.queues.client.delivery_settling import SettlingClient
from mesh.features.queues.model.declared.durable import durable_of
from mesh.features.queues.model.selecting.selector import Selector
from mesh.names import PUTS, SUBS, check_durable
from mesh.wire.calls import AskDurable
from mesh.wire.commands import Query

Declare = Callable[[], Coroutine[Any, Any, object]]  # declares the subscription at the node


class Durable(Consumer[T]):
    """A durable subscription, read like a queue: `async for job in subscription`, or `.batches()`.

    A context manager: once it is entered, every reachable node knows the subscription and keeps matching
    messages, even without a subscriber, until a subscriber of that name has settled them. On leaving,
    unsettled messages return to the subscription. `unsubscribe(NAME)` deletes the subscription for all its
    subscribers.
    """

    def __init__(
        self,
        client: SettlingClient,
        shell: Shell,
        taking: QueueConsumption,
        reader: ContentReader | None,
        declare: Declare,
    ) -> None:
        super().__init__(client, shell, taking, reader)
        self._declare = declare

    async def __aenter__(self) -> Self:
        self._check_new()
        await self._declare()
        return await super().__aenter__()


def durable_of_client(
    client: Connected,
    name: str,
    queries: Iterable[Query],
    credit: int,
    selector: str | None,
    reader: ContentReader | None,
) -> Durable[Any]:
    """Return a durable subscription that is not entered yet. Raises: BadName, BadQuery, BadSelector."""
    core, name = client._core, check_durable(name)
    found = durable_of(queries).queries
    ask = AskDurable(name=name, queries=[(query.kind, query.text, query.domain) for query in found])
    text = "" if selector is None else Selector(selector).text
    made = core.queues.new_consumer(core.subscriptions.next_number(), PUTS + SUBS + name, credit, text, 0)
    return Durable(client, client._shell, made, reader, lambda: client._queue_asked(ask))
