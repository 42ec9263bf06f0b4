"""Does another process answer for this node? Then its data directory was copied, and only one may go on."""

from __future__ import annotations

from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.desk.effects import Stop
from mesh.core.peers.dialler import Dialler
from mesh.core.peers.seniority import is_senior
from mesh.wire.commands import NODE_CONTROL, Introduction

AGAIN = 60.0  # s after which a place that was looked at is looked at again
PLACES, DIALS = 64, 8  # that are remembered, and are under way at once

# Rule 1: a rival is who proves our key with other bytes than those that this process has drawn, on a
#         connection that either of us dialled. With our own bytes it is ourselves: a second address of this
#         machine, a forwarder, or somebody in between.
# Rule 2: the process that was started first goes on, and the other one stops: both know both starts. Where
#         one of them does not say when it was started, both stop.
# Rule 3: what others say of us makes us dial and find out, and no more.


class Rivals:
    """The one part that says CONFLICT."""

    def __init__(self, desk: Desk, dialler: Dialler) -> None:
        self._desk = desk
        self._dialler = dialler
        self._looked: dict[str, float] = {}  # at which places, and when; inf: it is ours
        self._dials: set[Conn] = set()
        self._juniors: set[bytes] = set()  # rivals that were started later, of which people were told

    def rumoured(self, node: Introduction) -> None:
        """Look who is at the addresses where others say that we are, if we never were there."""
        for address in filter(None, (node.address, *node.also)):
            self._dials = {conn for conn in self._dials if not (conn.is_open or conn.closed)}
            now = self._desk.now
            if now - self._looked.get(address, -AGAIN) < AGAIN or len(self._dials) >= DIALS:
                continue
            self._look(address, now)
            self._desk.note("info", f"others say that this node is at {address}: who is there?")
            self._dials.add(self._dialler.dial(address, NODE_CONTROL, b""))

    def _look(self, address: str, when: float) -> None:
        self._looked.pop(address, None)
        self._looked = {**dict(list(self._looked.items())[1 - PLACES :]), address: when}

    def asked(self, conn: Conn) -> bool:
        """Was it dialled only to find that out?"""
        return conn in self._dials

    def proved(self, conn: Conn, process: bytes, address: str) -> None:
        """Judge whoever is at that address: it has proven our own key, and drew these bytes as a process."""
        if process == self._desk.process:
            if conn.dialled:
                self._desk.count("met_itself")
                self._look(address, float("inf"))
        elif process and not self._desk.is_doubled:
            self._judge(conn, process, address)

    def _judge(self, conn: Conn, process: bytes, address: str) -> None:
        """Rule 2."""
        me = self._desk.me
        at = f"at {address or 'an address of its own'}{'' if conn.dialled else ', and has dialled us'}"
        what = f"another process answers for {me.name} ({me.uuid.hex()[:8]}, boot {me.boot}), {at}"
        if is_senior(self._desk.process, process):
            if process not in self._juniors:
                self._juniors = {*list(self._juniors)[1 - PLACES :], process}
                text = f"{what}. It was started later, and stops: was the data directory of this node copied?"
                self._desk.event("conflict", text, level="warning")
            return
        self._desk.is_doubled = True
        hint = "Was its data directory copied? Start the copy with another --data."
        self._desk.emit(Stop(f"{what}. {hint}", "CONFLICT"))
