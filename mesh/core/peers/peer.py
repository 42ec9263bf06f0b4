"""One other node: who it is, what connects us, and how far it was reached."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.peers.exchange import NEVER, Exchange
from mesh.core.peers.reach import LIVING, Reach
from mesh.core.peers.reach_table import ReachState
from mesh.links.backoff import Timing
from mesh.links.link import Link
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Call, Introduction
from mesh.wire.limits import VERSION_MIN
from mesh.wire.metadata import NONE


class Peer:
    """A peer. `control` is the connection that comes with sight, `data` the one that comes with the login."""

    def __init__(
        self, node: Introduction, reach: Reach, link: Link, meets: Callable[[Introduction], Exchange]
    ) -> None:
        self.node = node
        self.reach = reach
        self.link = link
        self._meets = meets
        self.key = b""  # its Ed25519 key, as it has proven it itself
        self.metadata = NONE  # likewise
        self.conns: dict[str, Conn | None] = {NODE_CONTROL: None, NODE_DATA: None}
        self.dials: dict[str, list[Conn]] = {NODE_CONTROL: [], NODE_DATA: []}
        self.reached = ""  # the address at which it was reached last
        self.used = 0.0  # when the control connection was last needed
        self.version = VERSION_MIN  # of the wire, that both speak,
        self.speaks: frozenset[str] = frozenset()  # and the words that both say
        self.asked_for_ways = NEVER  # when it was asked whom others name
        self.forged_told = NEVER  # when people were told that it forges
        self.hears_us = True  # our PUB reaches it, as far as we know
        self.lost_at: float | None = None  # when its data connection ended; None while it stands
        self.rtt = 0.0  # s, of the last ping
        self.pinged = 0.0
        self.probed = NEVER  # when somebody asked for its name
        self.reads: dict[int, Call] = {}  # questions it has not answered
        self.confirmed = -1  # version of our interest that it has

    @cached_property
    def exchange(self) -> Exchange:
        """The exchange with it: made when it is first asked for. Most that are known are never spoken to."""
        return self._meets(self.node)

    @property
    def begun(self) -> Exchange | None:
        """The exchange, if there is one."""
        return self.__dict__.get("exchange")

    @property
    def alive(self) -> bool:
        return self.reach.state in LIVING

    @property
    def suspect(self) -> bool:
        """Is it alive, as far as we know, and did not answer?"""
        return self.reach.state is ReachState.SUSPECT

    @property
    def control(self) -> Conn | None:
        return self.conns[NODE_CONTROL]

    @property
    def data(self) -> Conn | None:
        return self.conns[NODE_DATA]

    @property
    def ahead(self) -> int:
        """How many ns its clock is ahead of ours, as its connections measure; 0 if there are none."""
        conn = self.control or self.data
        return conn.clock.ahead if conn is not None else 0

    @property
    def is_active(self) -> bool:
        """Is something connected, wanted or waited for?"""
        is_connected = self.control is not None or self.data is not None
        is_dialled = bool(self.dials[NODE_CONTROL] or self.dials[NODE_DATA])
        return is_connected or is_dialled or self.link.is_wanted or self.reach.is_waiting


def met(desk: Desk, timing: Timing, meets: Callable[[Introduction], Exchange], node: Introduction) -> Peer:
    """A peer that was heard of; `meets` makes the exchange with it."""
    return Peer(node, Reach(desk.jitter, timing), Link(node.uuid, desk.now, desk.jitter, timing), meets)
