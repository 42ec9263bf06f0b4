"""Questions about queues and durable subscriptions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from mesh.wire.calls.ask import MOVED, PEEKED, TERMS, Ask, AskPage, Name, QueueName


class AskQueueDeclare(Ask, frozen=True, kw_only=True):
    """Create a queue, or check that it exists with the same terms.

    Attributes:
        name: Name of the queue.
        terms: Terms of the queue.
    """

    verb = "queue_declare"
    name: QueueName
    terms: Annotated[dict[str, Any], Meta(max_length=TERMS)] = {}


class AskQueueRemove(Ask, frozen=True, kw_only=True):
    """Remove a queue.

    Attributes:
        name: Name of the queue.
        if_unused: Whether to remove it only if it is empty and has no consumers at any node.
    """

    verb = "queue_remove"
    name: QueueName
    if_unused: bool = True


class AskQueues(AskPage, frozen=True, kw_only=True):
    """List the queues.

    Attributes:
        here: Whether to count only messages at this node.
    """

    verb = "queue_ls"
    here: bool = False


class AskQueueInfo(Ask, frozen=True, kw_only=True):
    """Return the state of a queue.

    Attributes:
        name: Name of the queue.
        here: Whether to count only messages at this node.
    """

    verb = "queue_info"
    name: QueueName
    here: bool = False


class AskQueueWhy(Ask, frozen=True, kw_only=True):
    """Return the reasons why messages of a queue wait.

    Attributes:
        name: Name of the queue.
    """

    verb = "queue_why"
    name: QueueName


class AskQueuePeek(Ask, frozen=True, kw_only=True):
    """Return the next messages of a queue without consuming them.

    Attributes:
        name: Name of the queue.
        here: Whether to read only at this node.
        count: Number of messages.
    """

    verb = "queue_peek"
    name: QueueName
    here: bool = False
    count: Annotated[int, Meta(ge=1, le=PEEKED)] = 10


class AskQueuePurge(Ask, frozen=True, kw_only=True):
    """Discard all waiting messages of a queue.

    Attributes:
        name: Name of the queue.
        here: Whether to discard only at this node.
    """

    verb = "queue_purge"
    name: QueueName
    here: bool = False


class AskQueueMove(Ask, frozen=True, kw_only=True):
    """Move the next ready messages of a queue to another node.

    Attributes:
        name: Name of the queue.
        to: Name of the other node.
        count: Limit of messages.
    """

    verb = "queue_move"
    name: QueueName
    to: Name
    count: Annotated[int, Meta(ge=1, le=MOVED)] = MOVED


class AskQueueDrain(Ask, frozen=True, kw_only=True):
    """Report, begin or cancel a drain, which moves the queued messages of this node to other nodes.

    Attributes:
        do: `"look"`, `"begin"` or `"cancel"`.
    """

    verb = "queue_drain"
    do: Literal["look", "begin", "cancel"] = "look"


class AskDurable(Ask, frozen=True, kw_only=True):
    """Declare a durable subscription.

    Attributes:
        name: Name of the durable subscription.
        queries: Kind, text and domain of each query, 1 to 64.
    """

    verb = "durable"
    name: QueueName
    queries: Annotated[list[tuple[str, str, str]], Meta(max_length=TERMS)]


class AskDurableRemove(Ask, frozen=True, kw_only=True):
    """Remove a durable subscription.

    Attributes:
        name: Name of the durable subscription.
        if_unused: Whether to remove it only if it has no consumers at any node.
    """

    verb = "durable_remove"
    name: QueueName
    if_unused: bool = True
