"""The context that all components of a core share: settings, the current time, effects and counters."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mesh.core.context.accounts import Accounts
from mesh.core.context.conn import Conn
from mesh.core.context.dispatch_tables import DispatchTables
from mesh.core.context.effects import Effect, HangUp, LogLine, Send
from mesh.core.context.events import Events
from mesh.core.context.facts import ConnEnded, EventOccurred, Fact, ProtocolBroken
from mesh.core.context.leap_free_clock import TRUST, LeapFreeClock
from mesh.core.context.repeats import Repeats
from mesh.core.context.settings import Settings
from mesh.core.context.tally import Tally
from mesh.core.context.turnedaway import RefusedClients
from mesh.errors import LocalError, MeshError
from mesh.hops import inside, is_foreign
from mesh.loglevels import ACCESS, EVENTS, NODE
from mesh.printable import harmless
from mesh.reasons.undelivered import Undelivered
from mesh.values import Hop
from mesh.wire.commands import Command, Introduction, Refuse, Reply
from mesh.wire.envelope import Envelope
from mesh.wire.frames import write
from mesh.wire.pieces import FEW, SHORT

if TYPE_CHECKING:
    from mesh.core.context.outlet import Keyed, Outlet
    from mesh.routing.envelope_slice import EnvelopeSlice
    from mesh.routing.feed import Lost

PROCESS = 16  # bytes


AHEAD = 60_000_000_000  # ns that a timestamp of another node may be ahead of our clock


def is_followed(stamp: int, wall: int) -> bool:
    """Return whether the hybrid clock follows that timestamp of another node.

    A message with a timestamp too far ahead must not become a retained value: no message of this node would
    replace it until the clock has caught up.
    """
    return stamp < wall + AHEAD


COUNTERS = (
    "published", "refused", "repeated", "unrouted", "relayed", "malformed", "not_open", "hello_refused",
    "wrong_cookie", "too_many_hops", "connections", "forwarded", "forward_warnings", "expired", "dead",
    "forged", "unasked", "unknown_commands", "unknown_kinds", "not_understood", "malformed_gossip", "adverts",
    "adverts_rejected", "slow_consumers", "met_itself", "late_replies", "settled_late", "group_dropped",
    "durable_lost", "durable_dropped", "confirmed", "confirmed_bytes",
)  # fmt: skip


class NodeContext:
    """The context that all components of a core share.

    `ids(n)` returns n random bytes, `jitter()` a number from [0, 1); they are the only sources of randomness.
    """

    def __init__(self, settings: Settings, ids: Callable[[int], bytes], jitter: Callable[[], float]) -> None:
        self.settings = settings
        self.me = settings.me
        self.process = ids(PROCESS)  # differs from other processes of our identity
        self.ids = ids
        self.jitter = jitter
        self.now = 0.0
        self.wall = 0  # ns since 1970, at `now`
        self.believed = 0  # ns since 1970, by the clock for expiry
        self._believed = LeapFreeClock()
        self.effects: list[Effect] = []
        self.outlets: dict[Outlet, None] = {}  # with something to send
        self.ending: dict[Callable[[], None], None] = {}  # to be called at the event's end
        self.counters: dict[str, int] = {}
        self.events = Events()
        self.refused_clients = RefusedClients()
        self.refusals = Repeats()  # also of strangers that send no HELLO
        self.tally = Tally()
        self.accounts = Accounts()
        self.undelivered = Undelivered()
        self.facts: deque[Fact] = deque()  # recorded, but not handled yet
        self.last_facts: set[type[Fact]] = set()  # kinds in `facts` by say_last
        self.watched = False  # whether traces are recorded; set by their users
        self.face = DispatchTables()
        self.serves = False  # our store is the newest, see Recall
        self.denied: frozenset[str] = frozenset()  # names of nodes that must not be linked
        self.near: list[tuple[str, str]] = []  # (name, address) of nodes with other keys, unproven
        self.alarm = 0.0  # when tick() is next worth calling
        self.is_doubled = False  # another process has our identity
        self._stamp = 0

    def at(self, now: float, wall: int) -> None:
        """Set the time of the event that is handled now."""
        self.now, self.wall = now, wall
        self.believed = self._believed.at(now, wall)
        if self._believed.leapt:
            leap, minutes = f"{self._believed.leapt / 1e9:+,.0f} s", round(TRUST / 60)
            text = f"system clock jumped by {leap}; expiry is suspended for {minutes} minutes"
            self.event("clock", text, level="warning")

    def denies(self, node: str) -> str:
        """Return the name of `node` or of this node, whichever must not be linked; "" if both may."""
        if not self.denied:  # as a rule
            return ""
        return next((name for name in (node, self.me.name) if name in self.denied), "")

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def publish_fact(self, fact: Fact) -> None:
        """Record a fact for the components above."""
        self.facts.append(fact)

    def say_last(self, fact: Fact) -> None:
        """Record a fact once, behind all facts that are recorded before it is handled.

        Further facts of this kind cost nothing until then.
        """
        if type(fact) not in self.last_facts:
            self.last_facts.add(type(fact))
            self.facts.append(fact)

    def send(self, conn: Conn | None, command: Command, envelopes: Sequence[Envelope] = ()) -> None:
        """Send a command on an open connection, if the other end has the feature that the command needs.

        Nothing is sent if `conn` is `None` or closed.
        """
        if conn is not None and not conn.closed and (not command.word or command.word in conn.speaks):
            frames = write(command, envelopes)
            if not envelopes and (conn.cutter is None or not conn.cutter.is_busy):
                self.effects.append(Send(conn.key, frames))
            else:
                self.raw(conn, frames)

    def reply_to(self, conn: Conn, request: int, work: Callable[[], None]) -> None:
        """Call `work` for a request, and reply with the error if it raises LocalError."""
        try:
            work()
        except LocalError as error:
            self.send(conn, Reply(request, code=error.code, text=str(error)))

    def push(self, outlet: Outlet, feed: Keyed, portion: EnvelopeSlice) -> None:
        """Put a slice into an outlet, which is flushed at the end of the event."""
        outlet.push(feed, portion)
        self.outlets[outlet] = None

    def raw(self, conn: Conn, frames: list[bytes]) -> None:
        if conn.closed:
            return
        cutter = conn.cutter
        # Most messages are short and have none before them, so this check comes first.
        if cutter is None or (len(frames) <= FEW and len(frames[-1]) <= SHORT and not cutter.is_busy):
            self.effects.append(Send(conn.key, frames))
            return
        for message in cutter.send(frames):
            self.effects.append(Send(conn.key, message))

    def hang_up(self, conn: Conn) -> None:
        if not conn.closed:
            conn.close()
            self.emit(HangUp(conn.key))

    def end_connection(self, conn: Conn) -> None:
        """Close a connection, and report its end as a fact."""
        self.hang_up(conn)
        self.publish_fact(ConnEnded(conn))

    def broke_protocol(self, conn: Conn, who: str, node: Introduction | None, error: MeshError) -> None:
        """Refuse and close a connection on which an invalid command came."""
        self.count("malformed")
        if self.watched:
            self.publish_fact(ProtocolBroken(node, error.code))
        # A stranger is counted, but must not fill the log.
        level = "warning" if conn.is_open else "info"
        if conn.is_open or self.refusals.is_news(who, error.code, self.now):
            self.note(level, f"{who} broke the protocol; its connection is closed: {error}", ACCESS)
        self.send(conn, Refuse(error.code, error.what))
        self.end_connection(conn)

    def note(self, level: str, text: str, logger: str = NODE) -> None:
        self.emit(LogLine(level, text, logger))

    def event(self, kind: str, text: str, who: Introduction | None = None, level: str = "info") -> None:
        """Record an event for operators, and log it."""
        text = harmless(text)
        self.publish_fact(EventOccurred(kind, text, who, self.wall))
        self.note(level, f"{kind}: {text}", EVENTS)

    def count(self, what: str, n: int = 1) -> None:
        self.counters[what] = self.counters.get(what, 0) + n

    def loss_counter(self, who: str) -> Lost:
        """Return a function that counts messages that do not reach this receiver."""

        def lost(envelope: Envelope, why: str, n: int) -> None:
            self.undelivered.add(who, envelope.keys, envelope.domain, why, n, self.now)

        return lost

    def figures(self) -> dict[str, int | float]:
        """Return the metrics of this node: counters since its start, and current sizes."""
        return {
            **{name: self.counters.get(name, 0) for name in COUNTERS},
            **self.accounts.figures(self.face.feeds()),
            "undelivered": self.undelivered.total,
            **{f"balance_{what}": self.tally.total(what) for what in ("chosen", "asked", "answered")},
            **self.face.figures(),
        }

    def wake(self, at: float | None) -> None:
        """Schedule a call of `tick` at the time `at` or earlier; `None` schedules none."""
        if at is not None:
            self.alarm = min(self.alarm, at)

    @property
    def last_stamp(self) -> int:
        """A lower bound of the next timestamp, close to it."""
        return max(self.wall - 1, self._stamp)

    def stamp(self) -> int:
        """Return the next timestamp of the hybrid clock: wall time, but strictly increasing."""
        self._stamp = max(self.wall, self._stamp + 1)
        return self._stamp

    def stamped(self, stamp: int) -> None:
        """Continue after the timestamp that an earlier boot of this node reached."""
        self._stamp = max(self._stamp, stamp)

    def heard_stamp(self, stamp: int) -> None:
        """Make later timestamps of this node higher than a received one, unless it is too far ahead."""
        if is_followed(stamp, self.wall):  # else the other clock is wrong
            self._stamp = max(self._stamp, stamp)

    def observe_timestamp(self, envelope: Envelope) -> None:
        """Make later timestamps higher than that of a received envelope.

        An envelope of another site counts with the time at which it entered this site, so that gateways see
        which messages were published after it could be read.
        """
        self.heard_stamp(envelope.sent)
        if is_foreign(envelope.sender):
            self.heard_stamp(max((hop.at for hop in inside(envelope.route)), default=0))

    def hop(self, stratum: int) -> Hop:
        return Hop(self.me.name, stratum, self.believed)
