"""What becomes of a message that is published here, or comes on its way: here, onward, or waiting?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

from msgspec.structs import replace

from mesh.core.delivery.bindings import Answered
from mesh.core.delivery.router import Router, refusal
from mesh.core.desk.desk import Desk, is_followed
from mesh.core.desk.disk import Disk
from mesh.core.desk.facts import Hearing, hear
from mesh.core.desk.part import TAILED_BACK, HandlerEntry, Part, Restores, take
from mesh.core.forwarding.abroad import LetterWays, is_site
from mesh.core.forwarding.deadletters import DeadLetters
from mesh.core.forwarding.deciding import CHANGING, CIRCULAR, TO_MASTER, UNKNOWN, Deciding
from mesh.core.forwarding.incoming import Incoming
from mesh.core.forwarding.lastwords import LastWords
from mesh.core.forwarding.marking import FirstMarking, untailed
from mesh.core.forwarding.provenance import Provenance
from mesh.core.forwarding.provisional import Provisional
from mesh.core.forwarding.putoff import PutOff
from mesh.core.forwarding.shipping import Shipping
from mesh.core.forwarding.tailback import TailBack
from mesh.core.peers.facts import WaysChanged
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.states.facts import RoutesVouched
from mesh.core.ways.facts import Ruled, WayTold
from mesh.core.ways.nodes import Nodes
from mesh.errors import LocalError, PublishRefused
from mesh.loglevels import ROUTES
from mesh.mapping.decision import Decision, Kind
from mesh.mapping.keyxml import check_xml
from mesh.mapping.mapping import Mapping
from mesh.names import OTHERS, PUTS
from mesh.patterns import SYSTEM
from mesh.reasons.reason import reason
from mesh.reasons.what import MESSAGE, What
from mesh.reserved import reserved
from mesh.routing.entry import HERE, SOMEBODY, Entry
from mesh.routing.onward import Onward
from mesh.routing.rulings import Rulings
from mesh.sites.hops import inside, is_foreign
from mesh.sites.letters import UNKNOWN as KNOWS_NO_SITE
from mesh.sites.letters import UNREACHABLE, split
from mesh.sites.pauses import is_for_now
from mesh.values import check_domain
from mesh.wire.commands import Answer, Forward, Outcome, Outcomes
from mesh.wire.envelope import HELD, LOCAL_ONLY, TAILED, Envelope
from mesh.wire.limits import DIRTY
from mesh.wire.properties import check_properties
from mesh.wire.replies import Reason

WARNING = "FORWARD_WARNING"
HOLDS = 10.0  # s after a change of rules in which a circle is no last word for who may not know of it
MAY_BE_THERE = (CIRCULAR, UNREACHABLE)  # refusals that are no last words of what was sent
UUID = 16  # bytes: the source of what a peer has brought


class Forwarder(Part):
    """The forwarding of messages. `to_client(stream, answer)` tells a publisher. `had` notes what this node
    has taken that another may take as well, where masters stand in for each other. `to_site(source, stream,
    answer)` tells a gateway of another site; `holds_back(envelope)` keeps what goes into a full queue,
    and `abroad()` knows the ways to other sites.
    """

    def __init__(  # noqa: PLR0913
        self,
        desk: Desk,
        disk: Disk,
        router: Router,
        neighbours: Neighbours,
        nodes: Nodes,
        mapping: Mapping,
        provenance: Provenance,
        dead: DeadLetters,
        to_client: Callable[[bytes, Answer], None],
        had: Callable[[Envelope], None],
        to_site: Callable[[bytes, bytes, Answer], None],
        holds_back: Callable[[Envelope], bool],
        abroad: Callable[[], LetterWays],
        provisional: Provisional,
    ) -> None:
        s, log = desk.settings, router.log
        self.onward = Onward(s.window_bytes, s.window_count)
        self._refused = LastWords(desk.me.name, log.given_up)
        self._abroad = abroad
        self._deciding = Deciding(
            desk, mapping, nodes, lambda site, waits: self._abroad().decide(site, waits)
        )
        self.rulings = Rulings(
            self.onward, lambda entry: self._deciding.decide(entry.envelope), self._rouse, self._look_in_turn
        )
        self.tailback = TailBack(
            desk,
            disk,
            log,
            self.onward,
            dead,
            nodes.is_alive,
            self._say,
            self._refused.keep,
            self.rulings.is_unsettled,
            provisional.refused,
        )
        self.mapping = mapping
        marking = self._marking = FirstMarking(desk, router, nodes, mapping, provisional)
        self.incoming = Incoming(desk, provenance, marking.of_older, self._take, self._say)
        self._neighbours = neighbours
        self._to_client = to_client
        self._had = had
        self._desk = desk
        self._router = router
        self._provisional = provisional
        self._nodes = nodes
        self.shipping = Shipping(
            desk,
            self.onward,
            neighbours,
            self.rulings.may_leave,
            marking.to,
            lambda hop: self._abroad().ship(hop),
        )
        self._to_site = to_site
        self._settled = False
        self._was_master = False  # perhaps, of what it is none of now
        self._put_off = PutOff(desk, self.onward, self.rulings)
        self._holds_back = holds_back
        self._restored: list[tuple[int, Envelope]] = []  # what waited here when the last process ended

    def hears(self) -> Sequence[Hearing]:
        return (
            hear(Ruled, self._ruled),
            hear(WaysChanged, lambda _: self.review()),
            hear(WayTold, lambda _: self.review()),
            hear(RoutesVouched, lambda _: self.incoming.release()),
        )

    def _ruled(self, fact: Ruled) -> None:
        """Other rules are to count, or do."""
        now = self._desk.now
        self._put_off.ruled()
        self._deciding.holds_until = 0.0 if fact.is_agreed else now + HOLDS
        self._desk.wake(now + HOLDS)
        if fact.is_now:
            self._was_master = True
            self.rulings.refile(lambda entry: self._deciding.question(entry.envelope))
            self._put_off.refiled()

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (
            take(Forward, lambda conn, peer, command, envelopes: self.incoming.forwarded(peer, envelopes)),
            take(Outcomes, lambda conn, peer, command, _: self.outcomes(peer, command)),
        )

    def restores(self) -> dict[str, Restores]:
        return {TAILED_BACK: lambda position, envelope: self._restored.append((position, envelope))}

    def resumed(self) -> None:
        # In each publisher's order, whatever the order in which they had to be stored.
        self._was_master = self._router.log.has_taken  # rules may be others than they were
        restored, self._restored = self._restored, []
        for position, e in sorted(restored, key=lambda each: (each[1].stream, each[1].domain, each[1].first)):
            self._router.shelf.live += 1
            self._restore(position, replace(e, flags=e.flags & ~TAILED))

    def why(self, what: What) -> Iterator[Reason]:
        """Of a message: for whom it waits here, or why it was refused."""
        if what.kind != MESSAGE:
            return
        stream, domain, number = what.message
        for entry, _, _ in self.onward.answered(stream, domain, number, number):
            hops = [hop for hop in entry.hops if number in entry.lacking[hop]]
            yield from (self._waits(entry, hop) for hop in hops)
        refusal = self._refused.of(stream, domain, number)
        if refusal is not None:
            yield reason("REFUSED", why=refusal.state)

    def _waits(self, entry: Entry, hop: str) -> Reason:
        if self.onward.is_under_way(entry, hop):
            return reason("UNDER_WAY", next=hop)
        if is_site(hop):
            state = self._abroad().says(hop)
        else:
            state = self._nodes.standing(hop).says if hop else "nobody is its master"
        return reason("WAITS_FOR", next=hop or "a master", why=entry.why, state=state)

    def figures(self) -> dict[str, int | float]:
        return {
            "tailed_back": self.onward.messages,
            "tailback_bytes": self.onward.bytes,
            "tailback_age": self.tailback.age(),
        }

    def holds(self) -> int:
        return self.onward.bytes

    # --- taking -----------------------------------------------------------------------------------------

    def publish(self, envelope: Envelope, was_sent: bool = False) -> None:
        """From a client of this node, which stands in it as the sender. `was_sent`: perhaps it went on
        before, so that it may be with its master, answered or not.
        """
        if envelope.flags & LOCAL_ONLY or (
            self.mapping.is_plain
            and not envelope.to
            and not self.onward.holds(envelope.stream, envelope.domain)
        ):
            self._here(envelope, b"")
        elif envelope.to[:6] == PUTS:
            if not self._holds_back(envelope):
                self.put(envelope)
        elif envelope.to.startswith(OTHERS):
            self._take(self._at_home(envelope), b"", was_sent)
        else:
            self._take(envelope, b"", was_sent)

    def _at_home(self, envelope: Envelope) -> Envelope:
        """It, as it is written here when it names this site."""
        site, name = split(envelope.to)
        return replace(envelope, to=name) if site == self._desk.settings.site else envelope

    def enter(self, envelope: Envelope, source: bytes) -> None:
        """From another site: `source` is longer than the uuid of a peer, and `to_site` tells it."""
        self._take(envelope, source)

    def put(self, envelope: Envelope) -> None:
        """Into a queue: accepted where it was published, always."""
        self._here(envelope, b"")

    def _take(self, envelope: Envelope, source: bytes, was_sent: bool = False) -> None:
        known, missing = self.onward.covering(envelope)
        if known and self._deciding.is_only_here(envelope):
            # A copy for this node: what others of its masters have not answered is not asked, of one of whom
            # it may come, who waits for us.
            known, missing = [], [(envelope.first, envelope.last)]
        for entry in known:
            if not (source or entry.is_kept):
                self.tailback.adopt(entry)
            # Whoever brought it first has it under way, and keeps it until he is answered.
            entry.brought_by(source, self._is_there)
            self.tailback.repeat(entry, envelope)
        try:
            check_domain(envelope.domain)
            if envelope.props:
                check_properties(envelope)
            if envelope.xml:
                check_xml(envelope.xml)
            if source and envelope.domain.startswith(SYSTEM):  # of clients here that was asked before
                raise reserved(envelope.domain)
            for first, last in missing:
                for part in self._news(envelope, first, last, source):
                    for run, decision in self._deciding.runs(part):
                        self._act(run, source, decision, was_sent)
        except LocalError as error:  # a name or domain that cannot be
            self._desk.count("refused", envelope.count)
            self._answer(source, envelope, refusal(envelope, error))

    def _is_there(self, source: bytes) -> bool:
        """Can it be answered?"""
        peer = self._neighbours.peers.get(source)
        return not source or len(source) > UUID or (peer is not None and peer.data is not None)

    def _news(self, e: Envelope, first: int, last: int, source: bytes) -> Iterator[Envelope]:
        """The parts of it that were not refused before; of the rest whoever sent it is told again."""
        for a, b, answer in self._refused.again(e, first, last, not source):
            if answer is None:
                yield e.part(a, b)
            else:
                self._answer(source, e, answer)

    def _act(self, envelope: Envelope, source: bytes, decision: Decision, was_sent: bool) -> None:
        is_here = decision.kind is Kind.HERE and not decision.copies
        before = self._put_off.waits_for(envelope, decision)
        if before is not None and self.onward.covering(envelope)[0]:
            before = None  # a copy for this node of what stands in line here for others of its masters
        if is_here and before is None:
            is_shared = decision.is_shared or inside(envelope.route) is not envelope.route
            stamp = self._shared_stamp(envelope) if is_shared else 0
            self._here(envelope, source, stamp, decision.stands_for)
            return
        if self._was_master and self._answers(envelope, source, decision, was_sent):
            return
        if decision.kind is Kind.REFUSE or self._turns_back(decision, source):
            self._desk.count("refused", envelope.count)
            # Of another node's message that is said of the way by which it came, not of the message.
            answer = refusal(envelope, _refused(decision))
            if source:
                self._say(source, envelope.stream, answer)
            else:
                self._answer(source, envelope, answer)
            return
        question = self._deciding.question(envelope)
        hop = self._desk.hop(TO_MASTER if decision.to_master else 0)  # its master counts the strata
        if envelope.flags & HELD:
            envelope = envelope.without(HELD)
        envelope = envelope.passed(hop, self._desk.stamp())
        entry = self.onward.add(envelope, source, self._desk.now)
        entry.was_sent = was_sent
        if not source and not envelope.to:
            self._router.cache.went(envelope)
        what = " ".join(filter(None, (envelope.keys[0], envelope.domain, envelope.to)))
        whom = ", ".join(decision.hops)
        self._desk.note("debug", f"{what}: {decision.kind.value} {whom}: {decision.why}", ROUTES)
        if before is not None:
            self._put_off.put_behind(entry, before)
        else:
            entry.is_given = self.mapping.has_dirty and self._provisional.goes(envelope, decision)
            self.rulings.file(entry, question, decision)
            self._go(entry, decision)
        self.tailback.watch(entry)

    def _answers(self, e: Envelope, source: bytes, decision: Decision, was_sent: bool) -> bool:
        """Has this node taken messages of it while it was their master? Then it answers these, and only the
        others go on: by their new master they would be given once more.
        """
        lane = self._router.log.known(e.stream, e.domain)
        if lane is None or e.to or is_foreign(e.sender) or self._has_several(e):
            return False
        taken, left = lane.origin.above.common(e.first, e.last), lane.origin.above.missing(e.first, e.last)
        if not taken:
            return False
        for first, last in taken:
            self._here(e.part(first, last), source)
        for first, last in left:
            self._act(e.part(first, last), source, decision, was_sent)
        return True

    def _has_several(self, e: Envelope) -> bool:
        """May any of it have more than one master?"""
        mapping = self.mapping
        return mapping.has_several and any(len(mapping.holders(key, e)) > 1 for key in e.keys)

    def _here(
        self, envelope: Envelope, source: bytes, stamp: int = 0, stands_for: Sequence[str] = ()
    ) -> None:
        def answered(answer: Answer) -> None:
            self._answer(source, envelope, answer)

        then = self._taking(envelope, stands_for, answered) if self.mapping.has_backups else answered
        holder = None
        if envelope.flags & HELD:
            holder, envelope = self._link_of(source), envelope.without(HELD)
        self._router.publish(_pace(source, envelope.stream), envelope, then, stamp, holder)

    def _link_of(self, source: bytes) -> object:
        """The life of the link to the peer that has brought something."""
        peer = self._neighbours.peers.get(source)
        return peer.begun.outlet.life if peer is not None and peer.begun is not None else None

    def _taking(self, envelope: Envelope, stands_for: Sequence[str], say: Answered) -> Answered:
        """What to do with the answer to what this node takes, perhaps in place of others, where there are
        backups.
        """
        if envelope.to:
            return say
        note = f"at {self._desk.me.name}, as {', '.join(stands_for)} cannot be asked" if stands_for else ""

        def answered(answer: Answer) -> None:
            if answer.state == "OK":
                self._had(envelope)
                answer = replace(answer, text=note or answer.text)
            say(answer)

        return answered

    def _here_too(self, entry: Entry) -> None:
        """This node is one of its masters."""
        e, entry.was_sent = self._marking.here(entry), True

        def answered(answer: Answer) -> None:
            self.tailback.finish(entry, HERE, answer)
            self._warn_in_vain(entry)

        self._router.publish(_pace(entry.source, e.stream), e, answered, self._shared_stamp(e))

    def _shared_stamp(self, envelope: Envelope) -> int:
        """The stamp of the node where it was published, unless that is far ahead: several masters must agree
        which value is the last, though it reaches them in a different order. That of another site is never
        replaced: all sites must agree.
        """
        if is_followed(envelope.sent, self._desk.wall):
            self._desk.heard_stamp(envelope.sent)
            return envelope.sent
        return envelope.sent if is_foreign(envelope.sender) else 0

    def _go(self, entry: Entry, decision: Decision) -> None:
        is_master = decision.kind is Kind.HERE
        is_new_here = is_master and HERE not in entry.lacking
        if decision.copies or entry.first:
            self._marking.decided(entry, decision)
        self.onward.assign(entry, (*((HERE,) if is_master else ()), *decision.hops), decision.why)
        _address(entry, decision.to_master)
        if is_new_here:
            self._here_too(entry)
        for hop in entry.hops:
            self._send_to(hop)
        self._warn_in_vain(entry)

    def _send_to(self, hop: str) -> None:
        """Something waits for that node."""
        self.shipping.due(hop)
        peer = self._nodes.named(hop)
        if peer is not None and peer.data is None and self._nodes.is_alive(hop):
            self._neighbours.review_login(peer)

    def _warn_in_vain(self, entry: Entry) -> None:
        """Its publisher learns at once that it waits, if nobody is left who may answer soon."""
        is_expected = entry.lacking.get(HERE) or entry.why.startswith("asking") or not self._settled
        if entry.hops and not is_expected and not any(self._may_answer(entry, hop) for hop in entry.hops):
            self.tailback.warn(entry)

    def _may_answer(self, entry: Entry, hop: str) -> bool:
        peer = self._nodes.named(hop)
        if peer is None or not self._nodes.is_alive(hop):
            return is_site(hop) and self._abroad().has_way(hop)
        return not (peer.data is None and peer.lost_at is not None and peer.link.attempt > 1)  # tried in vain

    # --- answers ----------------------------------------------------------------------------------------

    def outcomes(self, peer: Peer, command: Outcomes) -> None:
        """Take what became of messages that were forwarded to a peer."""
        for outcome in command.outcomes:
            a = outcome.answer
            found = self.onward.answered(outcome.stream, a.domain, a.first, a.last)
            if not found:
                self._desk.count("unasked")
            for entry, first, last in found:
                part = Answer(a.domain, first, last, a.state, a.matched, a.text)
                line = self.onward.line_of(entry, peer.node.name)
                if line is not None:
                    line.progress = self._desk.now
                self._outcome(entry, peer.node.name, part)
        self.shipping.due(peer.node.name)  # its window is open again

    def said(self, entry: Entry, hop: str, answer: Answer) -> None:
        """Take what became of a letter to another site."""
        self._outcome(entry, hop, answer)
        self.shipping.due(hop)

    def _outcome(self, entry: Entry, hop: str, answer: Answer) -> None:
        if answer.state == WARNING:
            if hop in entry.lacking:
                self.tailback.warn(entry, answer.text)
        elif hop in entry.lacking and self._may_turn(entry, answer):
            self._put_off.comes_back(entry, answer.text)
        elif hop in entry.lacking:
            self.tailback.finish(entry, hop, answer)
            if entry.was_divided:
                self._warn_in_vain(entry)
        elif answer.state == "OK" and hop in entry.former and not entry.was_divided:
            # By another way; that may refuse what it likes.
            self.tailback.finish(entry, entry.hops[0], answer)

    def _may_turn(self, entry: Entry, answer: Answer) -> bool:
        """Was it refused only since some nodes have new rules, and others not yet?"""
        is_passing = answer.state == CHANGING or (answer.state == CIRCULAR and self._put_off.is_lately)
        return is_passing and not entry.was_divided

    def _go_again(self) -> None:
        """Decide what came back from a circle, and what was held for one."""
        for entry in self._put_off.due():
            decision = self._deciding.decide(entry.envelope)
            self.rulings.file(entry, self._deciding.question(entry.envelope), decision)
            self._look(entry, decision)
        if 0.0 < self._deciding.holds_until <= self._desk.now:
            self._deciding.holds_until = 0.0
            self.review()

    def _answer(self, source: bytes, e: Envelope, answer: Answer) -> None:
        if answer.state not in ("OK", WARNING) and not is_for_now(e.sender, answer.state, e.to):
            self._refused.keep(e.stream, answer)
        self._say(source, e.stream, answer)

    def _say(self, source: bytes, stream: bytes, answer: Answer) -> None:
        if len(source) > UUID:
            self._to_site(source, stream, answer)
        elif source:
            self.shipping.answer(source, Outcome(stream, answer))
        else:
            self._to_client(stream, answer)

    # --- what changes -----------------------------------------------------------------------------------

    def linked(self, peer: Peer) -> None:
        """Its data connection stands."""
        self.incoming.provenance.introduce(peer)
        self.onward.broken(peer.node.name)  # whatever an earlier connection carried may be lost
        self._review_if_met(peer)
        self.shipping.due(peer.node.name)

    def unlinked(self, peer: Peer) -> None:
        """Its data connection is gone: what it has not answered waits again."""
        self.incoming.provenance.forget(peer)
        for entry in self.onward.broken(peer.node.name):
            if not entry.was_divided:
                self.tailback.warn(entry)
        self._review_if_met(peer)

    def lost(self, hop: str) -> None:
        """A way to another site is no more: what went by it goes again, by another one if there is any."""
        again = self.onward.broken(hop)
        if not self._abroad().has_way(hop):
            for entry in again:
                self.tailback.warn(entry)
        self.review()

    def _review_if_met(self, peer: Peer) -> None:
        """A node that is not named here is known only as long as it has linked itself."""
        if not self._nodes.is_named(peer.node.name):
            self.review()

    def needs_login(self, peer: Peer) -> bool:
        """Does anything wait for it?"""
        return peer.node.name in self.onward.hops()

    def review(self) -> None:
        """Nodes or rules have changed: does everything that waits still go the right way?"""
        self._deciding.forget()
        self.rulings.doubt(self.tailback.young())
        self._go_on()

    def _go_on(self) -> None:
        """See to that, as far as there is time in this turn of the loop."""
        self.rulings.go_on()
        for hop in self.onward.hops():  # what was held back may leave now
            self.shipping.due(hop)

    def _rouse(self, decision: Decision) -> None:
        """Send on what a new decision lets leave."""
        for hop in decision.hops if decision.kind is not Kind.REFUSE else ():
            self._send_to(hop)

    def _look_in_turn(self, entry: Entry, decision: Decision) -> None:
        """The same, where all that came before it was looked at."""
        self._look(entry, decision, is_in_turn=True)

    def _look(self, entry: Entry, decision: Decision, is_in_turn: bool = False) -> None:
        """That was decided of an entry."""
        is_here = decision.kind is Kind.HERE and not decision.copies
        may_wait = is_here or entry.hops == [""] or not (entry.was_sent or entry.was_divided)
        before = self._put_off.waits_for(entry.envelope, decision, is_in_turn) if may_wait else None
        if before is not None:
            self._put_off.put_behind(entry, before)
        elif is_here:
            self._take_over(entry, decision)
        elif decision.kind is Kind.REFUSE and entry.was_sent and _may_be_there(entry, decision):
            return  # it may have reached its node, which is away now: nobody may call it refused
        elif decision.kind is Kind.REFUSE or self._goes_back(entry, decision):
            self.tailback.refuse(entry, _refused(decision))
        else:
            self._go(entry, decision)

    def _goes_back(self, entry: Entry, decision: Decision) -> bool:
        """Does it wait better at whoever has brought it?"""
        is_to_stay = entry.is_kept or entry.was_sent or entry.is_given
        return not is_to_stay and self._turns_back(decision, entry.source)

    def _turns_back(self, decision: Decision, source: bytes) -> bool:
        """Is it in a circle that may soon be none? Whoever reads his rules last is where that is known first.
        Who is of an earlier release, which shows in his words, would take that for the last word.
        """
        peer = self._neighbours.peers.get(source) if decision.code == CHANGING else None
        return peer is not None and DIRTY in peer.speaks

    def _take_over(self, entry: Entry, decision: Decision) -> None:
        """This node is its master after all."""
        self._marking.decided(entry, decision)
        envelope = self._marking.here(entry)
        self.onward.remove(entry)
        hop = entry.hops[0]

        def finish(answer: Answer) -> None:
            self.tailback.finish(entry, hop, answer)

        for first, last in entry.open:
            part = envelope.part(first, last)
            answered = self._taking(part, decision.stands_for, finish)
            stamp = self._shared_stamp(part) if is_foreign(part.sender) else 0
            self._router.publish((entry.source, part.stream), part, answered, stamp)

    def _restore(self, position: int, envelope: Envelope) -> None:
        """From the store, at start: it waited here."""
        envelope, first = untailed(envelope)
        entry = self.onward.add(envelope, b"", self._desk.now)
        entry.position, entry.warned = position, True
        entry.first, entry.first_was_sent, entry.sent_to = first, bool(first), SOMEBODY
        entry.was_sent = envelope.to.startswith(OTHERS)  # perhaps; so it waits until there is a way
        decision = self._deciding.decide(envelope)
        is_elsewhere = decision.kind in (Kind.FORWARD, Kind.WAIT)  # else that is done when others are known
        self.rulings.file(entry, self._deciding.question(envelope), decision, is_elsewhere)
        self._go(entry, decision)
        self.tailback.watch(entry)

    def tick(self) -> None:
        """Time has passed."""
        if self._neighbours.settled() and not self._settled:
            self._settled = True
            self.review()
        for node in [h for h in self.onward.hops() if h and not (self._nodes.is_known(h) or is_site(h))]:
            self._nodes.ask_way(node)  # nobody tells us when it comes into reach
        self.incoming.release()
        if self.rulings.is_open:
            self._go_on()
        self._go_again()
        self.tailback.tick()

    def flush(self) -> None:
        if self.rulings.was_open and self.rulings.new_turn():
            self._desk.wake(self._desk.now)


def _address(entry: Entry, to_master: bool) -> None:
    """Say on the envelope whether whoever gets it next is a master (see Law 5 of the mapping)."""
    *before, mine = entry.envelope.route
    stratum = TO_MASTER if to_master else 0
    if mine.stratum != stratum:
        entry.envelope = replace(entry.envelope, route=(*before, replace(mine, stratum=stratum)))


def _may_be_there(entry: Entry, decision: Decision) -> bool:
    """Is that no last word of what was sent? For what another site keeps, also that its node is away. To a
    site that is named no more there is no way ever.
    """
    is_kept_abroad = decision.code == UNKNOWN and is_foreign(entry.envelope.sender)
    is_for_now = decision.code in MAY_BE_THERE and KNOWS_NO_SITE not in decision.why
    return is_for_now or is_kept_abroad


def _pace(source: bytes, stream: bytes) -> Hashable:
    return (source, stream) if source else stream


def _refused(decision: Decision) -> PublishRefused:
    return PublishRefused(decision.why + ".", hint="See `mesh route`.", code=decision.code)
