"""What all parts of a core share: settings, the time of the event at hand, and where effects go."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mesh.core.desk.accounts import Accounts
from mesh.core.desk.believed import TRUST, Believed
from mesh.core.desk.conn import Conn
from mesh.core.desk.effects import Effect, HangUp, Note, Send
from mesh.core.desk.events import Events
from mesh.core.desk.face import Face
from mesh.core.desk.facts import ConnEnded, Fact, Happened, ProtocolBroken
from mesh.core.desk.repeats import Repeats
from mesh.core.desk.settings import Settings
from mesh.core.desk.tally import Tally
from mesh.core.desk.turnedaway import RefusedClients
from mesh.errors import LocalError, MeshError
from mesh.loglevels import ACCESS, EVENTS, NODE
from mesh.printable import harmless
from mesh.reasons.undelivered import Undelivered
from mesh.sites.hops import inside, is_foreign
from mesh.values import Hop
from mesh.wire.commands import Command, Introduction, Refuse, Reply
from mesh.wire.envelope import Envelope
from mesh.wire.frames import write
from mesh.wire.pieces import FEW, SHORT

if TYPE_CHECKING:
    from mesh.core.desk.outlet import Keyed, Outlet
    from mesh.routing.feed import Lost
    from mesh.routing.portion import Portion

PROCESS = 16  # bytes


AHEAD = 60_000_000_000  # ns that a timestamp of another node may be ahead of our clock


def is_followed(stamp: int, wall: int) -> bool:
    """Return whether the hybrid clock follows that timestamp. What it does not follow must not become a last
    value: none of this node would replace it until our clock gets there.
    """
    return stamp < wall + AHEAD


COUNTERS = (
    "published", "refused", "repeated", "unrouted", "relayed", "malformed", "not_open", "hello_refused",
    "wrong_cookie", "too_many_hops", "connections", "forwarded", "forward_warnings", "expired", "dead",
    "forged", "unasked", "unknown_commands", "unknown_kinds", "not_understood", "malformed_gossip", "adverts",
    "adverts_rejected", "slow_consumers", "met_itself", "late_replies", "settled_late", "group_dropped",
    "durable_lost", "durable_dropped", "confirmed", "confirmed_bytes",
)  # fmt: skip


class Desk:
    """The shared desk. `ids(n)` gives n random bytes, `jitter()` a number from [0, 1): chance comes in so."""

    def __init__(self, settings: Settings, ids: Callable[[int], bytes], jitter: Callable[[], float]) -> None:
        self.settings = settings
        self.me = settings.me
        self.process = ids(PROCESS)  # its bytes, which another process of our identity has otherwise
        self.ids = ids
        self.jitter = jitter
        self.now = 0.0
        self.wall = 0  # ns since 1970 at `now`,
        self.believed = 0  # and by the clock by which messages expire
        self._believed = Believed()
        self.effects: list[Effect] = []
        self.outlets: dict[Outlet, None] = {}  # have something to send
        self.ending: dict[Callable[[], None], None] = {}  # is to be done when this event is over
        self.counters: dict[str, int] = {}
        self.events = Events()
        self.refused_clients = RefusedClients()
        self.refusals = Repeats()  # and what strangers say that is no HELLO
        self.tally = Tally()
        self.accounts = Accounts()
        self.undelivered = Undelivered()
        self.facts: deque[Fact] = deque()  # said, and not heard yet
        self.last_facts: set[type[Fact]] = set()  # kinds of which one waits there for all others
        self.watched = False  # does anybody want to hear traces? Whoever does says so here
        self.face = Face()
        self.serves = False  # it is known that our store is the newest: see Recall
        self.denied: frozenset[str] = frozenset()  # names of nodes that nobody may be linked with
        self.near: list[tuple[str, str]] = []  # (name, address) of nodes with other keys; nothing is proven
        self.alarm = 0.0  # when tick() is next worth calling
        self.is_doubled = False  # another process lives under our identity
        self._stamp = 0

    def at(self, now: float, wall: int) -> None:
        """An event happens."""
        self.now, self.wall = now, wall
        self.believed = self._believed.at(now, wall)
        if self._believed.leapt:
            leap, minutes = f"{self._believed.leapt / 1e9:+,.0f} s", round(TRUST / 60)
            text = f"the clock of this machine leapt by {leap}: for {minutes} minutes nothing expires by it"
            self.event("clock", text, level="warning")

    def denies(self, node: str) -> str:
        """Which of the two may nobody be linked with, that node or this one? "": neither."""
        if not self.denied:  # as a rule
            return ""
        return next((name for name in (node, self.me.name) if name in self.denied), "")

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def say(self, fact: Fact) -> None:
        """Something has happened that parts above may want to hear of."""
        self.facts.append(fact)

    def say_last(self, fact: Fact) -> None:
        """Once, behind all that is said before it is heard: so many may say it at no more cost."""
        if type(fact) not in self.last_facts:
            self.last_facts.add(type(fact))
            self.facts.append(fact)

    def send(self, conn: Conn | None, command: Command, envelopes: Sequence[Envelope] = ()) -> None:
        """Put a command on a connection, if it is there, and if the other end understands it."""
        if conn is not None and not conn.closed and (not command.word or command.word in conn.speaks):
            frames = write(command, envelopes)
            if not envelopes and (conn.cutter is None or not conn.cutter.is_busy):
                self.effects.append(Send(conn.key, frames))
            else:
                self.raw(conn, frames)

    def answer(self, conn: Conn, request: int, work: Callable[[], None]) -> None:
        """Do what was asked for on a connection; when it cannot be done, say there why."""
        try:
            work()
        except LocalError as error:
            self.send(conn, Reply(request, code=error.code, text=str(error)))

    def push(self, outlet: Outlet, feed: Keyed, portion: Portion) -> None:
        """Put a portion into an outlet; it leaves with the effects of this event."""
        outlet.push(feed, portion)
        self.outlets[outlet] = None

    def raw(self, conn: Conn, frames: list[bytes]) -> None:
        if conn.closed:
            return
        cutter = conn.cutter
        # As a rule it is short, and nothing is before it: that must be found at a glance.
        if cutter is None or (len(frames) <= FEW and len(frames[-1]) <= SHORT and not cutter.is_busy):
            self.effects.append(Send(conn.key, frames))
            return
        for message in cutter.send(frames):
            self.effects.append(Send(conn.key, message))

    def hang_up(self, conn: Conn) -> None:
        if not conn.closed:
            conn.close()
            self.emit(HangUp(conn.key))

    def end(self, conn: Conn) -> None:
        """Hang up, and let all know whose connection it was."""
        self.hang_up(conn)
        self.say(ConnEnded(conn))

    def broke_protocol(self, conn: Conn, who: str, node: Introduction | None, error: MeshError) -> None:
        """End a connection on which came what cannot be: whoever said it is told so, and it is over."""
        self.count("malformed")
        if self.watched:
            self.say(ProtocolBroken(node, error.code))
        # Who is not in yet could be anybody: he is counted, and fills no log.
        level = "warning" if conn.is_open else "info"
        if conn.is_open or self.refusals.is_news(who, error.code, self.now):
            self.note(level, f"{who} broke the protocol, its connection is closed: {error}", ACCESS)
        self.send(conn, Refuse(error.code, error.what))
        self.end(conn)

    def note(self, level: str, text: str, logger: str = NODE) -> None:
        self.emit(Note(level, text, logger))

    def event(self, kind: str, text: str, who: Introduction | None = None, level: str = "info") -> None:
        """Something happened that people may want to read about later."""
        text = harmless(text)
        self.say(Happened(kind, text, who, self.wall))
        self.note(level, f"{kind}: {text}", EVENTS)

    def count(self, what: str, n: int = 1) -> None:
        """A metric that only grows."""
        self.counters[what] = self.counters.get(what, 0) + n

    def losing(self, who: str) -> Lost:
        """Counts what does not reach this receiver."""

        def lost(envelope: Envelope, why: str, n: int) -> None:
            self.undelivered.add(who, envelope.keys, envelope.domain, why, n, self.now)

        return lost

    def figures(self) -> dict[str, int | float]:
        """The metrics of this node: counters since its start, and sizes now."""
        return {
            **{name: self.counters.get(name, 0) for name in COUNTERS},
            **self.accounts.figures(self.face.feeds()),
            "undelivered": self.undelivered.total,
            **{f"balance_{what}": self.tally.total(what) for what in ("chosen", "asked", "answered")},
            **self.face.figures(),
        }

    def wake(self, at: float | None) -> None:
        """Something falls due then."""
        if at is not None:
            self.alarm = min(self.alarm, at)

    @property
    def last_stamp(self) -> int:
        """The next stamp is higher than this, by little."""
        return max(self.wall - 1, self._stamp)

    def stamp(self) -> int:
        """The hybrid clock: wall time, but never the same twice and never backwards."""
        self._stamp = max(self.wall, self._stamp + 1)
        return self._stamp

    def stamped(self, stamp: int) -> None:
        """An earlier boot of this node has come so far, whatever the wall clock says today."""
        self._stamp = max(self._stamp, stamp)

    def heard_stamp(self, stamp: int) -> None:
        """Stamp what happens after hearing a message later than the message, within reason."""
        if is_followed(stamp, self.wall):  # a clock an hour ahead must not drag ours along
            self._stamp = max(self._stamp, stamp)

    def heard(self, envelope: Envelope) -> None:
        """Stamp what happens after hearing it later than it; of another site's, later than when it came into
        this one: so gateways see who may have read it before he published.
        """
        self.heard_stamp(envelope.sent)
        if is_foreign(envelope.sender):
            self.heard_stamp(max((hop.at for hop in inside(envelope.route)), default=0))

    def hop(self, stratum: int) -> Hop:
        return Hop(self.me.name, stratum, self.believed)
