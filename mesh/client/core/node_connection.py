"""A client's connection to its node, which may be lost and restored while the session stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.client.access import Access
from mesh.client.core.absence import Absence, missing, unanswered
from mesh.client.core.client_context import ClientContext, Promise, Timer
from mesh.client.core.client_handshake import ClientHandshake
from mesh.client.core.effects import Browse, CloseConnection, DialNode, Find, Report, SendCommand
from mesh.client.core.framing import SPEAKS
from mesh.client.core.node_choice import NodeChoice
from mesh.client.core.saved_nodes import NodeSaving
from mesh.client.core.standstill import Standstill
from mesh.client.operating import marks
from mesh.errors import Closed, MeshError, NodeNotFound, Refused, RemoteError, SlowConsumer
from mesh.links.backoff import delay
from mesh.security.streamkey import StreamKey
from mesh.streams.link import LinkReceiver
from mesh.wire import commands as c
from mesh.wire.connection import DRAINING
from mesh.wire.envelope import Envelope
from mesh.wire.spoken import agreed, in_common

PING = 2.0  # s between signs of life
SILENCE = 6.0  # s after which a silent connection is lost
PATIENCE = 5.0  # s for a handshake
LATE = 1.0  # s of delay that indicate a blocked loop
STEADY = 10.0  # s after which a connection counts as stable
REDIAL_MAX = 2.0  # s between attempts, at most
SILENT = f"no sign of life for {SILENCE:g} s"  # reason of a lost connection
ENDS = {"stopping": "the node stops", "replaced": "another connection replaces this one"}  # by reason of BYE
NO_BYE = c.Bye()
OURS = frozenset((c.Welcome, c.Challenge, c.Refuse, c.Who, c.Bye))  # commands about the connection
AT_ONCE = ("NO_KEYS", "NO_KEYS_THERE")  # errors that no second attempt will fix


class NodeConnection:
    """A client's connection to its node; the client dials again after each loss.

    Commands that do not concern the connection are handled by its owner. `welcomed(welcome, is_new_session)`
    is called when the connection is up, and `objected` when the node closes a working connection with a
    refusal other than SLOW_CONSUMER. `waiting` returns a text that counts the waiting calls and messages, or
    "". `names` are the nodes that the user named, if there are several.
    """

    is_up: bool
    is_closed: bool

    def __init__(
        self,
        context: ClientContext,
        name: tuple[str, int, bool],
        stream: StreamKey,
        welcomed: Callable[[c.Welcome, bool], None],
        objected: Callable[[c.Refuse], None],
        waiting: Callable[[], str] = str,
        names: Sequence[str] = (),
    ) -> None:
        self.name: str = ""  # of the session
        self.home: str = ""  # of the node
        self.words: frozenset[str] = frozenset()  # features of both sides
        self.is_up = self.is_closed = False
        self.inlet: LinkReceiver = LinkReceiver()
        self.moved: float = float("-inf")  # time of the last piece of a long message
        self.key: int = 0  # the connection in use; 0: none
        self.why: MeshError | None = None  # what prevented the last dial or handshake
        self.address: str = ""
        self.standstill: Standstill = Standstill()
        self._context = context
        self.handshake: ClientHandshake = ClientHandshake(name, stream, len(names) > 1)
        self.choice: NodeChoice = NodeChoice(
            names, stream.id, context.chance, self.handshake.may_visit, follows=not marks()
        )
        self._saving = NodeSaving(context, self.choice, is_at_once=bool(names))
        self._welcomed, self._objected, self._waiting = welcomed, objected, waiting
        self._strikes = 0  # hang-ups over this client in quick succession
        self._entered = self._heard = 0.0
        self._dials = self._attempt = 0
        self._waits = False
        self._is_answered = False  # a command has arrived
        self._is_reported = False  # the failure of this dial was recorded
        self._patience = PATIENCE
        self._timer = Timer(context)  # for the next attempt, or the next sign of life
        self._absence = Absence(context, self._missing)
        self._first: Promise | None = None  # resolves after the first WELCOME

    @property
    def cluster(self) -> str:
        """The mesh whose keys the client uses; "" without keys."""
        return self.handshake.access.cluster

    def connect(self, waits: bool) -> Promise:
        """Connect; the promise resolves after the first WELCOME.

        The promise fails if keys are missing or unusable, if a node refuses for good, or if no node is found,
        unless the client `waits` for that node. Other failures are retried. A closed connection may be opened
        again.
        """
        self.is_closed, self._waits = False, waits
        self.why, self._attempt = None, 0
        self._first = self._context.promise()
        self._absence.start_reports(self._context.now)
        place = self.choice.begin(self._context.now).place
        self._context.do(Find(place.text, place.site))
        return self._first

    def failure(self) -> MeshError | None:
        """Return why no node accepts the client; `None` if the only node that was dialed did not answer."""
        return self.choice.summary() or self.why

    def send_command(self, command: c.Command, envelopes: tuple[Envelope, ...] = ()) -> bool:
        """Send a command; return False without a connection.

        The owner sends important commands again after the next WELCOME.
        """
        if self.is_up:
            self._context.do(SendCommand(self.key, command, envelopes))
        return self.is_up

    def close(self, reason: str = "done") -> None:
        """Close for good. With the reason MOVING, a later client with the same key resumes the session."""
        if self.key:
            # Sent even while HELLO is unanswered, because otherwise the node would keep the session.
            self._context.do(SendCommand(self.key, c.Bye(reason)))
            self._context.do(CloseConnection(self.key))
        self.key, self.is_closed, self.is_up = 0, True, False
        self._timer.cancel()
        self._absence.cancel()
        self._saving.cancel()
        self._break(Closed("The client is closed."))

    def return_to_preferred(self) -> None:
        """Leave the node for the first node that the user named, and take the session along."""
        self.lose(f"returns to {self.choice.preferred}")
        self.choice.prefer_first()
        self._search_again()

    # --- dialing --------------------------------------------------------------------------------------

    def found(self, access: Access) -> None:
        if self.is_closed or self.key:
            return
        if isinstance(self.why, NodeNotFound):
            self.why = None  # the node is running now
        self.address = access.address
        self._dials += 1
        self.key = self._dials
        self._heard = self._context.now
        self._is_answered = self._is_reported = False
        self.choice.dialed(access.address)
        self._patience = self.choice.patience(PATIENCE)
        is_visit, site = self.choice.is_visit, self.choice.last.site
        self.handshake.begin_handshake(access, self._context.dice(16), is_visit, site)
        self._context.do(DialNode(self.key, access))
        self._context.do(SendCommand(self.key, self.handshake.hello(self.inlet.have)))
        self._watch(self._patience)

    def not_found(self, error: MeshError) -> None:
        """Handle a missing node, or missing keys for it, and search again later."""
        if self.is_closed:
            return
        if is_temporary := self._waits and error.code == NodeNotFound.code:
            self.why = error
        self._fail(error, not is_temporary)
        self._search_again()

    def _fail(self, error: MeshError, is_final: bool = False) -> None:
        """Record why a place did not accept the client. If no other place can, `connect` fails."""
        self._is_reported = True
        self.choice.on_failed(error, is_final)
        if self.choice.begin_browsing(self._context.now):
            self._context.do(Browse())
        if is_final and self.choice.is_over(error.code):
            self._break(self.choice.summary() or error)

    def _break(self, error: MeshError) -> None:
        if self._first is not None and not self._first.done():
            self._first.set_exception(error)

    def _search_again(self) -> None:
        self._attempt += 1
        wait = delay(max(self._attempt, self._strikes), self._context.chance(), low=0.05, high=REDIAL_MAX)
        step = self.choice.next_step(self._context.now, wait)
        self._timer.schedule(step.wait, lambda: self._context.do(Find(step.place.text, step.place.site)))

    def _watch(self, seconds: float) -> None:
        self._timer.schedule(seconds, self._time)

    def _time(self) -> None:
        """Drop a connection that has been silent for too long; otherwise send a ping."""
        limit = SILENCE if self.is_up else self._patience - 0.1
        if self._context.now - self._timer.due > LATE:
            # This event loop was blocked and read nothing, so the node gets time until the next check.
            self._heard = max(self._heard, self._context.now - limit)
            self._note_standstill()
        if self._context.now - self._heard > limit:
            self.why = None  # earlier reasons are out of date
            self.lose(SILENT)
            return
        self.send_command(c.Ping(int(self._context.now * 1e6)))
        self._watch(PING)

    def _note_standstill(self) -> None:
        if line := self.standstill.rang(self._timer.due, self._context.now):
            self._context.do(Report("blocked", line))

    def on_failed(self, error: Refused) -> None:
        """Report a failed ZeroMQ handshake. Only missing keys are final; other errors may be temporary."""
        self.why = error
        self._fail(error, error.code in AT_ONCE)
        self._context.do(Report("refused", f"{error.what} [{error.code}]"))

    def lose(self, why: str, bye: c.Bye = NO_BYE) -> None:
        """Close the connection, if there is one, and search for a node again."""
        if not self.key:
            return
        was_up, self.is_up = self.is_up, False
        if was_up:
            self._note_standstill()
        key, self.key = self.key, 0
        self._context.do(CloseConnection(key))
        error = unanswered(self.address, is_silent=why == SILENT)
        if not (self._is_answered or why == SILENT):
            self.why = self.why or error
        if not (was_up or self._is_reported):
            self._fail(error)
        if was_up:
            self._attempt = 0
            self._saving.cancel()
            self.choice.on_lost(self._context.now, bye.reason == DRAINING, bye.forward)
            if self._context.now - self._entered > STEADY:
                self._strikes = 0
            self._context.do(Report("disconnected", f"{self.home}: {why}"))
            self._absence.start_reports(self._heard)
        self._search_again()

    def _missing(self) -> str:
        is_first = self._first is not None and not self._first.done()
        waiting = ("connect()" if self._waits else "") if is_first else self._waiting()
        return missing(self.home or self.address, self.why, waiting)

    # --- receiving --------------------------------------------------------------------------------------

    def hears(self, key: int) -> bool:
        """Return whether the connection is the one in use; if so, record a sign of life."""
        if key != self.key or not key:
            return False
        self._heard, self._is_answered = self._context.now, True
        return True

    def heed(self, command: c.Command) -> None:
        """Handle a command about the connection. Raises: RemoteError for a command at the wrong time."""
        match command:
            case c.Welcome() if not self.is_up:
                self._enter(command)
            case c.Challenge() if not self.is_up:
                self._context.do(SendCommand(self.key, self.handshake.prove(command, self.inlet.have)))
            case c.Refuse():
                self._on_refused(command, f"{self.address} refused")
            case c.Who():
                self.lose("the node does not know this connection")
            case c.Bye():
                self.lose(ENDS.get(command.reason, "the node closed the connection"), command)
            case _:
                raise RemoteError(
                    f"the node sent {type(command).__name__}, which connected clients do not accept"
                )

    def _enter(self, w: c.Welcome) -> None:
        if (refusal := self.handshake.check_welcome(w) or self.choice.check_key(w.node)) is not None:
            self._on_refused(refusal, f"This client refused {self.address}")
            return
        is_new = self.handshake.adopt_session(w) or w.next <= self.inlet.have
        if is_new:
            self.inlet = LinkReceiver()
        self.name, self.home = w.session, w.node.name
        self.words = in_common(agreed(w.version, w.version), w.speaks, SPEAKS)
        self.is_up = True
        self._attempt, self._entered, self.why = 0, self._context.now, None
        self._absence.cancel()
        self.choice.on_welcome(self._context.now, w)
        if not self.handshake.site:
            self._saving.on_welcome(w, self.address)
        self._watch(PING)
        self._welcomed(w, is_new)
        if self._first is not None and not self._first.done():
            self._first.set_result(None)

    def _on_refused(self, r: c.Refuse, what: str) -> None:
        self.why = Refused(f"{what}: {r.reason}.", hint=r.hint, code=r.code)
        if not self.is_up:
            self.choice.on_refused(self._context.now, r)
            self._fail(self.why, r.final)
        self._context.do(Report("refused", f"{r.reason} [{r.code}]"))
        if self.is_up and r.code != SlowConsumer.code:
            self._strikes += 1
            self._objected(r)
        self.lose(r.reason)
