"""Records the history of the mesh: states and events on arrival, this node's figures periodically."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from mesh.discovery.gossip import Known
from mesh.discovery.state import NodeState
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.effects import WriteLine
from mesh.kernel.context.facts import EventOccurred, Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.busytopics import BusyTopics
from mesh.kernel.feature import FeatureParts
from mesh.kernel.parts import Parts
from mesh.kernel.peers.facts import PeerJoined, PeerLost
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.states.facts import OwnStateSent, StateReceived
from mesh.snapshots.line import BALANCE, EVENT, LINK, QUEUE, SERVICE, STATE, TOPIC, HistoryLine
from mesh.snapshots.moment import iso
from mesh.snapshots.observers import Observed
from mesh.snapshots.outcomes import OutcomeCounts
from mesh.snapshots.waiting import LONGEST, Longest
from mesh.wire.commands import Introduction

LINKS, TOPICS, SERVICES = 64, 64, 64  # lines of each kind at a time
STARTED, STOPPED = "started", "stopped"  # events about this node


class Recording(Component):
    """Component that records the history of the mesh, if the settings have an interval for it.

    `weight_of(node)` returns the balancing weight of a node.
    """

    def __init__(
        self,
        context: NodeContext,
        neighbours: Neighbours,
        topics: BusyTopics,
        strategy: str,
        weight_of: Callable[[str], float],
    ) -> None:
        self._context = context
        self._neighbours = neighbours
        self._strategy = strategy
        self._weight_of = weight_of
        self._topics = topics
        self._observed = Observed(context.me.uuid)
        self._interval = context.settings.snapshots
        self._due = 0.0
        self._number = 0
        self._skews: dict[bytes, float] = {}  # uuid -> s that its clock is ahead
        self._told: dict[str, int] = {}  # by candidate: total when last recorded
        self._longest = Longest(LONGEST)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(PeerJoined, lambda _: self._update_observed()),
            on_fact(PeerLost, self._on_peer_lost),
            on_fact(StateReceived, lambda fact: self._record_state(fact.known)),
            on_fact(OwnStateSent, lambda fact: self._state(fact.state)),
            on_fact(EventOccurred, lambda fact: self._event(fact.kind, fact.text, fact.who)),
        )

    # --- events -----------------------------------------------------------------------------------------

    def start(self, beginning: Beginning) -> None:
        """Record the start of this boot, if the settings have an interval."""
        if self._interval:
            self._due = self._context.clock.now + self._interval
            self._event(STARTED, f"boot {self._context.me.boot} at {self._context.me.address}", None)

    def _record_state(self, known: Known) -> None:
        """Record the state of another node, if this node observes that node.

        A state that came directly from the other node also shows how far that node's clock is ahead.
        """
        state = known.state
        if known.direct:
            self._skews[state.uuid] = (state.wall - self._context.clock.wall) / 1e9
        if self._observed.covers(state.uuid):
            self._state(state)

    def _event(self, kind: str, text: str, who: Introduction | None) -> None:
        """Record an event about the node `who`, or about this node if `who` is `None`."""
        about = who or self._context.me
        self._write(EVENT, about.name, about.uuid, about.boot, event=kind, text=text)

    def _update_observed(self) -> None:
        if self._interval:
            self._observed.set_living(uuid for uuid, peer in self._neighbours.peers.items() if peer.alive)

    def _on_peer_lost(self, fact: PeerLost) -> None:
        self._skews.pop(fact.peer.node.uuid, None)
        self._update_observed()

    # --- periodic figures -------------------------------------------------------------------------------

    def tick(self) -> None:
        if not self._interval:
            return
        if self._context.clock.now >= self._due:
            self._due = max(self._due + self._interval, self._context.clock.now + self._interval / 2)
            self._figures()
        self._context.clock.wake(self._due)

    def after_goodbye(self) -> None:
        """Record the final figures at a clean stop."""
        if self._interval:
            self._figures()
            self._event(STOPPED, "stopped cleanly", None)

    def _figures(self) -> None:
        for peer in islice(self._linked(), LINKS):
            self._link(peer)
        self._balances()
        self._waiting()
        me = self._context.me
        for domain, topic, messages, size in self._topics.busiest(TOPICS):
            self._write(
                TOPIC, me.name, me.uuid, me.boot, topic=topic, domain=domain, messages=messages, content=size
            )
        for address, node, fared in self._context.face.service_outcomes(SERVICES):
            if fared.total != fared.told:
                self._service(address, node, fared)

    def _linked(self) -> Iterator[Peer]:
        """Yield the peers with a data connection, then those with a control connection or a wanted link."""
        peers = self._neighbours.peers.values()
        yield from (peer for peer in peers if peer.data is not None)
        yield from (peer for peer in peers if peer.data is None and (peer.control or peer.link.is_wanted))

    def _link(self, peer: Peer) -> None:
        self._write(
            LINK,
            peer.node.name,
            peer.node.uuid,
            peer.node.boot,
            state=peer.link.state.value,
            rtt=round(peer.rtt, 6) or None,
            skew=_rounded(self._skews.get(peer.node.uuid)),
        )

    def _balances(self) -> None:
        """Record the figures of each candidate node, for an unreachable one only if they have changed."""
        for node, given in self._context.counters.tally.given.items():
            peer = self._neighbours.named(node)
            if (peer is None or not peer.alive) and self._told.get(node) == given.total:
                continue
            self._told[node] = given.total
            uuid, boot = self._who(node)
            self._write(
                BALANCE,
                node,
                uuid,
                boot,
                strategy=self._strategy,
                weight=self._weight_of(node),
                chosen=given.chosen,
                sent=given.sent,
                asked=given.asked,
                answered=given.answered,
                seconds=round(given.seconds, 6),
            )

    def _service(self, address: str, node: str, fared: OutcomeCounts) -> None:
        uuid, boot = self._who(node)
        p50, p99 = fared.take_percentiles()
        self._write(
            SERVICE,
            node,
            uuid,
            boot,
            address=address,
            sent=fared.sent,
            requests=fared.requests,
            replies=fared.replies,
            failed=fared.failed,
            lost=fared.lost,
            refused=fared.refused,
            expired=fared.expired,
            seconds=round(fared.seconds, 6),
            p50=_rounded(p50, 6),
            p99=_rounded(p99, 6),
        )

    def _who(self, node: str) -> tuple[bytes, int]:
        """Return the uuid and boot of the node named `node`, or (b"", 0) if the node is unknown."""
        me, peer = self._context.me, self._neighbours.named(node)
        if node == me.name:
            return me.uuid, me.boot
        return (b"", 0) if peer is None else (peer.node.uuid, peer.node.boot)

    def _waiting(self) -> None:
        """Record the longest backlogs, and once more each recorded backlog that has become idle."""
        me = self._context.me
        for queue in self._longest.select(self._context.face.waiting(self._longest.told)):
            self._write(
                QUEUE,
                me.name,
                me.uuid,
                me.boot,
                queue=queue.name,
                depth=queue.messages,
                bytes=queue.bytes,
                oldest=_rounded(queue.oldest),
                consumers=queue.consumers,
                arrives=_rounded(queue.arrives),
                leaves=_rounded(queue.leaves),
                dead=queue.dead,
                redelivered=queue.redelivered,
                moved_in=queue.moved_in,
                moved_out=queue.moved_out,
                ready=queue.ready,
                wants=queue.wants,
            )

    # --- lines ------------------------------------------------------------------------------------------

    def _state(self, s: NodeState) -> None:
        self._write(
            STATE, s.name, s.uuid, s.boot, version=s.counter, wall=iso(s.wall), up=round(s.up, 3),
            software=s.software, cores=len(s.cpu), cpu=_rounded(s.cpu_used), ram_free=s.ram_free,
            ram_total=s.ram_total, load=round(s.load, 4), lag=round(s.lag, 6),
            published=round(s.published, 3), delivered=round(s.delivered, 3), pending=s.pending,
            tailback=s.tailback, stored=s.stored, sessions=s.sessions, subscriptions=s.subscriptions,
            links=s.links, requested=_rounded(s.requested) or None,
            request_p50=_rounded(s.request_p50, 6) or None, request_p99=_rounded(s.request_p99, 6) or None,
            request_failed=_rounded(s.request_failed) or None, served=_rounded(s.served) or None,
            queued=s.queued or None, machine=s.machine or None,
        )  # fmt: skip

    def _write(self, kind: str, node: str, uuid: bytes, boot: int, **fields: Any) -> None:
        if not self._interval:
            return
        self._number += 1
        context, me = self._context, self._context.me
        context.out.emit(
            WriteLine(
                HistoryLine(
                    kind=kind,
                    cluster=context.settings.cluster,
                    observer=me.name,
                    observer_uuid=me.uuid.hex(),
                    observer_boot=me.boot,
                    line=self._number,
                    ts=iso(context.clock.wall),
                    node=node,
                    uuid=uuid.hex(),
                    boot=boot,
                    age=self._age(uuid),
                    **fields,
                )
            )
        )

    def _age(self, uuid: bytes) -> float | None:
        """Return the seconds since the last message from the node `uuid`, or since the last report about it.

        Return 0 for this node, and `None` for an unknown node.
        """
        if uuid == self._context.me.uuid:
            return 0.0
        member = self._neighbours.membership.member_of(uuid) if uuid else None
        return round(max(0.0, self._context.clock.now - member.heard), 3) if member is not None else None


def _rounded(value: float | None, places: int = 3) -> float | None:
    return None if value is None else round(value, places)


def history_parts(k: Parts) -> FeatureParts:
    return FeatureParts(Recording(k.context, k.neighbours, k.router.busy, k.strategy, k.weights.weight_of))
