"""The context that all components of a core share: settings, identity, clock, output, facts and counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from mesh.errors import MeshError
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.dispatch_tables import DispatchTables
from mesh.kernel.context.events import Events
from mesh.kernel.context.fact_queue import FactQueue
from mesh.kernel.context.facts import ConnEnded, EventOccurred, ProtocolBroken
from mesh.kernel.context.leap_free_clock import TRUST
from mesh.kernel.context.leaving import Leaving
from mesh.kernel.context.node_clock import NodeClock
from mesh.kernel.context.node_counters import NodeCounters
from mesh.kernel.context.node_output import NodeOutput
from mesh.kernel.context.repeats import Repeats
from mesh.kernel.context.settings import Settings
from mesh.kernel.context.turnedaway import RefusedClients
from mesh.loglevels import ACCESS, EVENTS
from mesh.printable import harmless
from mesh.routing.visits import Visits
from mesh.values import Hop
from mesh.wire.commands import Introduction, Refuse
from mesh.wire.envelope import Envelope
from mesh.wire.replies import ViewRow

PROCESS = 16  # bytes


class Reachability(NamedTuple):
    """Whether nodes of other machines can dial the advertised address of this node.

    `code` is "yes", "no", "partly", "local" (only this machine can) or "" (not checked).
    """

    code: str = ""
    text: str = "no linked node of another machine has dialed the address of this node yet"
    hint: str = ""


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
        self.clock = NodeClock(self._on_leap)
        self.out = NodeOutput()
        self.facts = FactQueue()
        self.counters = NodeCounters(self.clock)
        self.face = DispatchTables()
        self.events = Events()
        self.refused_clients = RefusedClients()
        self.refusals = Repeats()  # including those of strangers without a HELLO
        self.serves = False  # our store is the newest, see Recall
        self.denied: frozenset[str] = frozenset()  # names of nodes that must not be linked
        self.near: list[tuple[str, str]] = []  # (name, address) of nodes with other keys, unproven
        self.visits = Visits(settings.verify)
        self.is_doubled = False  # another process has our identity
        self.leaving = Leaving()
        self.reachable = Reachability()  # see features/dialback

    def _on_leap(self, leapt: int) -> None:
        leap, minutes = f"{leapt / 1e9:+,.0f} s", round(TRUST / 60)
        text = f"system clock jumped by {leap}; expiry is suspended for {minutes} minutes"
        self.event("clock", text, level="warning")

    def denies(self, node: str) -> str:
        """Return the name of `node` or of this node, whichever must not be linked; "" if both may."""
        if not self.denied:  # as a rule
            return ""
        return next((name for name in (node, self.me.name) if name in self.denied), "")

    def end_connection(self, conn: Conn) -> None:
        """Close a connection, and report its end as a fact."""
        self.out.hang_up(conn)
        self.facts.publish_fact(ConnEnded(conn))

    def broke_protocol(self, conn: Conn, who: str, node: Introduction | None, error: MeshError) -> None:
        """Refuse and close a connection on which an invalid command arrived."""
        self.counters.add_count("malformed")
        if self.facts.watched:
            self.facts.publish_fact(ProtocolBroken(node, error.code))
        # A stranger is counted, but must not fill the log.
        level = "warning" if conn.is_open else "info"
        if conn.is_open or self.refusals.is_news(who, error.code, self.clock.now):
            self.out.log_line(level, f"{who} broke the protocol; its connection is closed: {error}", ACCESS)
        self.out.send(conn, Refuse(error.code, error.what))
        self.end_connection(conn)

    def event(
        self,
        kind: str,
        text: str,
        who: Introduction | None = None,
        level: str = "info",
        view: ViewRow | None = None,
    ) -> None:
        """Record an event for operators, and log it."""
        text = harmless(text)
        self.facts.publish_fact(EventOccurred(kind, text, who, self.clock.wall, view))
        self.out.log_line(level, f"{kind}: {text}", EVENTS)

    def figures(self) -> dict[str, int | float]:
        """Return the metrics of this node: counters since its start, and current sizes."""
        return {**self.counters.figures(self.face.feeds()), **self.face.figures()}

    def hop(self, stratum: int) -> Hop:
        return Hop(self.me.name, stratum, self.clock.believed)

    def relayed(self, envelope: Envelope) -> Envelope:
        """Return an envelope of another master with this node on its route."""
        far = envelope.route[-1].stratum + 1 if envelope.route else 1
        return replace(envelope, route=(*envelope.route, self.hop(far)))
