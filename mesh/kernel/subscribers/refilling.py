"""The slave's side of a refill: a new parent sends what the former one had not passed on, in order."""

# Law 1: at each change of the next hop of a domain, the slave asks the new one for the master's log, from the
#        position up to which all its own subscribers have acknowledged everything. Where rules name another
#        master, there is nothing to refill: both masters are subscribed while rules change.
#        With several masters there is no refill: each message is in more than one log.
#        A domain that had another next hop is also refilled when the present one logs in again after this
#        node got other queries, and after a restart.
# Law 2: the master's newer messages of the domain wait, by whichever peer they come, until the refill is
#        complete. First values wait, too.
# Law 3: the part stays pinned at the master until the slave's subscribers have acknowledged it. A slave that
#        restarts meanwhile asks again: it stores the refill before its first question.

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, LoggedOut, RoutesChanged
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, PeerReply, Replies
from mesh.kernel.routes.strata import LiveStrata
from mesh.kernel.subscribers.item_arrivals import ItemArrivals
from mesh.kernel.subscribers.parent_rows import ParentRow, ParentRows
from mesh.kernel.subscribers.pull import check_page
from mesh.kernel.subscribers.refill import Refill, is_master_of, next_hop
from mesh.mapping.backups import masters_of
from mesh.mapping.mapping import Mapping
from mesh.mapping.strata import UNTOLD
from mesh.routing.refill_gates import RefilledRoute
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.calls import AskRefill
from mesh.wire.limits import FOLLOWED, MIB
from mesh.wire.replies import Refilled

AGAIN, SOON = 1.0, 0.1  # s until a failed question is repeated, until the next look at a confirmation
WITHIN = 10.0  # s for a page
AHEAD = 4 * MIB  # bytes that may wait for subscribers before the next page
TOUCH = 600.0  # s between two questions that keep a pin
SECRET = 7  # bytes of the number of a refill


