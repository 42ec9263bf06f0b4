"""Dials the address of a node that asks for it, and answers such a dial."""

# Law: a node dials only an address that the asking node advertises itself, never a loopback address, at most
#      EACH times in EVERY seconds for one node, with at most MOST dials at a time. The answer is only one of
#      four outcomes.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesh.discovery.advertised import is_loopback
from mesh.errors import LocalError
from mesh.features.dialback.model import Outcome
from mesh.flow.bounded import Bounded
from mesh.flow.seldom import Seldom
from mesh.kernel.access.authenticator import hello_of
from mesh.kernel.context.component import Component
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import ConnEnded, Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import ConnectionRole
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.peers.peer import Peer
from mesh.wire.calls import AskDialBack
from mesh.wire.commands import Hello, Introduction, Refuse, Welcome
from mesh.wire.limits import DIAL_BACK
from mesh.wire.replies import DialedBack

PATIENCE = 3.0  # s until a dial without an answer is given up
AT_ONCE = 1.0  # s in which a machine refuses; later, the system or ZeroMQ gave up
EACH, EVERY = 4, 20.0  # dials for one node in so many seconds
MOST = 8  # dials at the same time
NODES = 1024  # nodes whose dials are limited individually
UUID = 16  # bytes


@dataclass(frozen=True, slots=True)
class _Dial:
    """A dial in progress."""

    asked: IncomingCall[AskDialBack]
    node: Introduction
    until: float  # s


class DialingBack(Component):
    """Component for the verb `dial_back`, and for connections with that role, at both ends."""

    def __init__(self, context: NodeContext, dialler: Dialler) -> None:
        self._context = context
        self._dialler = dialler
        self._dials: dict[Conn, _Dial] = {}
        self._limits = Bounded[bytes, Seldom](NODES)

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskDialBack, self._on_asked),)

    def features(self) -> Sequence[str]:
        return (DIAL_BACK,)

    def connection_roles(self) -> Mapping[str, ConnectionRole]:
        return {DIAL_BACK: self}

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(ConnEnded, self._on_conn_ended),)

    def tick(self) -> None:
        now = self._context.clock.now
        for conn in [conn for conn, dial in self._dials.items() if dial.until <= now]:
            self._end(conn, Outcome.SILENT)
        for dial in self._dials.values():
            self._context.clock.wake(dial.until)

    # --- the node that dials ----------------------------------------------------------------------------

    def _on_asked(self, asked: IncomingCall[AskDialBack]) -> None:
        peer, address, me = asked.who, asked.ask.address, self._context.me
        self._check(peer, address)
        if address in (me.address, *me.also):  # both advertise it, and this node would meet itself
            asked.reply(DialedBack(outcome=Outcome.OTHER))
            return
        until = self._context.clock.now + PATIENCE
        conn = self._dialler.dial(address, DIAL_BACK, b"")
        self._dials[conn] = _Dial(asked, peer.node, until)
        self._context.clock.wake(until)

    def _check(self, peer: Peer, address: str) -> None:
        """Raise LocalError unless this node may dial the address for the peer now."""
        if address not in (peer.node.address, *peer.node.also) or is_loopback(address):
            what = f"{peer.node.name} does not advertise {address[:80]!r} as an address for other machines."
            raise LocalError(what, code="NOT_ADVERTISED")
        limit = self._limits.get(peer.node.uuid) or Seldom(EVERY, EACH)
        self._limits.keep(peer.node.uuid, limit)
        if len(self._dials) >= MOST or not limit.allows(self._context.clock.now):
            raise LocalError(
                f"{self._context.me.name} dials back too often. Ask again later.", code="TOO_MANY"
            )

    def greet(self, conn: Conn) -> Hello:
        return hello_of(self._context, conn, DIAL_BACK)

    def on_welcomed(self, conn: Conn, welcome: Welcome) -> None:
        dial, found = self._dials.get(conn), welcome.node
        is_it = dial is not None and (found.uuid, found.key) == (dial.node.uuid, dial.node.key)
        self._end(conn, Outcome.REACHED if is_it else Outcome.OTHER)

    def on_refused(self, conn: Conn, refusal: Refuse) -> None:
        self._end(conn, Outcome.OTHER)

    def _on_conn_ended(self, fact: ConnEnded) -> None:
        conn = fact.conn
        if conn.why:  # something answered that is no node of this mesh
            self._end(conn, Outcome.OTHER)
        else:
            is_quick = self._context.clock.now - conn.opened < AT_ONCE
            self._end(conn, Outcome.REFUSED if is_quick else Outcome.SILENT)

    def _end(self, conn: Conn, outcome: Outcome) -> None:
        """Answer with the outcome of a dial, if `conn` is one in progress."""
        dial = self._dials.pop(conn, None)
        if dial is not None:
            self._context.out.hang_up(conn)
            dial.asked.reply(DialedBack(outcome=outcome))

    # --- the node that is dialed ------------------------------------------------------------------------

    def admit(self, conn: Conn, hello: Hello) -> Welcome | Refuse:
        if hello.node is None or len(hello.node.uuid) != UUID:
            return Refuse("MALFORMED", "a node introduced itself without a uuid of 16 bytes", final=True)
        s = self._context.settings
        return Welcome(conn.version, self._context.me, s.cluster, speaks=self._context.face.features)

    def on_opened(self, conn: Conn, node: Introduction) -> None:
        self._context.out.hang_up(conn)  # the WELCOME is the whole answer

    def sender_of(self, conn: Conn) -> Any:
        return None

    def describe_sender(self, conn: Conn) -> str:
        return ""

    def clocks(self) -> Iterator[tuple[bytes, str, int]]:
        return iter(())
