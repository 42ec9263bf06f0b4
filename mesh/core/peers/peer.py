"""One other node: what connects us, what it is owed, and how far we are with its log."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.desk.outlet import Outlet
from mesh.links.backoff import Timing
from mesh.links.link import Link
from mesh.routing.feed import Feed
from mesh.routing.parcel import Parcel
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.portion import Portion
from mesh.routing.upstream import Upstream
from mesh.streams.link import LinkReceiver
from mesh.wire.commands import NODE_CONTROL, NODE_DATA, Call, Census, Introduction, Probe, ProbeFor, Query
from mesh.wire.limits import VERSION_MIN

NEVER = float("-inf")
Question = Probe | ProbeFor | Census | Call  # which is worth a connection


def peer_key(uuid: bytes) -> bytes:
    return b"n" + uuid


class Peer:
    """`control` comes with sight, `data` is the login."""

    def __init__(self, node: Introduction, link: Link, outlet: Outlet, feed: PeerFeed) -> None:
        self.node = node
        self.link = link
        self.outlet = outlet
        self.feed = feed
        self.upstreams: dict[bytes, Upstream] = {}  # how far we are with each log that it sends from
        self.topics: dict[str, set[str]] = {}  # domain -> keys that it is known to be asked for
        self.is_way = False  # our rules name it, so that it may bring what others are master of
        self.refused: dict[bytes, int] = {}  # logs that it may not send from: how far we are done with them
        self.conns: dict[str, Conn | None] = {NODE_CONTROL: None, NODE_DATA: None}
        self.dials: dict[str, list[Conn]] = {NODE_CONTROL: [], NODE_DATA: []}
        self.untried: list[str] = []  # addresses that are still to be dialled in this attempt
        self.reached = ""  # the address at which it was reached last
        self.next_control = 0.0  # when to dial control again
        self.control_attempt = 0
        self.used = 0.0  # when the control connection was last needed
        self.probe: Question | None = None  # waits for a control connection
        self.version = VERSION_MIN  # of the wire, that both speak,
        self.speaks: frozenset[str] = frozenset()  # and the words that both say
        self.asked_for_ways = NEVER  # when it was asked whom others name
        self.first_login: float | None = None  # in this boot of ours
        self.forged_told = self.unasked_told = NEVER  # when people were told that it forges, or sends unasked
        self.hears_us = True  # our PUB reaches it, as far as we know
        self.has_left = False  # it comes back by itself, if at all
        self.is_news = False  # somebody told us of it, and it was not dialled yet
        self.alive = False
        self.suspect = False  # alive, as far as we know, but it did not answer
        self.lost_at: float | None = None  # when its data connection ended; None while it stands
        self.rtt = 0.0  # s, of the last ping
        self.pinged = 0.0
        self.probed = float("-inf")  # when somebody asked for its name
        self.confirmed = -1  # version of our interest that it has
        self.relayed: set[Query] = set()  # what it wants that we get for it from others
        self.reads: dict[int, Call] = {}  # questions it has not answered
        self.held_replies: deque[tuple[int, Callable[[], None]]] = deque()  # (after which item, what to send)
        self.held_versions: deque[tuple[int, list[bool]]] = (
            deque()
        )  # of its interest: (version, [confirmed?])
        self.inlet = LinkReceiver()
        self.inlet_boot = 0
        self.key = b""  # its Ed25519 key, as it has proven it itself
        self.leads = False  # it says that it has more of our log than we, which was told
        self.taken = 0  # items received on this link stream
        self.ackable = (0, 0)  # (have, taken) that may be acknowledged now,
        self.acked = NEVER  # and when that was done last

    @property
    def control(self) -> Conn | None:
        return self.conns[NODE_CONTROL]

    @property
    def data(self) -> Conn | None:
        return self.conns[NODE_DATA]

    @property
    def is_active(self) -> bool:
        """Is something connected, wanted or waited for?"""
        is_connected = self.control is not None or self.data is not None
        is_dialled = bool(self.dials[NODE_CONTROL] or self.dials[NODE_DATA])
        is_asked = self.probe is not None or self.is_news or bool(self.untried)
        return is_connected or is_dialled or self.link.is_wanted or is_asked

    def new_inlet(self, boot: int) -> None:
        """The other end is a new process: its numbers begin again."""
        self.inlet, self.inlet_boot = LinkReceiver(), boot
        self.taken, self.ackable = 0, (0, 0)


def made(desk: Desk, released: Callable[[Parcel], None], node: Introduction) -> Peer:
    """A peer; `released` is told of what it need not be given any more."""
    s = desk.settings
    outlet = Outlet(s.window_bytes, s.link_messages, lambda feed: 0, to_peer=True)

    def send(feed: Feed, portion: Portion) -> None:
        desk.push(outlet, feed, portion)

    feed = PeerFeed(peer_key(node.uuid), s.credit, send, released, lambda: desk.believed, node.name)
    link = Link(node.uuid, desk.now, desk.jitter, Timing(low=s.backoff_min, high=s.backoff_max))
    return Peer(node, link, outlet, feed)
