"""The calls of a client that subscribe to topics, in a group or durably, and read its inbox.

Generated from mesh/client/subscribing.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack, overload

from mesh.client.message import T
from mesh.client.options import DurableOptions, SubscribeOptions
from mesh.sync.connected import Connected
from mesh.sync.consumer import Consumer
from mesh.sync.subscription import Subscription


class Subscribing(Connected):
    """The client's calls that subscribe to topics, end subscriptions and read the inbox."""

    @overload
    def subscribe(
        self,
        key: str | None = None,
        *keys: str,
        type: type[T] | None = None,
        **options: Unpack[SubscribeOptions],
    ) -> Subscription[T]: ...

    @overload
    def subscribe(
        self,
        key: str | None = None,
        *keys: str,
        durable: str,
        type: type[T] | None = None,
        **options: Unpack[DurableOptions],
    ) -> Consumer[T]: ...

    def subscribe(
        self,
        key: str | None = None,
        *keys: str,
        pattern: str | Sequence[str] | None = None,
        xpath: str | None = None,
        domain: str | None = None,
        initial: bool = True,
        history: int = 1,
        overflow: str = "block",
        max_queue: int = 0,
        group: str | None = None,
        durable: str | None = None,
        selector: str | None = None,
        type: type[T] | None = None,
    ) -> Subscription[T] | Consumer[T]:
        """Subscribe to keys, a topic pattern (`sensors/+/temp`, `sensors/#`), an XPath or a domain.

        Several keys or patterns form one subscription, read in order of arrival and without duplicates. If
        one of them fails, all do. Once the subscription is entered, every reachable node knows it.

        With `group`, each message goes to one of the group's members for the same topics, at any node; other
        groups and subscribers receive it as well. A group has no retained values, and messages that a lost
        member had not consumed are lost.

        With `durable`, each matching message is kept on disk, within limits, until one subscriber of that
        name has acked it. `unsubscribe(name)` ends the subscription and deletes its messages. A durable
        subscription is read like a queue, without retained values.

        Args:
            key: A key, followed by more keys.
            pattern: A pattern, or a list of patterns.
            xpath: An XPath on the XML of keys.
            domain: Only topics of this domain; all of them, if it is given alone. Default: any domain.
            initial: Whether to begin with retained values. A value that cannot be read as `type` is logged
                and left out.
            history: Number of messages of each topic to begin with, 1 to 1,000: the latest ones, oldest
                first. Masters keep more than one only by a rule with `history`.
            overflow: What happens when messages that are not persistent arrive faster than they are read:
                "block" (publishers wait while the subscriber makes progress, then the newest are dropped),
                "drop_newest", "drop_oldest", or "error" (the subscription ends with SlowConsumer).
            max_queue: The limit for messages in transit to the subscriber, and again for messages that wait
                at the node; 0: the node's limits. In a group or durable subscription: messages that this
                member may have unconsumed, 256 by default.
            group: The name of a group.
            durable: The name of a durable subscription.
            selector: A condition on the messages of a durable subscription, as for `Queue.consume`.
            type: The type of `message.value`: a dataclass, msgspec Struct, pydantic model, or a type such as
                dict[str, float].

        Returns:
            The subscription, or the consumer of a durable one. Entering it subscribes.

        Raises:
            BadKey, BadName, BadQuery, BadSelector, BadType, BadArgument: An argument is invalid.
            QueueExists: On entering: the durable name is used for other topics.

        Example:
            with m.subscribe(pattern="sensors/#", type=float) as messages:
                for message in messages:
                    print(message.key, message.value)
        """
        found: Subscription[T] | Consumer[T] = super().subscribe(
            key,
            *keys,
            pattern=pattern,
            xpath=xpath,
            domain=domain,
            initial=initial,
            history=history,
            overflow=overflow,
            max_queue=max_queue,
            group=group,
            durable=durable,
            selector=selector,
            type=type,
        )
        return found

    def unsubscribe(
        self, subscription: Subscription[Any] | Consumer[Any] | str, *, if_unused: bool = True
    ) -> None:
        """End a subscription, or delete a durable subscription for all its subscribers.

        Args:
            subscription: A subscription, or the name of a durable one, whose waiting messages are deleted.
            if_unused: Whether to end a durable subscription only if it has no subscriber at any node.
                Default: True.

        Raises:
            NoQueue: There is no durable subscription of that name.
            QueueInUse: The subscription is in use, or an unreachable node may have a subscriber.
            BadArgument: The argument is not a subscription.

        Example:
            m.unsubscribe("billing")
        """
        super().unsubscribe(subscription, if_unused=if_unused)

    def inbox(self, *, type: type[T] | None = None) -> Subscription[T]:
        """Subscribe to the messages sent to this session, in order of arrival.

        Unread messages wait at the node, and so do messages that arrive while the inbox is closed.

        Args:
            type: The type of `message.value`, as for `subscribe`.

        Raises:
            BadQuery: The session's inbox is open already.

        Example:
            with m.inbox() as messages:
                for message in messages:
                    print(message.sender, message.text)
        """
        return Subscription(self._client, self._thread, self._aio.inbox(type=type))
