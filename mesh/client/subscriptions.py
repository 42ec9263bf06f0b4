"""All subscriptions of a client: what is asked for, what arrives, and what was used up."""

from __future__ import annotations

import struct
from collections.abc import Callable

from mesh.client.calls import Calls
from mesh.client.later import not_yet
from mesh.client.oneloop import check_loop
from mesh.client.session import Session
from mesh.client.subscription import INBOX, Subscription, Terms
from mesh.errors import BadQuery, Closed, LocalError, SlowConsumer
from mesh.routing.overflow import overflow
from mesh.routing.subscriptions import check_query
from mesh.values import check_domain
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope

ACK_AFTER = 0.002  # s: at once would only keep the nodes from the next message
ACK_AT = 16  # … but at once when so many messages of the link are unacknowledged

XPATH = "it comes with keys that have an XML body"


class Subscriptions:
    """By number. `session` gives the open session, and raises Closed when there is none."""

    def __init__(self, calls: Calls, session: Callable[[], Session]) -> None:
        self._calls = calls
        self._session = session
        self._all: dict[int, Subscription] = {}
        self._inbox = Subscription(
            INBOX, c.Query("inbox", "", ""), False, Terms(), self._enter, self._leave, self._was_used
        )
        self._number = INBOX
        self._ack_planned = False
        self._acked = 0  # messages of the link
        self._told: dict[int, int] = {}  # items used up of each, as this connection has heard
        self._used: dict[int, Subscription] = {}  # those of which it may not have heard all

    def make(self, query: c.Query, initial: bool, terms: Terms) -> Subscription:
        """One that is not asked for yet: entering it does that. BadQuery for terms that there are not."""
        overflow(terms.overflow)
        self._number += 1
        return Subscription(self._number, query, initial, terms, self._enter, self._leave, self._was_used)

    def inbox(self) -> Subscription:
        """What is sent to this session; BadQuery while somebody reads it already."""
        self._check_unread(self._inbox)
        return self._inbox

    def _check_unread(self, s: Subscription) -> None:
        if s.number in self._all and not s.is_left:
            raise BadQuery(
                "it is open already, and a session has one inbox.",
                hint="Leave it first, or read it in one place and hand the messages on.",
            )

    async def _enter(self, s: Subscription) -> None:
        check_loop(self._session().loop)
        self._check_unread(s)
        if s.number in self._all:
            s.resume()
            return
        self._all[s.number] = s
        try:
            await self._calls.ask(lambda request: _asked_for(s, request))
        except BaseException:
            del self._all[s.number]
            self._calls.tell(lambda request: c.Unsubscribe(request, s.number))  # the node may have it
            raise
        s.confirm()

    async def _leave(self, s: Subscription) -> None:
        if s.number not in self._all:
            return
        check_loop(self._session().loop)
        self.send_ack()  # what was taken out of an inbox must not wait there again
        if s is self._inbox:
            # It goes on coming, as far as its credit goes. The node keeps what nobody takes here.
            s.pause()
            return
        del self._all[s.number]
        self._told.pop(s.number, None)
        s.end(Closed("unsubscribed."))
        if self._session().is_up:
            await self._calls.ask(lambda request: c.Unsubscribe(request, s.number))
        else:
            self._calls.tell(lambda request: c.Unsubscribe(request, s.number))

    def again(self, is_new: bool) -> None:
        """Connected again, perhaps to a new process: make them anew."""
        self._acked = 0
        self._told.clear()
        self._used = dict(self._all)
        for s in self._all.values():
            if is_new:
                s.restarted()
            if s.confirmed:
                # A new process may have lost what was under way: then the last values are worth
                # having again (those that we know are dropped here).
                self._session().send(_asked_for(s, 0, resumed=not is_new))
        self.plan_ack()  # the last one may be lost, and the node wait for it

    def items(self, command: c.Items, envelopes: list[Envelope]) -> None:
        """Messages for some of them."""
        self.plan_ack()
        inlet = self._session().inlet
        if not inlet.accept(command.seq):
            return
        for head, envelope in zip(command.heads, envelopes, strict=True):
            gaps = dict(head.gaps)
            for number, column in head.targets:
                subscription = self._all.get(number)
                if subscription is not None:
                    indices = struct.unpack(f"<{len(column) // 2}H", column) if column else None
                    gap = gaps.get(number, 0)
                    subscription.arrived(head.master, envelope, indices, gap, head.position)
        if inlet.have - self._acked >= ACK_AT:
            self.send_ack()

    def ended(self, command: c.Ended) -> None:
        """The node has ended one of them; what had arrived can still be taken."""
        s = self._all.pop(command.subscription, None)
        self._told.pop(command.subscription, None)
        if s is not None:
            if command.code == SlowConsumer.code:
                s.end(SlowConsumer(command.text, hint="Subscribe again, and take its messages faster."))
            else:
                s.end(LocalError(command.text.removesuffix(f" [{command.code}]"), code=command.code))
        self._calls.tell(lambda request: c.Unsubscribe(request, command.subscription))

    def _was_used(self, s: Subscription) -> None:
        self._used[s.number] = s
        self.plan_ack()

    def plan_ack(self) -> None:
        """Acknowledge soon, once for all that comes and is used up until then."""
        if not self._ack_planned:
            self._ack_planned = True
            self._session().loop.call_later(ACK_AFTER, self.send_ack)

    def send_ack(self) -> None:
        """What has arrived, and how much of it was used up."""
        self._ack_planned = False
        try:
            session = self._session()
        except Closed:
            return  # since it was planned
        self._acked = session.inlet.have
        # Only what is news: of a thousand subscriptions most have had nothing since.
        news = {n: s.used for n, s in self._used.items() if n in self._all and s.used > self._told.get(n, 0)}
        if session.send(c.Ack(session.inlet.have, tuple(news.items()))):
            self._told |= news
            self._used.clear()

    def end(self, error: Closed) -> None:
        """The client is closed: what has arrived can still be taken."""
        for subscription in self._all.values():
            subscription.end(error)
        self._all.clear()
        self._ack_planned = True  # there is nobody to tell any more


def _asked_for(s: Subscription, request: int, resumed: bool = False) -> c.Subscribe:
    terms = s.terms
    return c.Subscribe(request, s.number, s.query, s.initial, resumed, terms.overflow, terms.max_queue)


def query(key: str | None, pattern: str | None, xpath: str | None, domain: str | None) -> c.Query:
    """What `subscribe` and `get` ask for; BadKey or BadQuery when it makes no sense."""
    if xpath is not None:
        not_yet("xpath=", XPATH)
    if key is not None and pattern is not None:
        raise BadQuery("both a key and a pattern were given.", hint="Use one of them.")
    if key is None and pattern is None and not domain:
        raise BadQuery("nothing to ask for.", hint="Give a key, pattern= or domain=.")
    kind, text = ("pattern", "#" if pattern is None else pattern) if key is None else ("exact", key)
    return check_query(c.Query(kind, text, check_domain("" if domain is None else domain)))
