"""The traffic with a peer: items to it, items from it, and their acknowledgements."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mesh.flow.bounded import Bounded
from mesh.flow.seldom import Seldom
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.outlet import Outlet
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.paging import Paging
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.routing.upstream import Upstream
from mesh.streams.link import LinkReceiver
from mesh.wire.commands import Introduction, Query

NEVER = float("-inf")
CERTIFIED = 10_000  # certificates that are sent once per connection
REPORTED_AGAIN = 600.0  # s until a peer is reported again


class Exchange:
    """The state of the traffic with one peer; it outlives the connections."""

    def __init__(self, outlet: Outlet, feed: PeerFeed) -> None:
        self.outlet = outlet
        self.feed = feed
        self.upstreams: dict[bytes, Upstream] = {}  # our progress in each log it sends from
        self.refused: dict[bytes, int] = {}  # progress in logs that it must not send from
        self.topics: dict[str, set[str]] = {}  # domain -> keys it is known to be asked for
        self.is_way = False  # named by our rules; may relay other masters
        self.homes: tuple[str, ...] = ()  # prefixes of its own senders
        self.first_login: float | None = None  # during this boot of ours
        self.unasked = Seldom(REPORTED_AGAIN)  # reports on unrequested items
        self.doubts = Seldom(REPORTED_AGAIN)  # reports on an unconfirmed sender
        self.relayed: set[Query] = set()  # its queries that we relay to others
        self.held_replies: deque[tuple[int, Callable[[], None]]] = deque()  # (item, send after it)
        self.held_versions: deque[tuple[int, list[bool]]] = deque()  # (version, is it confirmed)
        self.leads = False  # it has more of our log than we do; reported
        self.inlet = LinkReceiver()
        self.inlet_boot = 0
        self.lacks = False  # it must resend all items in flight
        # Sent on this connection, of sessions at other nodes: (stream, node).
        self.certified = Bounded[tuple[bytes, bytes], None](CERTIFIED)
        self.taken = 0  # items received on this link stream
        self.ackable = (0, 0)  # (have, taken) that may be acknowledged now
        self.acked = NEVER  # time of the last acknowledgement

    def new_inlet(self, boot: int) -> None:
        """Start a new inbound stream from the peer's process with this boot."""
        if boot != self.inlet_boot:
            self.outlet.furthest.clear()  # the new process knows no position
        self.inlet, self.inlet_boot = LinkReceiver(), boot
        self.taken, self.ackable = 0, (0, 0)


def peer_key(uuid: bytes) -> bytes:
    return b"n" + uuid


def exchange(
    context: NodeContext, released: Callable[[StoredEnvelope], None], paging: Paging, node: Introduction
) -> Exchange:
    """Return an exchange with a node; `released` receives envelopes that are no longer owed to the node."""
    s = context.settings
    outlet = Outlet(s.window_bytes, s.link_messages, lambda feed: 0, to_peer=True)

    def send(feed: Feed, slice_: EnvelopeSlice) -> None:
        context.out.push_slice(outlet, feed, slice_)

    feed = PeerFeed(
        peer_key(node.uuid),
        s.credit,
        send,
        released,
        lambda: context.clock.believed,
        node.name,
        paging,
        context.counters.loss_counter(node.name),
    )
    return Exchange(outlet, feed)
