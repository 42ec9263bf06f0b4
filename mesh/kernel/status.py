"""Describes this node and the nodes that it knows.

The component only reads state: answering a question never opens a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from msgspec.structs import asdict

from mesh.dialable import is_of_link
from mesh.discovery.member import Member, NodeLife
from mesh.kernel.access.authenticator import SOFTWARE
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import page
from mesh.kernel.forwarding.forwarder import Forwarder
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.standing import strangers
from mesh.kernel.states.gossiping import Gossiping
from mesh.links.table import LinkState
from mesh.reasons.reason import reason
from mesh.reasons.texts import LOSSES
from mesh.reasons.undelivered import is_about
from mesh.reasons.what import What
from mesh.values import messages
from mesh.wire.calls import AskEvents, AskInfo, AskNodes, AskPeers, AskWhere
from mesh.wire.limits import VISITS
from mesh.wire.replies import (
    Address,
    Depth,
    EventRows,
    Info,
    NodeRow,
    NodeRows,
    PeerRow,
    PeerRows,
    Process,
    Reason,
)

SHOWN = 8  # rows of undelivered messages
ABSENT = (NodeLife.LEFT, NodeLife.SEEN)
ME = "0"  # the key of this node, before all others


class Status(Component):
    """Component that lists nodes, addresses and events, and describes this node."""

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, gossiping: Gossiping, forwarder: Forwarder
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._gossiping = gossiping
        self._tailback = forwarder.tailback
        self._hops = forwarder.onward.hops
        self._process: Callable[[], Process] = Process

    def explain(self, what: What) -> Iterator[Reason]:
        """Yield the reasons why messages did not reach their receivers, from the counters of this node."""
        losses = (loss for loss in self._context.counters.undelivered if is_about(loss, what))
        for loss in islice(losses, SHOWN):
            topic, who = loss.topic or "unknown topics", loss.who or "some"
            why = LOSSES.get(loss.why, loss.why)
            yield reason("UNDELIVERED", n=messages(loss.n), topic=topic, who=who, why=why)

    def client_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskNodes, self._ls),
            answer(AskPeers, self._peers),
            answer(AskWhere, self._where),
            answer(AskEvents, self._events),
            answer(AskInfo, lambda asked: asked.reply(self.node_info())),
        )

    def start(self, beginning: Beginning) -> None:
        self._process = beginning.process

    def node_info(self) -> Info:
        """Return the identity, the process and the metrics of this node."""
        me, settings = self._context.me, self._context.settings
        return Info(
            name=me.name,
            uuid=me.uuid.hex(),
            boot=me.boot,
            address=me.address,
            cluster=settings.cluster,
            software=SOFTWARE,
            scope=settings.scope,
            **asdict(self._process()),
            metrics=self._context.figures(),
            reachable=self._context.reachable.code,
            reachability=self._context.reachable.text,
        )

    def _events(self, asked: IncomingCall[AskEvents]) -> None:
        events, after = self._context.events.events_after(asked.ask.after)
        asked.reply(EventRows(events=events, next=after, boot=self._context.me.boot))

    # --- nodes ------------------------------------------------------------------------------------------

    def _ls(self, asked: IncomingCall[AskNodes]) -> None:
        """Answer with a page of nodes.

        Of several absent nodes with the same name, only the latest is listed. A node that left is not listed
        beside another node of its name.
        """
        peers, s = self._neighbours.peers, self._context.settings
        past = superseded(self._neighbours.membership.all())
        rows_of = ((uuid, peer) for uuid, peer in peers.items() if uuid not in past)
        places = [ME, *(f"1{peer.node.name} {uuid.hex()}" for uuid, peer in rows_of)]
        rows, after = page(places, self._node, asked.ask)
        asked.reply(
            NodeRows(
                nodes=rows,
                next=after,
                scope=s.scope,
                links=s.links,
                near=list(strangers(self._context, self._neighbours)),
                unknown=self._unknown(),
                keys=s.keyring is not None,
                has_sites=s.site.has_others,
                reachable=self._context.reachable.code,
                reachability=self._context.reachable.text,
            )
        )

    def _node(self, place: str) -> NodeRow | None:
        """Return the row of the node with the key `place`, or `None` if the node has disappeared."""
        if place == ME:
            return self._own()
        uuid = bytes.fromhex(place.rpartition(" ")[2])
        member, peer = self._neighbours.membership.member_of(uuid), self._neighbours.peers.get(uuid)
        return None if member is None or peer is None else self._other(member, peer)

    def _own(self) -> NodeRow:
        me = self._context.me
        return NodeRow(
            name=me.name,
            uuid=me.uuid.hex(),
            boot=me.boot,
            address=me.address,
            via="self",
            state="alive",
            link="this node",
            data=False,
            rtt=0.0,
            age=0.0,
            tailback=self._tailback.depth(me.name),
            moves=True,
            **asdict(self._gossiping.described(me.uuid)),
        )

    def _other(self, member: Member, peer: Peer) -> NodeRow:
        is_gone = member.state in (NodeLife.DEAD, NodeLife.LEFT)  # not linked, but a refusal is shown
        says_no = peer.link.state is LinkState.NOT_ALLOWED
        return NodeRow(
            name=member.name,
            uuid=member.uuid.hex(),
            boot=member.boot,
            address=address_of(peer),
            via=member.via,
            state=str(member.state),
            link="" if is_gone and not says_no else peer.link.describe(self._context.clock.now),
            data=peer.data is not None,
            rtt=0.0 if is_gone else peer.rtt,
            age=self._context.clock.now - member.heard,
            tailback=self._tailback.depth(member.name),
            moves=VISITS in peer.speaks if peer.speaks else None,
            **asdict(self._gossiping.described(member.uuid)),
        )

    def _unknown(self) -> Depth:
        """Return the depth of the outbound buffers for hops without a row: unknown nodes and other sites."""
        n, depth = self._neighbours, self._tailback.depth
        # A node that was reported dead before this node met it has no row.
        unseen = [
            depth(hop) for hop in self._hops() if n.named(hop) is None or n.membership.by_name(hop) is None
        ]
        return Depth(
            messages=sum(d.messages for d in unseen),
            bytes=sum(d.bytes for d in unseen),
            age=max((d.age for d in unseen), default=0.0),
        )

    # --- addresses --------------------------------------------------------------------------------------

    def _peers(self, asked: IncomingCall[AskPeers]) -> None:
        found = self._neighbours.acquaintances.rows()

        def row(place: str) -> PeerRow:
            row = found[place]
            member = self._neighbours.membership.by_name(row.node) if row.node else None
            row.state = str(member.state) if member is not None else ""
            return row

        rows, after = page(found, row, asked.ask)
        asked.reply(PeerRows(peers=rows, next=after))

    def _where(self, asked: IncomingCall[AskWhere]) -> None:
        """Answer with the address of the node with that name, or "" if the node or its address is unknown."""
        me, peer = self._context.me, self._neighbours.named(asked.ask.node)
        if asked.ask.node == me.name:
            asked.reply(Address(address=me.address))
        else:
            asked.reply(Address(address="" if peer is None else address_of(peer)))


def superseded(members: Iterable[Member]) -> set[bytes]:
    """Return the uuids of absent nodes that are not listed because another node has the same name.

    A node that other nodes reported, but this node never reached, is still listed beside a present node.
    """
    best: dict[str, Member] = {}
    past: set[bytes] = set()
    for member in members:
        known = best.get(member.name)
        if known is None:
            best[member.name] = member
            continue
        worse, better = sorted((known, member), key=lambda one: (one.state not in ABSENT, one.since))
        best[member.name] = better
        if worse.state is NodeLife.LEFT or (worse.state is NodeLife.SEEN and better.state in ABSENT):
            past.add(worse.uuid)
    return past


def address_of(peer: Peer) -> str:
    """Return an address of a peer, preferably the one at which it was reached; "" if none is known.

    If that address is link-local, another known address is preferred.
    """
    known = filter(None, (peer.reached, peer.node.address, *peer.node.also))
    return min(known, key=is_of_link, default="")
