"""A peer: its identity, its connections, and how it is reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from mesh.flow.seldom import Seldom
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.exchange import NEVER, REPORTED_AGAIN, Exchange
from mesh.kernel.peers.reach import LIVING, Reach
from mesh.kernel.peers.reach_table import ReachState
from mesh.links.backoff import Timing
from mesh.links.link import Link
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Call, Introduction
from mesh.wire.limits import VERSION_MIN
from mesh.wire.metadata import NONE


class Peer:
    """Another node, as this node knows it.

    `control` is the connection for membership; `data` is opened by a login, for messages.
    """

    def __init__(
        self, node: Introduction, reach: Reach, link: Link, meets: Callable[[Introduction], Exchange]
    ) -> None:
        self.node = node
        self.reach = reach
        self.link = link
        self._meets = meets
        self.key = b""  # its proven Ed25519 key
        self.metadata = NONE  # as it introduced itself
        self.conns: dict[str, Conn | None] = {NODE_CONTROL: None, NODE_DATA: None}
        self.dials: dict[str, list[Conn]] = {NODE_CONTROL: [], NODE_DATA: []}
        self.reached = ""  # address of the last connection
        self.used = 0.0  # last use of the control connection
        self.version = VERSION_MIN  # wire version of both ends
        self.speaks: frozenset[str] = frozenset()  # features of both ends
        self.asked_for_ways = NEVER  # time of the last question for routes
        self.forged = Seldom(REPORTED_AGAIN)  # reports of forgery
        self.hears_us = True  # our PUB is believed to reach it
        self.lost_at: float | None = None  # end of its data connection; None while open
        self.rtt = 0.0  # s, a moving average over the pings
        self.pinged = 0.0
        self.probed = NEVER  # time of a newcomer's claim to its name
        self.reads: dict[int, Call] = {}  # unanswered questions
        self.confirmed = -1  # version of our interest it has

    @cached_property
    def exchange(self) -> Exchange:
        """The exchange with this peer, created on first use, as most known peers never need one."""
        return self._meets(self.node)

    @property
    def begun(self) -> Exchange | None:
        """The exchange, or `None` if there is none yet."""
        return self.__dict__.get("exchange")

    @property
    def alive(self) -> bool:
        return self.reach.state in LIVING

    @property
    def suspect(self) -> bool:
        """Whether the peer counts as alive but did not answer."""
        return self.reach.state is ReachState.SUSPECT

    @property
    def control(self) -> Conn | None:
        return self.conns[NODE_CONTROL]

    @property
    def data(self) -> Conn | None:
        return self.conns[NODE_DATA]

    @property
    def ahead(self) -> int:
        """The ns by which the peer's clock is ahead of ours, as a connection measures it; 0 without one."""
        conn = self.control or self.data
        return conn.clock.ahead if conn is not None else 0

    @property
    def is_active(self) -> bool:
        """Whether a connection exists, is dialed or is needed, or a question or address waits for a dial."""
        is_connected = self.control is not None or self.data is not None
        is_dialled = bool(self.dials[NODE_CONTROL] or self.dials[NODE_DATA])
        return is_connected or is_dialled or self.link.is_wanted or self.reach.is_waiting


def met(
    context: NodeContext, timing: Timing, meets: Callable[[Introduction], Exchange], node: Introduction
) -> Peer:
    """Return a new peer; `meets` creates the exchange with it.

    `timing` applies unless the settings have other times for this node.
    """
    s = context.settings
    if node.name in s.of_nodes:
        low, high = s.of_link("backoff_min", node.name), s.of_link("backoff_max", node.name)
        timing = replace(timing, low=low, high=high)
    return Peer(
        node, Reach(context.jitter, timing), Link(node.uuid, context.clock.now, context.jitter, timing), meets
    )