class Refilling(Component):
    """Component that refills logs when the next hop of a domain changes.

    `resumed` maps the sources of refilled envelopes to their handlers.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        mapping: Mapping,
        neighbours: Neighbours,
        nodes: Nodes,
        questions: PeerCalls,
        demand: InterestSync,
        strata: LiveStrata,
        arrivals: ItemArrivals,
        resumed: dict[bytes, Callable[[StoredEnvelope], None]],
    ) -> None:
        self._context = context
        self._disk = disk
        self._mapping = mapping
        self._neighbours = neighbours
        self._nodes = nodes
        self._questions = questions
        self._demand = demand
        self._strata = strata
        self._arrivals = arrivals
        self._resumed = resumed
        self._parents = ParentRows(disk, neighbours, nodes)
        self._refills: dict[str, Refill] = {}
        self._count = 0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(RoutesChanged, lambda _: self._schedule_review()),
            on_fact(LoggedIn, lambda fact: self._on_login(fact.peer)),
            on_fact(LoggedOut, lambda fact: self._parents.on_logout(fact.peer)),
        )

    def figures(self) -> dict[str, int | float]:
        return {"refilling": len(self._refills)}

    def requires_login(self, peer: Peer) -> bool:
        return any(refill.parent == peer.node.uuid for refill in self._refills.values())

    def start(self, beginning: Beginning) -> None:
        self._parents.restore(beginning)

    # --- next hops --------------------------------------------------------------------------------------

    def _schedule_review(self) -> None:
        if self._context.settings.adopts_parents and (self._refills or not self._mapping.is_plain):
            self._context.out.ending[self._review] = None

    def _review(self) -> None:
        """Begin a refill for each domain whose next hop has changed."""
        if not self._nodes.is_settled():
            return
        domains = self._mapping.named_domains()[:FOLLOWED]
        for domain in [domain for domain in self._refills if domain not in domains]:
            self._release(domain)
        for domain in domains:
            hop = next_hop(self._mapping, self._nodes, domain)
            row = self._parents.rows.get(domain)
            if hop is None:
                if row is not None and not is_master_of(row.master, self._mapping, self._nodes, domain):
                    self._arrivals.gates.remove_route(domain)
                continue
            uuid = hop.node.uuid
            if row is None:
                self._parents.store_row(domain, ParentRow(self.master_of(domain), uuid))
            elif row.hop != uuid and (
                not row.master or self._is_new_master(domain, hop.node.name, row.master)
            ):
                self._release(domain)
                self._parents.store_row(domain, ParentRow(hop.node.name if row.master else "", uuid))
            elif row.hop != uuid or (domain not in self._refills and self._parents.is_due(domain, hop)):
                self._begin(domain, row, uuid)

    def _is_new_master(self, domain: str, hop: str, master: str) -> bool:
        """Return whether the next hop is the master by the rules, and took the place of another master."""
        return hop != master != "" and hop in masters_of(self._mapping.of_domain(domain, self._nodes))

    def _release(self, domain: str) -> None:
        """End a refill that is not of the only master any longer, and release its pin."""
        self._arrivals.gates.remove_route(domain)
        refill = self._refills.pop(domain, None)
        if refill is None:
            return
        self._resumed.pop(refill.id, None)
        self._arrivals.open_gate(domain)
        peer = self._neighbours.peers.get(refill.parent)
        if peer is not None and peer.data is not None and refill.ask.end:
            done = replace(refill.ask, done=refill.ask.end)
            self._questions.ask_all([peer], done, Refilled, lambda replies, missing: None, WITHIN)

    def _begin(self, domain: str, row: ParentRow, parent: bytes) -> None:
        """Ask `parent` for all that the former next hop may not have passed on."""
        before = self._refills.pop(domain, None)
        if before is not None:
            self._resumed.pop(before.id, None)
        self._arrivals.gates.remove_route(domain)
        master = self._parents.uuid_of(self.master_of(domain))
        secret = int.from_bytes(self._context.ids(SECRET))
        begun, floor = self._parents.begin_refill(domain, parent, master, secret)
        self._count += 1
        me, at, number = self._context.me.uuid, begun.at, begun.number
        ask = AskRefill(slave=me, number=number, domain=domain, at=at, former=begun.former)
        hop = b"" if row.is_open else row.hop
        refill = Refill(ask, parent, master, at, floor, b"refill" + self._count.to_bytes(8), hop)
        self._refills[domain] = refill
        self._resumed[refill.id] = partial(self._on_released, domain, refill)
        if master:
            self._arrivals.gates.close_gate(domain, master, at)
        self._disk.commit((), lambda error: self._on_stored(refill))

    def _on_stored(self, refill: Refill) -> None:
        refill.is_stored = True  # or the disk is full
        self._retry(refill, 0.0)

    # --- questions --------------------------------------------------------------------------------------

    def _on_login(self, peer: Peer) -> None:
        self._parents.on_login(peer, self._demand.interest_of(peer).version)
        self._schedule_review()  # the gate is closed before the first item comes
        for refill in self._refills.values():
            if refill.parent == peer.node.uuid:
                refill.is_asking = False
                self._retry(refill, 0.0)

    def _retry(self, refill: Refill, after: float) -> None:
        refill.again_at = self._context.clock.now + after
        self._context.clock.wake(refill.again_at)

    def tick(self) -> None:
        for domain, refill in list(self._refills.items()):
            if refill.is_stored and not refill.is_asking and refill.again_at <= self._context.clock.now:
                self._ask(domain, refill)

    def on_second(self) -> None:
        self._parents.review(self._context.me.uuid, self.master_of, self._strata.own)
        self._schedule_review()

    def master_of(self, domain: str) -> str:
        """Return the master at which the last known route of a domain ended, or "" if there are several."""
        own, row = self._strata.own.get(domain), self._parents.rows.get(domain)
        if own is not None and len(own.way) > 1 and own.masters and own.way[-1] != UNTOLD:
            return own.way[-1] if own.masters == 1 else ""
        return row.master if row is not None else ""

    def _ask(self, domain: str, refill: Refill) -> None:
        peer = self._neighbours.peers.get(refill.parent)
        if peer is None or peer.data is None or not peer.alive:
            if peer is not None:
                self._neighbours.review_login(peer)
            self._retry(refill, AGAIN)
        elif not self._demand.is_confirmed_by(refill.parent):
            self._retry(refill, SOON)
        elif refill.is_complete:
            self._settle(domain, refill, peer)
        elif sum(refill.open.values()) > AHEAD:
            self._retry(refill, AGAIN)
        else:
            self._send(domain, refill, peer, refill.ask)

    def _send(self, domain: str, refill: Refill, peer: Peer, ask: AskRefill) -> None:
        refill.is_asking, refill.asked_at = True, self._context.clock.now
        if not ask.end:  # the hop has all queries, and the refill ends after it had them
            self._parents.unproven.discard(domain)
        came = partial(self._on_reply, domain, refill, ask)
        self._questions.ask_all([peer], ask, Refilled, came, WITHIN, is_patient=True)

    def _on_reply(
        self, domain: str, refill: Refill, ask: AskRefill, replies: Replies[Refilled], missing: list[str]
    ) -> None:
        if self._refills.get(domain) is not refill:
            return
        refill.is_asking = False
        reply = replies.get(refill.parent)
        if reply is None:
            self._retry(refill, AGAIN)
        elif reply.code:
            self._on_refused(domain, refill, reply.code)
        elif ask.end and ask.done >= ask.end:
            self._finish(domain, refill)
        else:
            try:
                self._take_page(domain, refill, reply)
            except RemoteError as error:
                self._on_refused(domain, refill, error.code)

    def _on_refused(self, domain: str, refill: Refill, code: str) -> None:
        if code == "UNKNOWN_PIN":  # the pin ended: begin anew
            refill.ask = replace(refill.ask, at=self._parents.rows[domain].at, end=0, done=0)
        elif code not in ("MASTER_AWAY", "TOO_MANY"):  # an earlier release, or a faulty node
            peer = self._neighbours.peers[refill.parent]
            text = f"{domain}: {peer.node.name} cannot refill the log of the master: messages may come late"
            self._context.event("rules", f"{text} [{code}]", peer.node, level="warning")
            self._arrivals.open_gate(domain)
            self._finish(domain, refill, is_refused=True)
            return
        self._retry(refill, AGAIN)

    def _take_page(self, domain: str, refill: Refill, reply: PeerReply[Refilled]) -> None:
        """Relay a page to the subscribers here, and ask for the next one."""
        page, envelopes = reply.value, [envelope for envelope, _ in reply.found]
        check_page(refill.ask, page, envelopes)
        found = refill.take_page(page, envelopes, self._mapping.named_domains())
        self._context.counters.add_count("refilled_messages", sum(each.envelope.count for each in found))
        self._arrivals.relay_page(domain, page.master, found, page.next)
        for stored in found:
            if not stored.owed:
                refill.open.pop(stored.position, None)
        if refill.is_complete:
            self._arrivals.open_gate(domain)
            lacks = partial(self._lacks_queries, refill.parent)
            route = RefilledRoute(page.master, refill.parent, refill.first, page.end, lacks)
            self._arrivals.gates.set_route(domain, route)
        self._retry(refill, 0.0)

    def _lacks_queries(self, hop: bytes) -> bool:
        """Return whether a next hop is linked, but has yet to confirm queries of this node."""
        peer = self._neighbours.peers.get(hop)
        return peer is not None and peer.data is not None and not self._demand.is_known_to(peer)

    # --- acknowledgements -------------------------------------------------------------------------------

    def _on_released(self, domain: str, refill: Refill, stored: StoredEnvelope) -> None:
        refill.open.pop(stored.position, None)
        if self._refills.get(domain) is refill and not refill.open:
            self._retry(refill, 0.0)

    def _settle(self, domain: str, refill: Refill, peer: Peer) -> None:
        """Release the pin if the subscribers here have acknowledged all; keep it otherwise."""
        settled, received = self._parents.progress(refill.hop, refill.master)
        is_open = refill.open or (0 < settled <= min(received, refill.floor))
        if not is_open:
            self._send(domain, refill, peer, replace(refill.ask, done=refill.ask.end))
        elif self._context.clock.now >= refill.asked_at + TOUCH:
            self._send(domain, refill, peer, replace(refill.ask, done=0))
        else:
            self._retry(refill, AGAIN)

    def _finish(self, domain: str, refill: Refill, is_refused: bool = False) -> None:
        del self._refills[domain]
        self._resumed.pop(refill.id, None)
        row = ParentRow(self.master_of(domain), refill.parent, number=refill.ask.number)
        if not is_refused:
            row = replace(row, number=0, former=self._parents.rows[domain].former, at=refill.ask.end + 1)
        self._parents.store_row(domain, row)
