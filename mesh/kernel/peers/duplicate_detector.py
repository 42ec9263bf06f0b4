"""Detects another process with the identity of this node, as after a copy of its data directory."""

from __future__ import annotations

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.effects import Stop
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.peers.seniority import is_senior
from mesh.wire.commands import NODE_CONTROL, Introduction

AGAIN = 60.0  # s until an address is dialed again
PLACES, DIALS = 64, 8  # remembered addresses; concurrent dials

# Rule 1: a rival proves our key with process bytes other than ours, on a connection that either side dialed.
#         Our own bytes mean this process: a second address of the machine, a forwarder or a relay.
# Rule 2: the process that started first continues, and the other one stops: both know both starts. If one
#         start is unknown, both stop.
# Rule 3: a report of others only makes this node dial the address.


class DuplicateDetector:
    """Detects rivals, which are processes with the identity of this one, in direct contact.

    Without direct contact, another node's refusal stops a young process (peer_handshake.py).
    """

    def __init__(self, context: NodeContext, dialler: Dialler) -> None:
        self._context = context
        self._dialler = dialler
        self._looked: dict[str, float] = {}  # address -> time; inf = our own
        self._dials: set[Conn] = set()
        self._juniors: set[bytes] = set()  # reported rivals that started later

    def rumoured(self, node: Introduction) -> None:
        """Dial the addresses at which others report this node, except its own and recently dialed ones."""
        for address in filter(None, (node.address, *node.also)):
            self._dials = {conn for conn in self._dials if not (conn.is_open or conn.closed)}
            now = self._context.clock.now
            if now - self._looked.get(address, -AGAIN) < AGAIN or len(self._dials) >= DIALS:
                continue
            self._note_address(address, now)
            self._context.out.log_line("info", f"others report this node at {address}, which it does not use")
            self._dials.add(self._dialler.dial(address, NODE_CONTROL, b""))

    def _note_address(self, address: str, when: float) -> None:
        self._looked.pop(address, None)
        self._looked = {**dict(list(self._looked.items())[1 - PLACES :]), address: when}

    def is_rival_dial(self, conn: Conn) -> bool:
        """Return whether a connection was dialed only to find a rival."""
        return conn in self._dials

    def proved(self, conn: Conn, process: bytes, address: str) -> None:
        """Judge a process that has proven our own key and sent the bytes `process`."""
        if process == self._context.process:
            if conn.dialled:
                self._context.counters.add_count("met_itself")
                self._note_address(address, float("inf"))
        elif process and not self._context.is_doubled:
            self._judge(conn, process, address)

    def _judge(self, conn: Conn, process: bytes, address: str) -> None:
        """Continue if this process started first, otherwise stop (Rule 2)."""
        me = self._context.me
        at = f"at {address or 'an unknown address'}{'' if conn.dialled else ', and dialed this node'}"
        what = f"another process has the identity of {me.name} ({me.uuid.hex()[:8]}, boot {me.boot}), {at}"
        if is_senior(self._context.process, process):
            if process not in self._juniors:
                self._juniors = {*list(self._juniors)[1 - PLACES :], process}
                text = (
                    f"{what}. That process started later and stops; the data directory of this node "
                    "may have been copied"
                )
                self._context.event("conflict", text, level="warning")
            return
        self._context.is_doubled = True
        hint = "The data directory may be a copy: start the copy with another `--data DIR`."
        self._context.out.emit(Stop(f"{what}. {hint}", "CONFLICT"))
