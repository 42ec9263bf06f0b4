"""What is a client given, has it had that before, and what has it used up?"""

from __future__ import annotations

from mesh.client.subscription import INBOX
from mesh.streams.seen import Seen
from mesh.wire import commands as c
from mesh.wire.envelope import ERASED, INITIAL, Envelope
from tools.simulating.clients.kept import Subscription, got
from tools.simulating.clients.line import Line

GATHERS = 0.0001  # s until it acknowledges


class Reader:
    """The subscriptions of one client, by their numbers."""

    def __init__(self, line: Line) -> None:
        self.subscriptions: dict[int, Subscription] = {}
        self._line = line
        self._is_acking = False
        self._told: dict[int, int] = {}  # items used up of each subscription, as this connection has heard

    def add(self, s: Subscription) -> None:
        self.subscriptions[s.number] = s
        self._told.pop(s.number, None)

    def confirmed(self, number: int) -> None:
        """The node has it."""
        s = self.subscriptions[number]
        s.is_confirmed = True
        while s.rate is None and s.items:
            self.use_one(s)

    def entered(self, is_new: bool) -> None:
        """On a new connection, and perhaps in a new session: subscribe again."""
        self._told.clear()
        for s in self.subscriptions.values():
            if is_new and not s.is_confirmed:
                s.items.clear()
                s.seen = Seen()
            if is_new:
                s.was_restarted = s.is_confirmed
                s.used = -len(s.items)
            if s.is_confirmed:
                self._line.say(s.command(0, resumed=not is_new))

    def items(self, command: c.Items, envelopes: list[Envelope]) -> None:
        self.plan_ack()
        if not self._line.have.accept(command.seq):
            return
        for head, e in zip(command.heads, envelopes, strict=True):
            gaps = dict(head.gaps)
            for number, column in head.targets:
                s = self.subscriptions.get(number)
                if s is not None:
                    indices = memoryview(column).cast("H") if column else range(e.count)
                    self.check_place(head, e, list(indices))
                    self._arrived(s, head, e, list(indices), gaps.get(number, 0))

    def check_place(self, head: c.ItemHead, e: Envelope, indices: list[int]) -> None:
        """A persistent message has one place in one log, for all and for ever."""
        if head.position and e.persistent:
            for i in indices:
                place = (head.master, head.position)
                known = self._line.net.places.setdefault((e.stream, e.domain, e.number(i), e.to), place)
                assert known == place, f"message {e.number(i)} was taken twice: at {known} and {place}"

    def _arrived(self, s: Subscription, head: c.ItemHead, e: Envelope, indices: list[int], gap: int) -> None:
        new, is_late = _news(s, head.master, e, indices)
        if (s.seen.has_passed(head.master, head.position, e.persistent) and s.number != INBOX) or is_late:
            gap, new = gap + len(new), []
        if gap:
            self.missed(s, gap)
        s.items.append([got(e, i, gap if i == new[0] else 0) for i in new])
        if s.rate is None and s.is_confirmed:
            self.use_one(s)

    def missed(self, s: Subscription, gap: int) -> None:
        s.dropped += gap

    def use(self, s: Subscription, rate: float | None = None) -> None:
        """From now on it uses up so many items a second."""
        s.rate = rate
        if rate:
            self.use_some(s, rate)
        while rate is None and s.is_confirmed and s.items:
            self.use_one(s)

    def use_one(self, s: Subscription) -> None:
        s.got += s.items.popleft()
        s.used += 1
        self.plan_ack()

    def use_some(self, s: Subscription, rate: float) -> None:
        """One now, and so many a second."""
        if s.items and s.is_confirmed:
            self.use_one(s)
        if not self._line.is_closed:
            self._line.net.after(1 / rate, lambda: self.use_some(s, rate))

    def plan_ack(self) -> None:
        if not self._is_acking:
            self._is_acking = True
            self._line.net.after(GATHERS, self._ack)

    def _ack(self) -> None:
        self._is_acking = False
        news = {s.number: s.used for s in self.subscriptions.values() if s.used > self._told.get(s.number, 0)}
        self._line.say(c.Ack(self._line.have.have, tuple(news.items())))
        self._told |= news


def _news(s: Subscription, master: bytes, e: Envelope, indices: list[int]) -> tuple[list[int], bool]:
    """(what it has not had, whether that comes too late)"""
    stream = (e.stream, e.domain)
    is_behind = e.first <= s.seen.high(master, stream) and s.number != INBOX and not e.flags & ERASED
    if is_behind and e.flags & INITIAL and s.was_restarted:
        return [], False
    fresh = s.seen.fresh(master, stream, e.first, e.last)
    new = [i for i in indices if any(a <= e.number(i) <= b for a, b in fresh)]
    return new, is_behind and not (e.persistent or e.flags & INITIAL)
