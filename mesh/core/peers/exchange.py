"""An exchange: what flows between this node and one peer that it has spoken to over a data connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mesh.core.desk.desk import Desk
from mesh.core.desk.outlet import Outlet
from mesh.routing.feed import Feed
from mesh.routing.paging import Paging
from mesh.routing.parcel import Parcel
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.portion import Portion
from mesh.routing.upstream import Upstream
from mesh.streams.link import LinkReceiver
from mesh.wire.commands import Introduction, Query

NEVER = float("-inf")


class Exchange:
    """The traffic with one peer, what it is owed and has brought: kept while its connections come and go."""

    def __init__(self, outlet: Outlet, feed: PeerFeed) -> None:
        self.outlet = outlet
        self.feed = feed
        self.upstreams: dict[bytes, Upstream] = {}  # how far we are with each log that it sends from
        self.refused: dict[bytes, int] = {}  # logs that it may not send from: how far we are done with them
        self.topics: dict[str, set[str]] = {}  # domain -> keys that it is known to be asked for
        self.is_way = False  # our rules name it, so that it may bring what others are master of
        self.first_login: float | None = None  # in this boot of ours
        self.unasked_told = NEVER  # when people were told that it sends what nobody asked for
        self.relayed: set[Query] = set()  # what it wants that we get for it from others
        self.held_replies: deque[tuple[int, Callable[[], None]]] = deque()  # (after which item, what to send)
        self.held_versions: deque[tuple[int, list[bool]]] = deque()  # of its interest, and are they confirmed
        self.leads = False  # it says that it has more of our log than we, which was told
        self.inlet = LinkReceiver()
        self.inlet_boot = 0
        self.lacks = False  # it is to send all that is under way anew
        self.taken = 0  # items received on this link stream
        self.ackable = (0, 0)  # (have, taken) that may be acknowledged now
        self.acked = NEVER  # when that was done last

    def new_inlet(self, boot: int) -> None:
        """The other end is a new process: its numbers begin again."""
        if boot != self.inlet_boot:
            self.outlet.furthest.clear()  # nor was it told of any place
        self.inlet, self.inlet_boot = LinkReceiver(), boot
        self.taken, self.ackable = 0, (0, 0)


def peer_key(uuid: bytes) -> bytes:
    return b"n" + uuid


def exchange(desk: Desk, released: Callable[[Parcel], None], paging: Paging, node: Introduction) -> Exchange:
    """An exchange with that node; `released` is told of what it need not be given any more."""
    s = desk.settings
    outlet = Outlet(s.window_bytes, s.link_messages, lambda feed: 0, to_peer=True)

    def send(feed: Feed, portion: Portion) -> None:
        desk.push(outlet, feed, portion)

    feed = PeerFeed(
        peer_key(node.uuid),
        s.credit,
        send,
        released,
        lambda: desk.believed,
        node.name,
        paging,
        desk.losing(node.name),
    )
    return Exchange(outlet, feed)
