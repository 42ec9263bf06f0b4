"""A client's session at a node, as what it hears and what it wants done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from mesh.client.access import Access
from mesh.client.core.calls import Calls
from mesh.client.core.caution import UNREADABLE, Caution
from mesh.client.core.desk import ClientDesk
from mesh.client.core.effects import ClientEffect, Report
from mesh.client.core.line import OURS, Line
from mesh.client.core.member import GroupMember
from mesh.client.core.publisher import Publisher
from mesh.client.core.requests import REPLIES, Requests
from mesh.client.core.services import ClientServices
from mesh.client.core.subscriptions import Subscriptions
from mesh.client.core.takings import Takings
from mesh.client.core.watches import Watches
from mesh.errors import Closed, MeshError, NotAvailable, PublishRefused, Refused, RemoteError
from mesh.names import OTHERS, PUTS, SENDS, group_name
from mesh.security.streamkey import StreamKey
from mesh.streams.outbox import Outbox
from mesh.wire import commands as c
from mesh.wire.envelope import NO_RELAY, RESENT, Envelope, runs
from mesh.wire.frames import body_frames
from mesh.wire.limits import DURABLE, LETTERS, QUEUES, SERVICES, STAYS


class ClientCore:
    """A client as its shell tells it what happens, with the time (s, of any clock that does not go back).

    A tick gives the effects that the shell does. It comes back when something is `due`, and when it is woken.

    `name`: the client's, the number of its session or 0, and whether somebody chose the name. What takes
    time is a promise, as `desk.promise` makes them. `timeout` in seconds, of a question.
    """

    def __init__(
        self,
        desk: ClientDesk,
        name: tuple[str, int, bool],
        key: StreamKey,
        timeout: float,
        outbox: Outbox | None = None,
    ) -> None:
        self.desk = desk
        self._place = (b"", 0)  # uuid and boot of the node where it has been
        self.is_over: bool = False  # closed, for good
        self.stream: bytes = key.id
        self.line: Line = Line(desk, name, key, self._welcomed, self._objected, self._waiting)
        self.publisher: Publisher = Publisher(
            desk, key.id, outbox or Outbox(4 << 20, 1024), self._publish, self._refused_later
        )
        self.calls: Calls = Calls(desk, self.line, timeout)
        self.subscriptions: Subscriptions = Subscriptions(desk, self.line, self.calls)
        self.requests: Requests = Requests(desk)
        self.services: ClientServices = ClientServices(desk, self.line, self.calls, key.id)
        self.queues: Takings = Takings(desk, self.line, self.calls)
        self.watches: Watches = Watches(self.line)
        self.subscriptions.others = self._other_item
        self._caution = Caution(self.publisher.is_answered)

    # --- what the shell tells -----------------------------------------------------------------------------

    def found(self, now: float, access: Access) -> None:
        """That is where the node is; the answer to Find."""
        self.desk.begin(now)
        self.line.found(access)

    def not_found(self, now: float, error: MeshError) -> None:
        """The node is not there; likewise."""
        self.desk.begin(now)
        self.line.not_found(error)

    def received(self, now: float, key: int, command: c.AnyCommand, envelopes: list[Envelope]) -> None:
        """A command came on a connection."""
        self.desk.begin(now)
        line = self.line
        if not line.hears(key):
            return
        try:
            if type(command) in OURS:  # of a hundred commands perhaps one
                line.heed(command)
            elif line.is_up:
                self._hear(command, envelopes)
        except RemoteError as error:
            line.lose(str(error))

    def moved(self, now: float, key: int) -> None:
        """A part of something that is too long to come, or go, at once."""
        self.desk.begin(now)
        if self.line.hears(key):
            self.line.moved = now

    def gone(self, now: float, key: int, why: str = "disconnected") -> None:
        """A connection has ended, or what came on it cannot be read."""
        self.desk.begin(now)
        if key == self.line.key:
            self.line.lose(why)

    def failed(self, now: float, key: int, error: Refused) -> None:
        """A connection did not come about."""
        self.desk.begin(now)
        if key == self.line.key:
            self.line.failed(error)

    def move(self, now: float) -> None:
        """Its node is given up: what was not answered goes by another one, with the old numbers."""
        self.desk.begin(now)
        self.line.move()

    def tick(self, now: float) -> list[ClientEffect]:
        """The effects that are to be done by now."""
        return self.desk.tick(now)

    @property
    def due(self) -> float:
        """When the next tick must be, at the latest; inf: whenever."""
        return self.desk.due

    def close(self, why: MeshError | None = None) -> None:
        """For good: whoever waits learns it, and why, if it was not on purpose."""
        if self.is_over:
            return
        self.is_over = True
        self.subscriptions.send_ack()
        gone = why or Closed("this client is closed.")
        self.services.end(gone)
        self.queues.end(gone)
        self.watches.end(gone)
        self.requests.close(gone)
        self.publisher.fail(gone)
        self.subscriptions.end(gone)
        self.calls.close(gone)
        self.desk.do(Report("closed", "" if why is None else why.what))
        self.line.close()

    # --- what its node says -------------------------------------------------------------------------------

    def _welcomed(self, welcome: c.Welcome, is_new: bool) -> None:
        """Connected, perhaps again: say what the node may not know."""
        self.publisher.max_content = welcome.max_content
        self.publisher.outbox.window = welcome.window
        self._came_to(welcome, is_new)
        self.subscriptions.again(is_new, welcome.window)
        self.watches.again()
        for envelope in self._caution.begin(self.publisher.outbox.resend()):
            self._send(envelope)
        self.queues.void()
        self.calls.again()  # after what was published before: an erase must not come first
        self.services.again()  # those that are asked for were just asked for
        self.queues.again()
        self.desk.do(Report("connected", self.line.name))

    def _came_to(self, welcome: c.Welcome, is_new: bool) -> None:
        """What others than this node have been sent may have been lost with them."""
        place = (welcome.node.uuid, welcome.node.boot)
        if is_new or place != self._place:
            was, self._place, publisher = self._place, place, self.publisher
            if was[0]:
                publisher.moved()
            lost = [n for n in self.requests.numbers() if publisher.outbox.is_final(SENDS, n)]
            self.requests.lost(lost)
        elif not self.line.inlet.have:
            # It may have forgotten this session meanwhile, and nothing that it says would show it.
            self.publisher.moved()
        if SERVICES not in self.line.words:
            self._does_without("addresses", lambda e: e.domain == SENDS)
            self.services.end(_without())
            self.watches.end(_without())
        if QUEUES not in self.line.words:
            self._does_without("queues", lambda e: e.domain.startswith(PUTS))
            self.queues.end(_without("queues"))
        if LETTERS not in self.line.words:
            self._does_without("other sites", lambda e: e.to.startswith(OTHERS))

    def _does_without(self, what: str, is_lost: Callable[[Envelope], bool]) -> None:
        """A node of an earlier release: it could not read such envelopes."""
        error = _without(what)
        for e in [e for e in self.publisher.outbox.resend() if is_lost(e)]:
            self._answered(c.Answer(e.domain, e.first, e.last, error.code, text=error.what))

    def member(self, group: str, queries: Sequence[c.Query], credit: int) -> GroupMember:
        """A member of the group for each of these; BadName for a name that is none."""
        names = [group_name(group, query.domain, query.text) for query in queries]
        number, make = self.subscriptions.next_number, self.services.make
        return GroupMember([make(number(), name, credit, False) for name in names])

    def check_services(self) -> None:
        """NotAvailable when its node is of an earlier release."""
        if self.line.is_up and SERVICES not in self.line.words:
            raise _without()

    def check_queues(self) -> None:
        """NotAvailable when its node is of an earlier release."""
        if self.line.is_up and QUEUES not in self.line.words:
            raise _without("queues")

    def check_sites(self, to: str) -> None:
        """NotAvailable when that is in another site, and its node is of an earlier release."""
        if to.startswith(OTHERS) and self.line.is_up and LETTERS not in self.line.words:
            raise _without("other sites")

    def _hear(self, command: c.AnyCommand, envelopes: list[Envelope]) -> None:
        match command:
            case c.Items():
                self.subscriptions.items(command, envelopes)
            case c.Answers():
                for answer in command.answers:
                    self.publisher.answered(answer)
                    if answer.domain == SENDS:
                        self.requests.answered(answer)
                if self._caution.is_on:
                    self._go_on()
            case c.Reply():
                self.calls.replied(command, envelopes)
            case c.Serving():
                self.watches.serving(command)
            case c.Ended():
                if not (self.services.ended(command) or self.queues.ended(command)):
                    self.subscriptions.ended(command)
            case c.Pong() | c.Unknown():
                pass
            case c.Ping():  # another wants this session, and the node asks whether it is in use
                self.line.send(c.Pong(command.stamp))
            case _:
                raise RemoteError(f"a node sent {type(command).__name__} to a client")

    def _answered(self, answer: c.Answer) -> None:
        self.publisher.answered(answer)
        if answer.domain == SENDS:
            self.requests.answered(answer)

    def _other_item(
        self, number: int, head: c.ItemHead, envelope: Envelope, indices: tuple[int, ...] | None
    ) -> None:
        if number == REPLIES:
            self._are_had(self.requests.arrived(envelope, indices))
        elif not self.queues.arrived(number, head, envelope, indices):
            self.services.arrived(number, head, envelope, indices)

    def _are_had(self, numbers: list[int]) -> None:
        """Whoever has replied to these had them: the node need not say it, too."""
        if not self.publisher.outbox.unanswered:
            return
        for first, last in runs(numbers):
            self.publisher.answered(c.Answer(SENDS, first, last, matched=1))
        if self._caution.is_on:
            self._go_on()

    def _publish(self, envelope: Envelope) -> None:
        if not self._caution.is_on or self._caution.add(envelope):
            self._send(envelope)

    def _send(self, envelope: Envelope) -> None:
        if envelope.domain == SENDS:
            self._send_on(envelope)
        else:
            self.line.send(c.Publish((body_frames(envelope),)), (self._marked(envelope),))

    def _marked(self, envelope: Envelope) -> Envelope:
        """It, as it is said again to another node than had it first, if any had."""
        if envelope.flags & NO_RELAY and STAYS not in self.line.words:
            envelope = replace(envelope, flags=envelope.flags & ~NO_RELAY)
        domain, elsewhere = envelope.domain, self.publisher.elsewhere
        is_again = elsewhere and envelope.first <= elsewhere.get(domain, 0) and not domain.startswith(PUTS)
        if not is_again or DURABLE not in self.line.words:
            return envelope
        return replace(envelope, flags=envelope.flags | RESENT)

    def _send_on(self, envelope: Envelope) -> None:
        """To an address, with the time that remains."""
        deadlines = self.publisher.deadlines
        ttl = deadlines.ttl(envelope, self.desk.now)
        command = c.Publish((body_frames(envelope),), (ttl,) if ttl else ())
        if self.line.send(command, (deadlines.marked(envelope),)):
            deadlines.left(envelope)

    def _go_on(self) -> None:
        """With the next envelope, since the one before it is answered."""
        for envelope in self._caution.answered():
            self._send(envelope)

    def _objected(self, refusal: c.Refuse) -> None:
        """The node hung up over something that we said; an envelope would come again and again."""
        bad = self._caution.refused() if refusal.code in UNREADABLE else None
        if bad is not None:
            text = f"{self.line.home} hung up over it twice, and over nothing else: {refusal.reason}"
            self._answered(c.Answer(bad.domain, bad.first, bad.last, refusal.code, text=text))

    def _waiting(self) -> str:
        """A list of what waits for the node, in words; "" = nothing."""
        counts = {
            "consumer": len(self.queues),
            "message": self.publisher.unanswered,
            "question": self.calls.count,
            "request": len(self.requests),
            "service": len(self.services),
            "subscription": self.subscriptions.count,
        }
        return ", ".join(f"{n:,} {what}{'s' * (n > 1)}" for what, n in counts.items() if n)

    def _refused_later(self, message: str, error: PublishRefused) -> None:
        self.desk.do(Report("refused-later", f"{message}: {error}"))


def _without(what: str = "addresses") -> NotAvailable:
    hint = "Bring both to the same release."
    return NotAvailable(f"the node is of an earlier release, which knows nothing of {what}.", hint=hint)
