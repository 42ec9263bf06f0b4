"""State changes that follow from the reports of nodes about each other."""

from __future__ import annotations

from dataclasses import replace

from mesh.discovery.health import Health
from mesh.discovery.member import IdentityDuplicated, Node, NodeLife, Rumour
from mesh.discovery.member_transitions import MemberTransitions, Results
from mesh.discovery.requests import Inform
from mesh.discovery.rumor_queue import RumorQueue
from mesh.discovery.table import GONE, GRAVITY, MemberRecord, MemberTable, better_via, leaps, weigh
from mesh.discovery.timing import SwimTiming

# Rule 1: of two rumors about a node the weightier one counts (see Precedence), in whichever order they
# arrive.
# Rule 2: up to HEARSAY nodes, a rumor only makes a node seen: each node will introduce itself. A node that
# asked for all members and receives more than that has joined a large mesh. One node can report at most TOLD
# nodes that were never alive here.
# Rule 3: what a node itself sent within the last period outweighs a suspicion, death or goodbye that others
# report: a node that was stalled has old information, and any node may lie.
# Rule 4: a node denies rumors of its own end.
# Rule 5: a rumor of this node and boot with unknown addresses proves another process with its identity.

HEARSAY = 32  # nodes; among more, not all are connected to each other
# Highest incarnation that is believed; the next one must still fit on the wire.
HIGHEST = 2**62


