"""What do we believe of what nodes say of each other?"""

from __future__ import annotations

from dataclasses import replace

from discovery.fates import Fates, Results
from discovery.health import Health
from discovery.member import Doubled, Node, NodeLife, Rumour
from discovery.news import News
from discovery.requests import Inform
from discovery.table import GONE, GRAVITY, MemberRecord, MemberTable, better_via, leaps, weigh
from discovery.timing import SwimTiming

# Rule 1: of two words about a node the weightier one counts (see Weight), whichever comes first.
# Rule 2: up to HEARSAY nodes, what others say makes a node seen, no more: each will speak to us itself.
#         Who asked somebody for all, and is told of more than that, has come into a crowd.
#         Of more than TOLD who never lived for us no single node can tell us.
# Rule 3: what a node itself said to us within the last period counts for more than what others suspect, or
#         say of its death or goodbye: who stood still for long has old news, and anybody may lie.
# Rule 4: we deny what is said of our own end.
# Rule 5: who is said to be us in this boot, and where we never were, is another process of our identity.

HEARSAY = 32  # nodes; among more, not everybody speaks to everybody
HIGHEST = 2**62  # incarnation: what comes after the highest that we believe must still fit on the wire


class Hearsay:
    """The ear for what nodes say of others. `no_room` counts the nodes for which the table was too full."""

    def __init__(
        self, table: MemberTable, fates: Fates, news: News, health: Health, timing: SwimTiming
    ) -> None:
        self.no_room = 0
        self._table = table
        self._fates = fates
        self._news = news
        self._health = health
        self._timing = timing
        self._places = set(places(table.me.node))  # where we have been in this boot
        self._by = b""  # who is speaking
        self._is_crowd = False  # as far as we, or who is speaking, know
        self._is_census = False  # is it all that the speaker knows, so that most of it is no news?

    def moved(self, node: Node) -> None:
        """We are to be found elsewhere."""
        self._places.update(places(node))
        self.raise_incarnation(self._table.me.incarnation)

    def sight(self, node: Node, via: str, now: float, teller: bytes = b"") -> Results:
        """Take note of a node that somebody knows of, and not whether it lives; `teller`: another node."""
        record = self._table.records.get(node.uuid)
        if record is None:
            if self._table.is_full or self._table.has_told_enough(teller):
                self.no_room += 1  # this much hearsay pushes nobody out
                return []
            return self._fates.sighted(self._fates.stranger(node, via, now, teller), node, now)
        if leaps(record, node.boot):
            return []
        record.via = better_via(record.via, via)
        node = replace(node, key=record.node.key or node.key)
        is_new_boot = node.boot > record.boot
        match record.state:
            case NodeLife.SEEN:  # the boot that others told us proves nothing, not even an older one
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
        """Take in what `by` tells. `is_answer`: we asked, and these, more than HEARSAY, are all it knows."""
        results: Results = []
        self._by, self._is_census = by, is_answer
        self._is_crowd = is_answer or self._table.alive > HEARSAY
        for rumour in rumours:
            accuses = rumour.state is not NodeLife.ALIVE
            if rumour.state not in GRAVITY or rumour.incarnation > HIGHEST - accuses:
                continue  # there must be room for a denial
            if rumour.node.uuid == self._table.me.uuid:
                results += self._about_us(rumour, by)
            else:
                results += self._about(rumour, by, now)
        return results

    # --- ourselves ----------------------------------------------------------------------------------------

    def renew(self) -> None:
        """Say of ourselves that we live, in the words that count most."""
        self._news.add(self._table.me.rumour(NodeLife.ALIVE))

    def raise_incarnation(self, above: int) -> None:
        """Whatever was said of us so far is void."""
        me = self._table.me
        me.weight = (me.boot, False, max(me.incarnation, above) + 1, GRAVITY[NodeLife.ALIVE])
        self.renew()

    def _about_us(self, rumour: Rumour, by: bytes) -> Results:
        me, node = self._table.me, rumour.node
        if node.boot != me.boot:
            return []
        if rumour.state is NodeLife.ALIVE:
            is_us = self._places.issuperset(places(node))
            return [] if is_us else [Doubled(replace(me.member, node=node))]
        if rumour.incarnation >= me.incarnation:
            self.raise_incarnation(rumour.incarnation)
            self._health.worse(1)  # perhaps we were too slow
        else:
            self.renew()  # denied already, and not heard there
        return [Inform(by, (me.rumour(NodeLife.ALIVE),))]

    # --- others -------------------------------------------------------------------------------------------

    def _about(self, rumour: Rumour, by: bytes, now: float) -> Results:
        weight = weigh(rumour)
        record = self._table.records.get(rumour.node.uuid)
        if record is None:
            return self._about_stranger(rumour, by, now)
        if record.state is NodeLife.CONFLICT or leaps(record, rumour.node.boot):
            return []  # of which of the two would that be? And a boot that is made up is none
        # What made one seen, when we knew too few to believe it, makes it alive when it is said again.
        is_enough_now = self._is_crowd and record.state is NodeLife.SEEN and weight == record.weight
        if weight > record.weight or is_enough_now:
            return self._news_of(record, rumour, now)
        if weight == record.weight and rumour.state is NodeLife.SUSPECT:
            return self._fates.confirm(record, rumour.by, now)
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
            return [Inform(record.uuid, (rumour,))]  # so that it denies that
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
            return []  # its forerunner died
        if is_newer:
            self._table.replace(record, rumour.node)
        if rumour.state is NodeLife.DEAD:
            return self._fates.die(record, rumour.by, now)
        return self._fates.leave(record, now, is_firsthand=self._by == record.uuid)

    def _spoke(self, record: MemberRecord, now: float) -> bool:
        """Just now, itself, in the life that we know?"""
        is_fresh = now - record.heard < self._timing.period
        return record.is_living and record.spoke == record.boot and is_fresh

    def _enter(self, record: MemberRecord, rumour: Rumour, now: float) -> Results:
        """Among many, the word of others is enough."""
        if self._table.holder(rumour.node.name, record.uuid) is not None:
            return []  # whose name that is, it must settle with us itself
        record.learn(weigh(rumour))
        if record.is_living:
            results = self._fates.restart(record, rumour.node, now)
        else:
            record.heard, record.spoke = now, -1  # since it is back it has not spoken to us itself
            results = self._fates.join(record, rumour.node, now)
        if self._is_census:
            self._news.drop(record.uuid)
        if rumour.state is NodeLife.SUSPECT:
            results += self._fates.suspect(record, rumour.by, now)
        return results

    def _of_living(self, record: MemberRecord, rumour: Rumour, now: float) -> Results:
        if rumour.node.boot > record.boot:
            # A boot that is made up must not shut out the true node, where it can speak for itself.
            return self._enter(record, rumour, now) if self._is_crowd else []
        results = self._fates.describe(record, rumour.node) if describes_better(rumour, record) else []
        record.learn(weigh(rumour))
        if record.state is NodeLife.SUSPECT:  # it denied what we suspected it for
            results += self._fates.trust(record, now)
        if rumour.state is NodeLife.ALIVE:
            self._news.add(rumour)
        elif self._spoke(record, now):
            results.append(Inform(record.uuid, (rumour,)))  # so that it denies that
        else:
            results += self._fates.suspect(record, rumour.by, now)
        return results


def places(node: Node) -> tuple[str, ...]:
    """The addresses at which it can be dialled."""
    return tuple(filter(None, (node.address, *node.also)))


def pinned(node: Node, known: MemberRecord) -> Node:
    """As others describe it, but with the key it had at first sight, and one name for one process."""
    name = known.node.name if node.boot == known.boot else node.name
    return replace(node, name=name, key=known.node.key or node.key)


def describes_better(rumour: Rumour, known: MemberRecord) -> bool:
    """Does it come from a later word of the node itself? An accuser may not know yet where it is now."""
    return (rumour.node.boot, rumour.incarnation) > (known.boot, known.incarnation)
