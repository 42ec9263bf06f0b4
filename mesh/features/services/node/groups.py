"""Delivers each message to at most one member of a group: the master chooses a node, and the node a member.

With several masters the FIRST one chooses (see mesh/routing/first.py). Messages that a member had when it
disconnected are lost, as for any subscriber. A message without a member that accepts it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from math import inf
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from mesh.features.services.node.dealing import dealt
from mesh.features.services.node.request_batch import RequestBatch
from mesh.features.services.node.serving import ServedAddresses
from mesh.features.services.node.strategies import NodeStrategies
from mesh.flow.inflight import AnsweredPart, InFlight
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.kernel.peers.facts import LoggedOut, PeerLost
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.presence.facts import GroupChanged
from mesh.kernel.presence.members import GroupMembers
from mesh.names import check_group
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.requester import CLIENT
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.commands import Answer, Query
from mesh.wire.envelope import ERASED, LOCAL_ONLY, Envelope

TRIES = 3  # further nodes tried per message
OPEN = 100_000  # open messages; the oldest are given up
NodeStream = tuple[bytes, bytes, str]  # uuid of a node, stream and domain


class Group:
    """A group as a sink, which forwards offered messages immediately."""

    paces = False
    owner = ""

    def __init__(
        self, name: str, give: Callable[[Group, Envelope], None], released: Callable[[StoredEnvelope], None]
    ) -> None:
        self.name = name
        self.key = b"g" + name.encode()
        self.floors: dict[bytes, int] = {}
        self._give, self._released = give, released

    def offer(self, slice_: EnvelopeSlice, now: float) -> None:
        stored = slice_.stored
        envelope = stored.envelope
        self._give(self, envelope if slice_.indices is None else envelope.cut(slice_.indices))
        if stored.position:  # a group needs no copy on disk
            stored.owed -= 1
            is_thinner = stored.shares is not None and stored.shares.settle(self)
            if is_thinner or not stored.owed:
                self._released(stored)
            if stored.paged:
                stored.give_away()

    def expect(self, stored: StoredEnvelope, sign: int) -> None:
        """Do nothing: a group has no backlog."""

    def first_owed_position(self, key: str, domain: str, xml: str = "") -> float:
        return inf  # offered messages are never owed again

    def alive(self, now: float) -> bool:
        return False


class GroupAttempt(Struct, eq=False):
    """Messages of a group that were sent to a node, and the number of nodes that refused them before."""

    envelope: Envelope
    group: Group
    tries: int


class Groups(Component):
    """The groups with members at any node."""

    def __init__(
        self,
        context: NodeContext,
        router: Router,
        neighbours: Neighbours,
        members: GroupMembers,
        serving: ServedAddresses,
        departing: RequestBatch,
        strategies: NodeStrategies,
    ) -> None:
        self._context = context
        self._router = router
        self._peers, self._named = neighbours.peers, neighbours.named
        self._members = members
        self._serving = serving
        self._departing = departing
        self._strategies = strategies
        self._groups: dict[str, Group] = {}
        self._flight = InFlight[NodeStream, GroupAttempt, None]()
        self._count = 0  # messages in flight

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(GroupChanged, self._on_group_changed),
            on_fact(LoggedOut, lambda fact: self._on_node_lost(fact.peer.node.uuid)),
            on_fact(PeerLost, lambda fact: self._on_node_lost(fact.peer.node.uuid)),
        )

    def _on_group_changed(self, fact: GroupChanged) -> None:
        has_members = bool(self._nodes(fact.name, is_here=False))
        group = self._groups.get(fact.name)
        _, domain, pattern = check_group(fact.name)
        query = Query("pattern", pattern, domain)
        if has_members and group is None:
            group = self._groups[fact.name] = Group(
                fact.name, self._assign_members, self._router.shelf.delete_released
            )
            self._router.groups.add(group, query)
        elif group is not None and not has_members:
            self._router.groups.discard(group, query)
            del self._groups[fact.name]
        self._router.receivers.has_groups = bool(self._groups)

    def _nodes(self, name: str, is_here: bool, in_vain: Collection[str] = ()) -> dict[str, int]:
        """Return the nodes with members, except those in `in_vain`, and the number of members at each.

        `is_here` restricts the result to this node.
        """
        me = self._context.me.name
        nodes = {me: self._members.own[name]} if name in self._members.own else {}
        for uuid, members in self._members.members(name).items() if not is_here else ():
            if uuid in self._peers:
                nodes[self._peers[uuid].node.name] = members
        for node in in_vain:
            nodes.pop(node, None)
        return nodes

    def _assign_members(self, group: Group, e: Envelope) -> None:
        if not e.flags & ERASED:
            self._choose(group, e)

    def _choose(self, group: Group, e: Envelope, tries: int = 0, in_vain: tuple[str, ...] = ()) -> None:
        nodes = self._nodes(group.name, bool(e.flags & LOCAL_ONLY), in_vain)
        if not nodes or tries > TRIES:
            self._context.counters.add_count("group_dropped", e.count)
            return
        for indices, node in dealt(self._strategies, group.name, nodes, e):
            self._send_to_node(group, node, e.cut(indices), tries)

    def _send_to_node(self, group: Group, node: str, e: Envelope, tries: int) -> None:
        sent = replace(e, to=group.name, flags=0)
        if node == self._context.me.name:
            uuid = self._context.me.uuid
        else:
            peer = self._named(node)
            if peer is None:
                return
            uuid = peer.node.uuid
        attempt = GroupAttempt(sent, group, tries)
        self._flight.record_kept((uuid, e.stream, e.domain), attempt, sent.ranges())
        self._count += sent.count
        self._strategies.sent_to(node, sent.count)
        while self._count > OPEN:
            self._give_up(next(iter(self._flight)))
        if uuid == self._context.me.uuid:
            self._serving.accept(CLIENT, sent, 0)
        else:
            self._departing.add(uuid, sent, 0)

    def outcome(self, uuid: bytes, stream: bytes, a: Answer) -> None:
        """Apply the answer of a node to messages of a stream.

        Refused messages go to another node, or are dropped if no further node is tried.
        """
        key = (uuid, stream, a.domain)
        parts = self._flight.apply_answer(key, a.first, a.last, is_shared=False)
        if not parts:
            self._context.counters.add_count("unasked")
            return
        n = 0
        for _, first, last, _ in parts:
            n += last - first + 1
        self._count_settled(uuid, n)
        if a.state != "OK":
            self._reassign(uuid, parts)

    def _reassign(self, uuid: bytes, parts: Sequence[AnsweredPart[GroupAttempt]]) -> None:
        """Choose another node for messages that no member at the node `uuid` accepted."""
        node = self._name(uuid)
        for attempt, refused in groupby(parts, itemgetter(0)):
            numbers = {n for _, first, last, _ in refused for n in range(first, last + 1)}
            e = attempt.envelope
            places = [i for i, n in enumerate(e.number_list(range(e.count))) if n in numbers]
            self._choose(attempt.group, e.cut(places), attempt.tries + 1, (node,))

    def _on_node_lost(self, uuid: bytes) -> None:
        """Give up the messages at a lost node, as members may have received them."""
        for key in [key for key in self._flight if key[0] == uuid]:
            self._context.counters.add_count("group_dropped", self._give_up(key))

    def _give_up(self, key: NodeStream) -> int:
        n = sum(lost.numbers.count() for lost in self._flight.drop_stream(key))
        self._count_settled(key[0], n)
        return n

    def _count_settled(self, uuid: bytes, n: int) -> None:
        self._count -= n
        self._strategies.count_answers(self._name(uuid), n)

    def _name(self, uuid: bytes) -> str:
        peer = self._peers.get(uuid)
        return self._context.me.name if peer is None else peer.node.name
