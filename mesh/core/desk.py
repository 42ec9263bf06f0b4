"""What all parts of a core share: settings, the time of the event at hand, and where effects go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from mesh.core.accounts import Accounts
from mesh.core.believed import TRUST, Believed
from mesh.core.conn import Conn
from mesh.core.effects import Effect, HangUp, Note, Send
from mesh.core.events import Events
from mesh.core.settings import Settings
from mesh.core.tally import Tally
from mesh.values import Hop
from mesh.wire.commands import Command, Introduction
from mesh.wire.envelope import Envelope
from mesh.wire.frames import write

if TYPE_CHECKING:
    from mesh.core.outlet import Outlet
    from mesh.core.peer import Peer
    from mesh.core.session import Session
    from mesh.routing.feed import Feed
    from mesh.routing.portion import Portion


class Desk:
    """`ids(n)` gives n random bytes, `jitter()` a number from [0, 1): chance comes in by the door."""

    def __init__(self, settings: Settings, ids: Callable[[int], bytes], jitter: Callable[[], float]) -> None:
        self.settings = settings
        self.me = settings.me
        self.ids = ids
        self.jitter = jitter
        self.now = 0.0
        self.wall = 0  # ns since 1970 at `now`,
        self.believed = 0  # and by the clock by which messages expire
        self._believed = Believed()
        self.effects: list[Effect] = []
        self.outlets: dict[Outlet, None] = {}  # have something to send
        self.answering: dict[Session, None] = {}
        self.acking: dict[Peer, None] = {}
        self.replying: dict[Peer, None] = {}
        self.counters: dict[str, int] = {}
        self.events = Events()
        self.tally = Tally()
        self.accounts = Accounts()
        # Set by the node: who else wants to know of events.
        self.told: Callable[[str, str, Introduction | None], None] = lambda kind, text, who: None
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

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def send(self, conn: Conn | None, command: Command, envelopes: Iterable[Envelope] = ()) -> None:
        """Put a command on a connection, if it is there."""
        if conn is not None and not conn.closed:
            self.emit(Send(conn.key, write(command, envelopes)))

    def push(self, outlet: Outlet, feed: Feed, portion: Portion) -> None:
        """Put a portion into an outlet; it leaves with the effects of this event."""
        outlet.push(feed, portion)
        self.outlets[outlet] = None

    def raw(self, conn: Conn, frames: list[bytes]) -> None:
        if not conn.closed:
            self.emit(Send(conn.key, frames))

    def hang_up(self, conn: Conn) -> None:
        if not conn.closed:
            conn.closed = True
            self.emit(HangUp(conn.key))

    def note(self, level: str, text: str) -> None:
        self.emit(Note(level, text))

    def event(self, kind: str, text: str, who: Introduction | None = None, level: str = "info") -> None:
        """Something happened that people may want to read about later."""
        name, uuid, boot = (who.name, who.uuid, who.boot) if who is not None else ("", b"", 0)
        self.events.add(kind, text, self.wall, name, uuid, boot)
        self.told(kind, text, who)
        self.note(level, f"{kind}: {text}")

    def count(self, what: str, n: int = 1) -> None:
        """A metric that only grows."""
        self.counters[what] = self.counters.get(what, 0) + n

    def wake(self, at: float | None) -> None:
        """Something falls due then."""
        if at is not None:
            self.alarm = min(self.alarm, at)

    def stamp(self) -> int:
        """The hybrid clock: wall time, but never the same twice and never backwards."""
        self._stamp = max(self.wall, self._stamp + 1)
        return self._stamp

    def stamped(self, stamp: int) -> None:
        """An earlier boot of this node has come so far, whatever the wall clock says today."""
        self._stamp = max(self._stamp, stamp)

    def heard_stamp(self, stamp: int) -> None:
        """What happens after hearing a message is stamped later than the message, within reason."""
        if stamp < self.wall + 60_000_000_000:  # a clock an hour ahead must not drag ours along
            self._stamp = max(self._stamp, stamp)

    def hop(self, stratum: int) -> Hop:
        return Hop(self.me.name, stratum, self.believed)
