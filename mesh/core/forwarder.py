"""What becomes of a message that is published here, or comes on its way: here, onward, or waiting?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from mesh.core.desk import Desk
from mesh.core.nodes import Nodes
from mesh.core.peer import Peer
from mesh.core.router import Router, refusal
from mesh.core.tailback import TailBack
from mesh.errors import BadName, CircularLoop, LocalError, PublishRefused
from mesh.mapping.mapping import Decision, Kind, Mapping
from mesh.names import SessionName
from mesh.routing.onward import Entry, Onward
from mesh.values import check_domain
from mesh.wire.commands import Answer, Forward, Outcome, Outcomes
from mesh.wire.envelope import FORCE_QUEUING, LOCAL_ONLY, PERSISTENT, Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPES_A_MESSAGE, FRAMES

HOPS = 16
WARNING = "FORWARD_WARNING"


class Forwarder:
    """`to_client(stream, answer)` tells a publisher, `login(peer)` has a data connection made."""

    def __init__(self, desk: Desk, router: Router, mapping: Mapping, nodes: Nodes) -> None:
        s = desk.settings
        self.onward = Onward(s.window_bytes, s.window_count)
        self.tailback = TailBack(desk, router, self.onward, self._answer)
        self.mapping = mapping
        self._desk = desk
        self._router = router
        self._nodes = nodes
        self._back: dict[bytes, list[Outcome]] = {}  # uuid of a peer -> answers on their way to it
        self._dirty: dict[str, None] = {}  # nodes for which something may leave
        self._settled = False
        # Set by the node.
        self.settled: Callable[[], bool] = lambda: True
        self.to_client: Callable[[bytes, Answer], None] = lambda stream, answer: None
        self.peer: Callable[[bytes], Peer | None] = lambda uuid: None
        self.login: Callable[[Peer], None] = lambda peer: None

    # --- taking -----------------------------------------------------------------------------------------

    def publish(self, envelope: Envelope, was_sent: bool = False) -> None:
        """From a client of this node, which stands in it as the sender. `was_sent`: perhaps it went on
        before, so that it may be with its master, answered or not."""
        if envelope.flags & LOCAL_ONLY or (self.mapping.is_plain and not envelope.to):
            self._here(envelope, b"")
        else:
            self._take(envelope, b"", was_sent)

    def forwarded(self, peer: Peer, envelopes: list[Envelope]) -> None:
        """From another node, on its way to the master."""
        for envelope in envelopes:
            error = self._unfit(peer, envelope)
            if error is not None:
                self._desk.count("refused", envelope.count)
                self._answer(peer.node.uuid, envelope.stream, refusal(envelope, error))
            else:
                self._take(envelope, peer.node.uuid)

    def _unfit(self, peer: Peer, envelope: Envelope) -> LocalError | None:
        route, me = envelope.route, self._desk.me.name
        nodes = [hop.node for hop in route]
        try:
            home = SessionName.parse(envelope.sender).node
        except BadName:
            home = None
        is_odd = envelope.flags & ~(PERSISTENT | FORCE_QUEUING)
        if is_odd or not route or nodes[-1] != peer.node.name or home != nodes[0]:
            self._desk.count("forged")
            what = f"{peer.node.name} forwards {envelope.sender[:80]!r}, which did not come by it"
            return PublishRefused(what, code="FORGED_SENDER")
        path = " -> ".join((*nodes, me))
        if me in nodes:
            return CircularLoop(f"the rules send it in a circle: {path}", hint="See `mesh route`.")
        if len(route) >= HOPS:
            self._desk.count("too_many_hops")
            return PublishRefused(f"more than {HOPS} hops: {path}", code="TOO_MANY_HOPS")
        return None

    def _take(self, envelope: Envelope, source: bytes, was_sent: bool = False) -> None:
        known, missing = self.onward.covering(envelope)
        for entry in known:
            entry.source = source  # whoever asks last is answered
            self.tailback.repeat(entry)
        try:
            check_domain(envelope.domain)
            for first, last in missing:
                for part, decision in self._runs(envelope.part(first, last)):
                    self._act(part, source, decision, was_sent)
        except LocalError as error:  # a name or domain that cannot be
            self._desk.count("refused", envelope.count)
            self._answer(source, envelope.stream, refusal(envelope, error))

    def _runs(self, envelope: Envelope) -> Iterator[tuple[Envelope, Decision]]:
        """The envelope, cut only where ways differ."""
        by_row = [self._decide(envelope, key) for key in envelope.keys]
        ways = [(decision.kind, decision.node) for decision in by_row]
        if len(set(ways)) == 1:
            yield envelope, by_row[0]
            return
        start, rows = 0, envelope.rows()
        for i in range(1, envelope.count + 1):
            if i == envelope.count or ways[rows[i]] != ways[rows[start]]:
                part = envelope.part(envelope.first + start, envelope.first + i - 1)
                yield part, by_row[rows[start]]
                start = i

    def _decide(self, envelope: Envelope, key: str) -> Decision:
        visited = [hop.node for hop in envelope.route if hop.node != self._desk.me.name]
        if not envelope.to:
            return self.mapping.decide(key, envelope.domain, self._nodes, visited)
        to = SessionName.parse(envelope.to)
        force = bool(envelope.flags & FORCE_QUEUING)
        decision = self.mapping.address(to, envelope.domain, self._nodes, visited, force)
        is_lost = decision.code == "UNKNOWN_NODE" or (decision.kind is Kind.WAIT and decision.node == to.node)
        if is_lost and to.node and self._nodes.ask_way(to.node):
            return Decision(Kind.WAIT, f"asking for the way to {to.node}", to.node)
        return decision

    def _act(self, envelope: Envelope, source: bytes, decision: Decision, was_sent: bool) -> None:
        if decision.kind is Kind.HERE:
            self._here(envelope, source)
            return
        if decision.kind is Kind.REFUSE:
            self._desk.count("refused", envelope.count)
            self._answer(source, envelope.stream, refusal(envelope, _refused(decision)))
            return
        envelope = envelope.passed(self._desk.hop(0))  # its master counts the strata
        entry = self.onward.add(envelope, source, self._desk.now)
        entry.was_sent = was_sent
        if not source and not envelope.to:
            self._router.remember_domain(envelope)
        what = " ".join(filter(None, (envelope.keys[0], envelope.domain, envelope.to)))
        self._desk.note("debug", f"{what}: {decision.kind.value} {decision.node}: {decision.why}")
        self._go(entry, decision)
        self.tailback.watch(entry)

    def _here(self, envelope: Envelope, source: bytes) -> None:
        stream = envelope.stream
        pace: Hashable = (source, stream) if source else stream
        self._router.publish(pace, envelope, lambda answer: self._answer(source, stream, answer))

    def _go(self, entry: Entry, decision: Decision) -> None:
        self.onward.assign(entry, decision.node, decision.why)
        self._dirty[decision.node] = None
        peer = self._nodes.named(decision.node)
        if decision.kind is Kind.FORWARD and peer is not None:
            if peer.data is None:
                self.login(peer)
                if peer.lost_at is not None and peer.link.attempt > 1:
                    self.tailback.warn(entry)  # it was tried in vain since the connection broke
        elif self._settled and not decision.why.startswith("asking"):
            self.tailback.warn(entry)

    # --- answers ----------------------------------------------------------------------------------------

    def outcomes(self, peer: Peer, command: Outcomes) -> None:
        """What became of what was forwarded to a peer."""
        for outcome in command.outcomes:
            a = outcome.answer
            for entry, first, last in self.onward.answered(outcome.stream, a.domain, a.first, a.last):
                part = Answer(a.domain, first, last, a.state, a.matched, a.text)
                line = self.onward.line_of(entry)
                if line is not None:
                    line.progress = self._desk.now
                self._outcome(entry, part, by_its_hop=entry.hop == peer.node.name)
        self._dirty[peer.node.name] = None  # its window is open again

    def _outcome(self, entry: Entry, answer: Answer, by_its_hop: bool) -> None:
        if answer.state == WARNING:
            if by_its_hop:
                self.tailback.warn(entry, answer.text)
        elif answer.state == "OK" or by_its_hop:  # a node that it goes to no more may refuse what it likes
            self.tailback.finish(entry, answer)

    def _answer(self, source: bytes, stream: bytes, answer: Answer) -> None:
        if source:
            self._back.setdefault(source, []).append(Outcome(stream, answer))
        else:
            self.to_client(stream, answer)

    # --- what changes -----------------------------------------------------------------------------------

    def linked(self, peer: Peer) -> None:
        """Its data connection stands."""
        self.onward.broken(peer.node.name)  # whatever an earlier connection carried may be lost
        self._review_if_met(peer)
        self._dirty[peer.node.name] = None

    def unlinked(self, peer: Peer) -> None:
        """Its data connection is gone: what it has not answered waits again."""
        for entry in self.onward.broken(peer.node.name):
            self.tailback.warn(entry)
        self._review_if_met(peer)

    def _review_if_met(self, peer: Peer) -> None:
        """A node that is not named here is known only as long as it has linked itself."""
        if not self._nodes.is_named(peer.node.name):
            self.review()

    def needs_login(self, peer: Peer) -> bool:
        """Does anything wait for it?"""
        return peer.node.name in self.onward.hops()

    def review(self) -> None:
        """Nodes or rules have changed: does everything that waits still go the right way?"""
        for entry in self.onward.entries():
            decision = self._decide(entry.envelope, entry.envelope.keys[0])
            if decision.kind is Kind.HERE:
                self._take_over(entry)
            elif decision.kind is Kind.REFUSE:
                self.tailback.refuse(entry, _refused(decision))
            elif decision.node != entry.hop or not self.onward.is_under_way(entry):
                self._go(entry, decision)

    def _take_over(self, entry: Entry) -> None:
        """This node is its master after all."""
        self.onward.remove(entry)
        for first, last in entry.open:
            part = entry.envelope.part(first, last)
            self._router.publish(
                (entry.source, part.stream), part, lambda answer: self.tailback.finish(entry, answer)
            )

    def restore(self, position: int, envelope: Envelope) -> None:
        """From the store, at start: it waited here."""
        entry = self.onward.add(envelope, b"", self._desk.now)
        entry.position, entry.warned = position, True
        decision = self._decide(envelope, envelope.keys[0])
        self.onward.assign(entry, decision.node, decision.why)
        self.tailback.watch(entry)

    def tick(self) -> None:
        """Time has passed."""
        if self.settled() and not self._settled:
            self._settled = True
            self.review()
        for node in [name for name in self.onward.hops() if name and not self._nodes.is_known(name)]:
            self._nodes.ask_way(node)  # nobody tells us when it comes into reach
        self.tailback.tick()

    def flush(self) -> None:
        """Send what may leave, and answers that go back."""
        while self._dirty:
            name, _ = self._dirty.popitem()
            peer = self._nodes.named(name)
            if peer is not None and peer.data is not None and peer.data.is_open:
                self._send(peer)
        for uuid, outcomes in self._back.items():
            peer = self.peer(uuid)
            for at in range(0, len(outcomes), 256) if peer is not None else ():
                self._desk.send(peer.data, Outcomes(tuple(outcomes[at : at + 256])))  # type: ignore[union-attr]
        self._back.clear()

    def _send(self, peer: Peer) -> None:
        batch: list[Envelope] = []
        size = frames = 0
        for entry in self.onward.depart(peer.node.name):
            for first, last in entry.open:
                part = entry.envelope.part(first, last)
                needs = 1 + body_frames(part)
                if batch and (
                    len(batch) >= ENVELOPES_A_MESSAGE or size >= ENVELOPE_BYTES or frames + needs >= FRAMES
                ):
                    self._ship(peer, batch)
                    batch, size, frames = [], 0, 0
                batch.append(part)
                size, frames = size + len(part.body), frames + needs
        if batch:
            self._ship(peer, batch)

    def _ship(self, peer: Peer, batch: list[Envelope]) -> None:
        self._desk.count("forwarded", sum(envelope.count for envelope in batch))
        self._desk.send(peer.data, Forward(tuple(map(body_frames, batch))), batch)


def _refused(decision: Decision) -> PublishRefused:
    return PublishRefused(decision.why + ".", hint="See `mesh route`.", code=decision.code)
