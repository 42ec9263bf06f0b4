"""What can a client subscribe to? Topics, for itself, in a group or for good; and its inbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from mesh.client.arguments import not_subscribed, whole, yes_or_no
from mesh.client.connected import Connected
from mesh.client.consumer import Consumer
from mesh.client.core.intake import Intake, Terms
from mesh.client.core.member import GroupMember
from mesh.client.core.several import Several
from mesh.client.core.subscriptions import queries
from mesh.client.durable import durable_of_client
from mesh.client.later import not_yet
from mesh.client.message import T
from mesh.client.reading import reader_of
from mesh.client.subscription import Subscription, TypedSubscription
from mesh.errors import BadArgument, shown
from mesh.names import check_durable
from mesh.routing.overflow import Overflow
from mesh.routing.overflow import overflow as overflow_policy
from mesh.wire import commands as c
from mesh.wire.calls import AskDurableRemove
from mesh.wire.limits import QUEUE_CREDIT

MEMBER, MOST_OF_MEMBER = 256, 10_000  # messages that a member of a group may have at once


def check_terms_of_member(initial: Any, policy: Any, whose: str) -> None:
    """BadArgument or BadQuery for what has no meaning in a group, or nowhere."""
    yes_or_no("initial", initial)
    if overflow_policy(policy) != Overflow.BLOCK:
        what = f"overflow={shown(policy)} is not for {whose}."
        raise BadArgument(what, hint="Leave it out: what is under way to a subscriber is set by max_queue=.")


class Subscribing(Connected):
    """The verbs for what comes from now on."""

    @overload
    def subscribe(
        self,
        key: str | None = None,
        *keys: str,
        pattern: str | Sequence[str] | None = None,
        xpath: str | None = None,
        domain: str | None = None,
        initial: bool = True,
        overflow: str = "block",
        max_queue: int = 0,
        group: str | None = None,
        type: type[T] | None = None,
    ) -> Subscription[T]: ...
    @overload
    def subscribe(
        self,
        key: str | None = None,
        *keys: str,
        durable: str,
        pattern: str | Sequence[str] | None = None,
        xpath: str | None = None,
        domain: str | None = None,
        max_queue: int = 0,
        selector: str | None = None,
        type: type[T] | None = None,
    ) -> Consumer[T]: ...
    def subscribe(  # noqa: PLR0913
        self,
        key: str | None = None,
        *keys: str,
        pattern: str | Sequence[str] | None = None,
        xpath: str | None = None,
        domain: str | None = None,
        initial: bool = True,
        overflow: str = "block",
        max_queue: int = 0,
        group: str | None = None,
        durable: str | None = None,
        selector: str | None = None,
        type: type[T] | None = None,
    ) -> Subscription[T] | Consumer[T]:
        """Messages of a key, of a topic pattern (`sensors/+/temp`, `sensors/#`), of an XPath or of a domain.

        Several keys, or a list of patterns, are read as one: in the order in which messages come, and none
        twice; when one of them fails, so do all.

        Use it with `async with`; inside, every node that can be reached knows of it. `initial`: begin with
        the last value of each topic; one that cannot be read as `type` is left out, and logged. `overflow`:
        what gives way when transient messages come faster than they are taken: "block" (publishers wait
        while it makes progress, then the newest are dropped), "drop_newest", "drop_oldest", or "error" (it
        ends with SlowConsumer). `max_queue`: so many messages may be under way, and as many wait, beside
        last values; 0: as the node's limits allow. `type`: what `message.value` is, a dataclass, a msgspec
        Struct, a pydantic model or such as dict[str, float].

        `group`: each message goes to one of all who have named it for the same topics, at any node, and there
        to whoever has room (`max_queue` messages that are not used up, 256 by default). Other groups get it
        as well, and so does who is in none. A group has no last values, nobody waits for it, and what a
        member had is lost with it.

        `durable`: a name. What matches is kept, on disk, from now on until `unsubscribe(name)`, and each
        message goes to one of all who subscribe with that name, until it is acked: it is read like a queue,
        `async for job in subscription: async with job: ...`. `max_queue`: what may be here that is not acked
        (256 by default); `selector`: only what it is True for, as for `consume`. There are no last values.
        Raises BadKey, BadName, BadQuery, BadSelector, BadType, BadArgument; when it is entered QueueExists
        if the name stands for other topics.
        """
        if durable is not None:
            check_terms_of_member(initial, overflow, "a durable subscription")
            if xpath is not None:
                not_yet("xpath= of a durable subscription", "its queues know keys and patterns")
            if group is not None:
                what = "both durable= and group= were given."
                raise BadArgument(what, hint="All who name one durable subscription share it already.")
            asked = queries((key, *keys), pattern, xpath, domain)
            credit = whole("max_queue", max_queue, 0, QUEUE_CREDIT) or MEMBER
            return durable_of_client(self, durable, asked, credit, selector, reader_of(self._codec, type))
        if selector is not None:
            raise BadArgument("selector= is for durable=NAME.", hint="Look at each message as it comes.")
        if group is not None:
            check_terms_of_member(initial, overflow, "a member of a group")
            if xpath is not None:
                not_yet("xpath= of a group", "they know keys and patterns")
            return self._member(group, queries((key, *keys), pattern, xpath, domain), max_queue, type)
        terms = Terms(overflow, whole("max_queue", max_queue, 0, 2**32 - 1))
        asked = queries((key, *keys), pattern, xpath, domain)
        made = self._core.subscriptions.make_several(asked, yes_or_no("initial", initial), terms)
        return self._subscription(made, type)

    def _member(self, group: str, asked: Sequence[c.Query], max_queue: int, wanted: Any) -> Subscription[Any]:
        """The same of a member of a group."""
        most = whole("max_queue", max_queue, 0, MOST_OF_MEMBER) or MEMBER
        return self._subscription(self._core.member(group, asked, most), wanted)

    def _subscription(self, made: Intake | Several | GroupMember, wanted: Any) -> Subscription[Any]:
        """To be entered by its user, and read as `wanted`."""
        reader = reader_of(self._codec, wanted)
        if reader is None:
            return Subscription(self, self._shell, made, self._tracer)
        return TypedSubscription(self, self._shell, made, reader, self._tracer)

    async def unsubscribe(
        self, subscription: Subscription[Any] | Consumer[Any] | str, *, if_unused: bool = True
    ) -> None:
        """As leaving its context does. The name of a durable subscription: it ends for all, and what waits
        for it is gone; NoQueue without one. `if_unused`: only while nobody subscribes, and no node is away
        where somebody may: else QueueInUse."""
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
        """A subscription to what is sent to this session, in the order in which it came.

        Use it with `async with`. What nobody has taken when it is left, or came after, waits at the node. A
        session has one: BadQuery while it is open already. `type`: as for `subscribe`.
        """
        return self._subscription(self._core.subscriptions.inbox(), type)
