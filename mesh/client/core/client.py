"""A client's session at a node: events go in, effects come out."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.client.access import Access
from mesh.client.core.calls import Calls
from mesh.client.core.cautious_resend import UNREADABLE
from mesh.client.core.client_context import ClientContext
from mesh.client.core.departing import Departing
from mesh.client.core.effects import ClientEffect, Report
from mesh.client.core.envelope_sender import EnvelopeSender
from mesh.client.core.fail_back import Wanted
from mesh.client.core.known_nodes import KnownNode
from mesh.client.core.member import GroupMember
from mesh.client.core.node_connection import OURS, NodeConnection
from mesh.client.core.node_features import NodeFeatures, unsupported
from mesh.client.core.publisher import Publisher
from mesh.client.core.returning import Returning
from mesh.client.core.subscriptions import Subscriptions
from mesh.client.core.visits import ClientVisits
from mesh.client.core.watches import Watches
from mesh.errors import Closed, MeshError, PublishRefused, Refused, RemoteError
from mesh.features.queues.client.core.takings import Takings
from mesh.features.services.client.core.requests import REPLIES, Requests
from mesh.features.services.client.core.services import ClientServices
from mesh.features.transactions.client.core.commits import ClientCommits
from mesh.names import SENDS, group_name
from mesh.security.streamkey import StreamKey
from mesh.streams.outbox import Outbox
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope, runs
from mesh.wire.limits import QUEUES, SERVICES

ANY_NODE = Wanted()


class ClientCore:
    """The core of a client, driven by its shell.

    The shell passes each event with the time (s, of a monotonic clock), executes the effects of `tick`, and
    calls again when something is `due` or when it is woken. `name` is the client's name, its session number
    or 0, and whether the user chose the name. `timeout` limits a call, in s. `wanted` has the named nodes.
    """

    def __init__(
        self,
        context: ClientContext,
        name: tuple[str, int, bool],
        key: StreamKey,
        timeout: float,
        outbox: Outbox | None = None,
        wanted: Wanted = ANY_NODE,
    ) -> None:
        self.context = context
        self._place, self._node = (b"", 0), ("", "")  # uuid and boot, name and site of the last node
        self.is_over: bool = False  # closed for good
        self.stream: bytes = key.id
        self.line: NodeConnection = NodeConnection(
            context, name, key, self._welcomed, self._objected, self._waiting, wanted.names
        )
        self.features: NodeFeatures = NodeFeatures(self.line)
        outbox = outbox or Outbox(4 << 20, 1024)
        self.sender: EnvelopeSender = EnvelopeSender(context, self.line, outbox)
        self.publisher: Publisher = Publisher(
            context, key.id, outbox, self.sender.send_envelope, self._refused_later
        )
        self.calls: Calls = Calls(context, self.line, timeout)
        self.subscriptions: Subscriptions = Subscriptions(context, self.line, self.calls)
        self.requests: Requests = Requests(context)
        self.services: ClientServices = ClientServices(context, self.line, self.calls, key.id)
        self.queues: Takings = Takings(context, self.line, self.calls)
        self.watches: Watches = Watches(self.line)
        self.subscriptions.others = self._other_item
        self.visits: ClientVisits = ClientVisits(self.calls, key, self.subscriptions.received)
        self.commits: ClientCommits = ClientCommits(
            context, self.publisher, self.sender, self.calls, self.visits, self.queues.return_all
        )
        self.departing: Departing = Departing(
            context, self.line, self.sender, outbox, self._has_work, self.subscriptions.send_ack
        )
        self.returning: Returning = Returning(
            context, self.line, self.calls, wanted.fail_back, self._is_idle, self.departing.begin
        )

    # --- events from the shell ----------------------------------------------------------------------------

    def found(self, now: float, access: Access) -> None:
        self.context.set_time(now)
        self.line.found(access)

    def not_found(self, now: float, error: MeshError) -> None:
        self.context.set_time(now)
        self.line.not_found(error)

    def on_browsed(self, now: float, nodes: Sequence[KnownNode]) -> None:
        self.context.set_time(now)
        self.line.choice.on_browsed(nodes)

    def received(self, now: float, key: int, command: c.Command, envelopes: list[Envelope]) -> None:
        self.context.set_time(now)
        line = self.line
        if not line.hears(key):
            return
        try:
            if type(command) in OURS:  # about one command in a hundred
                if not (isinstance(command, c.Bye) and self.departing.on_bye(command)):
                    line.heed(command)
            elif line.is_up:
                self._handle_command(command, envelopes)
        except RemoteError as error:
            line.lose(str(error))

    def on_piece(self, now: float, key: int) -> None:
        """Record that a message without a complete command arrived, such as a piece of a long one."""
        self.context.set_time(now)
        if self.line.hears(key):
            self.line.moved = now

    def on_disconnected(self, now: float, key: int, why: str = "the connection was lost") -> None:
        self.context.set_time(now)
        if key == self.line.key:
            self.line.lose(why)

    def on_failed(self, now: float, key: int, error: Refused) -> None:
        """Record why a connection could not be established."""
        self.context.set_time(now)
        if key == self.line.key:
            self.line.on_failed(error)

    def tick(self, now: float) -> list[ClientEffect]:
        return self.context.tick(now)

    @property
    def due(self) -> float:
        """The latest time of the next tick, in s; inf if none is needed."""
        return self.context.due

    def close(self, why: MeshError | None = None) -> None:
        """Close the client for good. All waiting calls fail with `why`, or Closed."""
        if self.is_over:
            return
        self.is_over = True
        self.returning.cancel()
        self.departing.cancel()
        self.subscriptions.send_ack()
        gone = why or Closed("The client is closed.")
        for served in (self.services, self.queues, self.watches):
            served.end_all(gone)
        self.requests.close(gone)
        self.commits.close(gone)
        self.publisher.fail_all(gone)
        self.subscriptions.end_all(gone)
        self.calls.close(gone)
        self.context.do(Report("closed", "" if why is None else why.what))
        self.line.close()

    # --- commands of the node -----------------------------------------------------------------------------

    def _welcomed(self, welcome: c.Welcome, is_new: bool) -> None:
        """Send everything that the node may not know, after each connect."""
        self.departing.cancel()
        self.publisher.accumulator.adopt_limits(welcome.max_content, welcome.window)
        self._came_to(welcome, is_new)
        self._move_session(welcome)
        self.commits.on_welcome(welcome.transaction_bytes)
        self.subscriptions.resubscribe(is_new, welcome.window, self.visits.is_moving)
        self.watches.rewatch_all()
        self.commits.resend_all()
        self.queues.end_epochs()
        self.calls.resend_all()  # after the publishes, which an erase must not overtake
        self.services.reopen_all()  # pending registrations were just sent again
        self.queues.reopen_all()
        self.returning.on_welcome()
        self.context.do(Report("connected", self.line.name))

    def _move_session(self, welcome: c.Welcome) -> None:
        """Take the session along to another node of its site; in another site, begin anew."""
        line, site = self.line, self.line.handshake.site
        resumed = self.visits.on_welcome(welcome.node, welcome.session, line.words, site)
        line.handshake.record_visit(self.visits.attach)
        was, self._node = self._node, (line.home, site)
        if was[1] != site:
            self.queues.lose_messages(f"The client is at {line.name} now, in another site.")
        if was[0] and was != self._node:
            where = f" in the site {site}" if site else ""
            how = "the session was resumed" if resumed else "the subscriptions began anew"
            self.context.do(Report("session_moved", f"from {was[0]} to {line.home}{where}: {how}", resumed))

    def _came_to(self, welcome: c.Welcome, is_new: bool) -> None:
        """Fail the requests that the node may have lost, and everything that it does not support.

        Accepted requests are lost if this is another node, process or session.
        """
        place = (welcome.node.uuid, welcome.node.boot)
        if is_new or place != self._place:
            was, self._place = self._place, place
            if was[0]:
                self.sender.on_moved()
            is_final = self.publisher.outbox.is_final
            self.requests.fail_lost([n for n in self.requests.numbers() if is_final(SENDS, n)])
        elif not self.line.inlet.have:
            # The node may have forgotten this session meanwhile, without notice.
            self.sender.on_moved()
        for e, error in self.features.unsupported_envelopes(self.commits.plain()):
            self._on_answer(c.Answer(e.domain, e.first, e.last, error.code, text=error.what))
        if self.features.lacks(SERVICES):
            self.services.end_all(unsupported("addresses"))
            self.watches.end_all(unsupported("addresses"))
        if self.features.lacks(QUEUES):
            self.queues.end_all(unsupported("queues"))

    def member(self, group: str, queries: Sequence[c.Query], credit: int) -> GroupMember:
        """Return a group member; `credit` is its limit of unconsumed messages per query. Raises: BadName."""
        names = [group_name(group, query.domain, query.text) for query in queries]
        number, make = self.subscriptions.next_number, self.services.new_service
        return GroupMember([make(number(), name, credit, False) for name in names])

    def _handle_command(self, command: c.Command, envelopes: list[Envelope]) -> None:
        match command:
            case c.Items():
                self.subscriptions.items(command, envelopes)
            case c.Answers():
                for answer in command.answers:
                    self.publisher.on_answer(answer)
                    if answer.domain == SENDS:
                        self.requests.on_answer(answer)
                if self.sender.caution.is_on:
                    self.sender.send_next()
            case c.Reply():
                self.calls.on_reply(command, envelopes)
            case c.Serving():
                self.watches.serving(command)
            case c.Ended():
                if not (self.services.on_ended(command) or self.queues.on_ended(command)):
                    self.subscriptions.on_ended(command)
            case c.Pong() | c.Unknown():
                pass
            case c.Ping():  # checks whether the session is in use
                self.line.send_command(c.Pong(command.stamp))
            case _:
                raise RemoteError(f"the node sent {type(command).__name__}, which clients do not accept")

    def _on_answer(self, answer: c.Answer) -> None:
        self.publisher.on_answer(answer)
        if answer.domain == SENDS:
            self.requests.on_answer(answer)

    def _other_item(
        self, number: int, head: c.ItemHead, envelope: Envelope, indices: tuple[int, ...] | None
    ) -> None:
        if number == REPLIES:
            self._are_had(self.requests.on_replies(envelope, indices))
        elif not self.queues.on_item(number, head, envelope, indices):
            self.services.on_item(number, head, envelope, indices)

    def _are_had(self, numbers: list[int]) -> None:
        """Count requests with a reply as accepted, since the node need not confirm them."""
        if not self.publisher.outbox.unanswered:
            return
        for first, last in runs(numbers):
            self.publisher.on_answer(c.Answer(SENDS, first, last, matched=1))
        if self.sender.caution.is_on:
            self.sender.send_next()

    def _objected(self, refusal: c.Refuse) -> None:
        """Refuse the envelope or transaction that makes the node hang up, once it is known."""
        bad = self.sender.caution.on_hang_up() if refusal.code in UNREADABLE else None
        text = f"{self.line.home} closed the connection twice because of this message: {refusal.reason}"
        if isinstance(bad, Envelope):
            self._on_answer(c.Answer(bad.domain, bad.first, bad.last, refusal.code, text=text))
        elif bad is not None:
            self.commits.refuse(bad, refusal.code, text)

    def _waiting(self) -> str:
        """Return a text that counts the messages, calls, subscriptions and other work, or "" for none."""
        counts = {
            "consumer": len(self.queues),
            "message": self.publisher.unanswered,
            "question": self.calls.count,
            "request": len(self.requests),
            "service": len(self.services),
            "subscription": self.subscriptions.count,
            "transaction": len(self.commits),
        }
        return ", ".join(f"{n:,} {what}{'s' * (n > 1)}" for what, n in counts.items() if n)

    def _is_idle(self) -> bool:
        """Return whether no message or call is unanswered, and no delivery unsettled."""
        is_busy = self.publisher.unanswered or len(self.requests) or self.visits.is_moving
        return not (is_busy or self._has_work(0))

    def _has_work(self, number: int) -> bool:
        """Return whether a call or delivery is open, or a request with a lower number than `number`."""
        is_asking = not self.calls.is_idle or any(each < number for each in self.requests.numbers())
        return bool(self.commits) or is_asking or not (self.queues.is_idle and self.services.is_idle)

    def _refused_later(self, message: str, error: PublishRefused) -> None:
        self.context.do(Report("refused-later", f"{message}: {error}"))
