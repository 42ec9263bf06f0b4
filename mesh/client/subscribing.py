"""The calls of a client that subscribe to topics, in a group or durably, and read its inbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack, overload

from mesh.client.arguments import not_subscribed, whole, yes_or_no
from mesh.client.connected import Connected
from mesh.client.core.intake import Intake, Terms
from mesh.client.core.member import GroupMember
from mesh.client.core.queries import queries
from mesh.client.core.several import Several
from mesh.client.later import not_yet
from mesh.client.message import T
from mesh.client.options import DurableOptions, SubscribeOptions
from mesh.client.posting import Posting
from mesh.client.reading import reader_of
from mesh.client.subscription import Subscription, TypedSubscription
from mesh.errors import BadArgument
from mesh.features.queues.client.consumer import Consumer
from mesh.features.queues.client.durable import durable_of_client
from mesh.names import check_durable
from mesh.routing.overflow import Overflow
from mesh.routing.overflow import overflow as overflow_policy
from mesh.shortening import shown
from mesh.wire import commands as c
from mesh.wire.calls import AskDurableRemove
from mesh.wire.limits import HISTORY_MESSAGES, QUEUE_CREDIT

MEMBER, MOST_OF_MEMBER = 256, 10_000  # unconsumed messages of a member: default, limit


def check_terms_of_member(initial: Any, policy: Any, whose: str) -> None:
    """Raise BadArgument for options that a group or durable subscription cannot have.

    An unknown overflow policy raises BadQuery.
    """
    yes_or_no("initial", initial)
    if overflow_policy(policy) != Overflow.BLOCK:
        what = f"overflow={shown(policy)} cannot be used for {whose}."
        raise BadArgument(
            what, hint="Omit overflow=: max_queue= limits the messages in flight to a subscriber."
        )


def _history(history: Any, begins: bool) -> int:
    """Return the checked number of messages to begin with. Raises: BadArgument."""
    latest = whole("history", history, 1, HISTORY_MESSAGES)
    if latest > 1 and not begins:
        what = "history= cannot be used with initial=False, or for a group or durable subscription."
        raise BadArgument(what, hint="These begin without retained values. Omit history=.")
    return latest


def member_of(
    client: Connected, group: str, asked: Sequence[c.Query], max_queue: int, wanted: Any
) -> Subscription[Any]:
    """Return a group member that is not entered yet. Raises: BadName, BadQuery, BadArgument."""
    most = whole("max_queue", max_queue, 0, MOST_OF_MEMBER) or MEMBER
    return subscription_of(client, client._core.member(group, asked, most), wanted)


def subscription_of(
    client: Connected, made: Intake | Several | GroupMember, wanted: Any
) -> Subscription[Any]:
    """Return the subscription that reads `made`, with values of the type `wanted`."""
    reader = reader_of(client._codec, wanted)
    if reader is None:
        return Subscription(client, client._shell, made, client._tracer)
    return TypedSubscription(client, client._shell, made, reader, client._tracer)


class Subscribing(Posting):
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
    def subscribe(  # noqa: PLR0913
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
            async with m.subscribe(pattern="sensors/#", type=float) as messages:
                async for message in messages:
                    print(message.key, message.value)
        """
        latest = _history(history, initial and durable is None and group is None)
        if durable is not None:
            check_terms_of_member(initial, overflow, "a durable subscription")
            if xpath is not None:
                not_yet("xpath= of a durable subscription", "Use keys or patterns.")
            if group is not None:
                what = "durable= and group= cannot be combined."
                raise BadArgument(what, hint="Subscribers of one durable subscription share it already.")
            asked = queries((key, *keys), pattern, xpath, domain)
            credit = whole("max_queue", max_queue, 0, QUEUE_CREDIT) or MEMBER
            return durable_of_client(self, durable, asked, credit, selector, reader_of(self._codec, type))
        if selector is not None:
            hint = "For other subscriptions, check each message in your program."
            raise BadArgument("selector= requires durable=NAME.", hint=hint)
        if group is not None:
            check_terms_of_member(initial, overflow, "a member of a group")
            if xpath is not None:
                not_yet("xpath= of a group", "Use keys or patterns.")
            return member_of(self, group, queries((key, *keys), pattern, xpath, domain), max_queue, type)
        terms = Terms(overflow, whole("max_queue", max_queue, 0, 2**32 - 1), latest)
        asked = queries((key, *keys), pattern, xpath, domain)
        made = self._core.subscriptions.make_several(asked, yes_or_no("initial", initial), terms)
        return subscription_of(self, made, type)

    async def unsubscribe(
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
            await m.unsubscribe("billing")
        """
        is_unused = yes_or_no("if_unused", if_unused)
        if isinstance(subscription, str):
            ask = AskDurableRemove(name=check_durable(subscription), if_unused=is_unused)
            await self._queue_asked(ask)
        elif isinstance(subscription, Consumer):
            await subscription.close()
        elif isinstance(subscription, Subscription):
            await subscription.unsubscribe()
        else:
            raise not_subscribed(subscription)

    def inbox(self, *, type: type[T] | None = None) -> Subscription[T]:
        """Subscribe to the messages sent to this session, in order of arrival.

        Unread messages wait at the node, and so do messages that arrive while the inbox is closed.

        Args:
            type: The type of `message.value`, as for `subscribe`.

        Raises:
            BadQuery: The session's inbox is open already.

        Example:
            async with m.inbox() as messages:
                async for message in messages:
                    print(message.sender, message.text)
        """
        return subscription_of(self, self._core.subscriptions.inbox(), type)