class RumorEvidence:
    """Processes the reports of nodes about other nodes.

    `no_room` counts reports of unknown nodes that were dropped, because the table is full or the reporter has
    reported too many.
    """

    def __init__(
        self,
        table: MemberTable,
        fates: MemberTransitions,
        news: RumorQueue,
        health: Health,
        timing: SwimTiming,
    ) -> None:
        self.no_room = 0
        self._table = table
        self._fates = fates
        self._news = news
        self._health = health
        self._timing = timing
        self._places = set(places(table.me.node))  # own addresses in this boot
        self._by = b""  # the sender of the current rumors
        self._is_crowd = False  # more than HEARSAY nodes, as far as known
        self._is_census = False  # from the sender's list of all members, mostly no news

    def moved(self, node: Node) -> None:
        """Add the addresses in `node`, the new description of this node, and raise its incarnation."""
        self._places.update(places(node))
        self.raise_incarnation(self._table.me.incarnation)

    def sight(self, node: Node, via: str, now: float, teller: bytes = b"") -> Results:
        """Record that a node exists, without evidence that the node is alive.

        `teller` is the uuid of the node that reported it, or empty. An unknown node is not recorded if the
        table is full or `teller` has reported too many.
        """
        record = self._table.records.get(node.uuid)
        if record is None:
            if self._table.is_full or self._table.has_told_enough(teller):
                self.no_room += 1  # a report of this kind evicts no record
                return []
            return self._fates.sighted(self._fates.stranger(node, via, now, teller), node, now)
        if leaps(record, node.boot):
            return []
        record.via = better_via(record.via, via)
        node = replace(node, key=record.node.key or node.key)
        is_new_boot = node.boot > record.boot
        match record.state:
            # A reported boot proves nothing, not even one lower than the known one.
            case NodeLife.SEEN:
                is_news, is_back = node.address != record.node.address, False
            case NodeLife.DEAD:
                is_elsewhere = node.boot == record.boot and node.address != record.node.address
                is_news, is_back = is_elsewhere or is_new_boot, is_new_boot
            case NodeLife.LEFT:
                is_news = is_back = is_new_boot
            case _:
                is_news = is_back = False
        return self._fates.sighted(record, node, now, is_back) if is_news else []

    def believe(self, rumours: tuple[Rumour, ...], by: bytes, now: float, is_answer: bool = False) -> Results:
        """Process the rumors that `by` sent.

        `is_answer` means that they answer a request for all members, of which there are more than HEARSAY.
        """
        results: Results = []
        self._by, self._is_census = by, is_answer
        self._is_crowd = is_answer or self._table.alive > HEARSAY
        for rumour in rumours:
            accuses = rumour.state is not NodeLife.ALIVE
            if rumour.state not in GRAVITY or rumour.incarnation > HIGHEST - accuses:
                continue  # a denial needs a higher incarnation
            if rumour.node.uuid == self._table.me.uuid:
                results += self._about_us(rumour, by)
            else:
                results += self._about(rumour, by, now)
        return results

    # --- this node ----------------------------------------------------------------------------------------

    def renew(self) -> None:
        """Announce that this node is alive, with its current incarnation."""
        self._news.add(self._table.me.rumour(NodeLife.ALIVE))

    def raise_incarnation(self, above: int) -> None:
        """Raise the incarnation of this node above `above` and the current one, and announce it.

        The announcement outweighs every rumor of this boot with a lower incarnation.
        """
        me = self._table.me
        me.weight = (me.boot, False, max(me.incarnation, above) + 1, GRAVITY[NodeLife.ALIVE])
        self.renew()

    def _about_us(self, rumour: Rumour, by: bytes) -> Results:
        me, node = self._table.me, rumour.node
        if node.boot != me.boot:
            return []
        if rumour.state is NodeLife.ALIVE:
            is_us = self._places.issuperset(places(node))
            return [] if is_us else [IdentityDuplicated(replace(me.member, node=node))]
        if rumour.incarnation >= me.incarnation:
            self.raise_incarnation(rumour.incarnation)
            self._health.worse(1)  # perhaps this node was too slow
        else:
            self.renew()  # denied before, but not received there
        return [Inform(by, (me.rumour(NodeLife.ALIVE),))]

    # --- other nodes --------------------------------------------------------------------------------------

    def _about(self, rumour: Rumour, by: bytes, now: float) -> Results:
        weight = weigh(rumour)
        record = self._table.records.get(rumour.node.uuid)
        if record is None:
            return self._about_stranger(rumour, by, now)
        if record.state is NodeLife.CONFLICT or leaps(record, rumour.node.boot):
            return []  # ambiguous between two processes, or an invented boot
        # A rumor that only made a node seen while few nodes were known makes it alive when it is repeated.
        is_enough_now = self._is_crowd and record.state is NodeLife.SEEN and weight == record.weight
        if weight > record.weight or is_enough_now:
            return self._news_of(record, rumour, now)
        if weight == record.weight and rumour.state is NodeLife.SUSPECT:
            return self._fates.count_accuser(record, rumour.by, now)
        return []

    def _about_stranger(self, rumour: Rumour, by: bytes, now: float) -> Results:
        is_end = rumour.state in GONE
        if not self._is_crowd and self._table.has_told_enough(by):
            self.no_room += 1
            return []
        if self._table.is_full and (is_end or not self._is_crowd or not self._table.make_room()):
            self.no_room += 1
            return []
        record = self._fates.stranger(rumour.node, "gossip", now, by)
        if is_end or self._is_crowd:
            return self._news_of(record, rumour, now)
        record.learn(weigh(rumour))
        self._news.add(rumour)
        return self._fates.sighted(record, rumour.node, now)

    def _news_of(self, record: MemberRecord, rumour: Rumour, now: float) -> Results:
        node = pinned(rumour.node, record)
        is_own_word = self._by == record.uuid
        is_end = rumour.state in GONE and rumour.node.boot == record.boot
        if is_end and not is_own_word and self._spoke(record, now):
            return [Inform(record.uuid, (rumour,))]  # lets the node deny it
        if rumour.state in GONE:
            return self._end(record, replace(rumour, node=node), now)
        if record.is_living:
            return self._of_living(record, replace(rumour, node=node), now)
        if self._is_crowd:
            return self._enter(record, replace(rumour, node=node), now)
        record.learn(weigh(rumour))
        self._news.add(rumour)
        if record.state is NodeLife.SEEN:
            return self.sight(node, "gossip", now)
        return self._fates.sighted(record, node, now, is_back=True)

    def _end(self, record: MemberRecord, rumour: Rumour, now: float) -> Results:
        is_newer = describes_better(rumour, record)
        record.learn(weigh(rumour))
        if rumour.node.boot < record.boot:
            return []  # an earlier process of it ended
        if is_newer:
            self._table.set_description(record, rumour.node)
        if rumour.state is NodeLife.DEAD:
            return self._fates.die(record, rumour.by, now)
        return self._fates.mark_left(record, now, is_firsthand=self._by == record.uuid)

    def _spoke(self, record: MemberRecord, now: float) -> bool:
        """Return whether the known boot of a living node was in direct contact within the last period."""
        is_fresh = now - record.heard < self._timing.period
        return record.is_living and record.spoke == record.boot and is_fresh

    def _enter(self, record: MemberRecord, rumour: Rumour, now: float) -> Results:
        """Accept a reported node as alive, unless another node holds its name.

        In a large mesh a rumor suffices, because not all nodes are connected to each other.
        """
        if self._table.holder(rumour.node.name, record.uuid) is not None:
            return []  # the name must be settled in direct contact
        record.learn(weigh(rumour))
        if record.is_living:
            results = self._fates.restart(record, rumour.node, now)
        else:
            record.heard, record.spoke = now, -1  # no direct contact since its return
            results = self._fates.join(record, rumour.node, now)
        if self._is_census:
            self._news.drop(record.uuid)
        if rumour.state is NodeLife.SUSPECT:
            results += self._fates.suspect(record, rumour.by, now)
        return results

    def _of_living(self, record: MemberRecord, rumour: Rumour, now: float) -> Results:
        if rumour.node.boot > record.boot:
            # In a small mesh the real node introduces itself, and an invented boot must not shut it out.
            return self._enter(record, rumour, now) if self._is_crowd else []
        results = self._fates.describe(record, rumour.node) if describes_better(rumour, record) else []
        record.learn(weigh(rumour))
        if record.state is NodeLife.SUSPECT:  # it denied the suspicion
            results += self._fates.trust(record, now)
        if rumour.state is NodeLife.ALIVE:
            self._news.add(rumour)
        elif self._spoke(record, now):
            results.append(Inform(record.uuid, (rumour,)))  # lets the node deny it
        else:
            results += self._fates.suspect(record, rumour.by, now)
        return results


def places(node: Node) -> tuple[str, ...]:
    return tuple(filter(None, (node.address, *node.also)))


def pinned(node: Node, known: MemberRecord) -> Node:
    """Return the reported node with its known key, if any, and its known name if the boot is the same."""
    name = known.node.name if node.boot == known.boot else node.name
    return replace(node, name=name, key=known.node.key or node.key)


def describes_better(rumour: Rumour, known: MemberRecord) -> bool:
    """Return whether the rumor has a higher boot, or the same boot and a higher incarnation.

    Only then are its addresses newer. An accuser may know older addresses than this node.
    """
    return (rumour.node.boot, rumour.incarnation) > (known.boot, known.incarnation)
