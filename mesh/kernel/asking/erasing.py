"""Erases topics: the master forgets the topic, and each subscriber is notified once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mesh.errors import LocalError, MasterAway
from mesh.flow.bounded import Bounded
from mesh.kernel.access.authenticator import plain
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES, SHOWN, listed
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.delivery.router import Router
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.visit_proofs import proof_of_route
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.states.cameby import is_way
from mesh.mapping.decision import Use
from mesh.patterns import SYSTEM
from mesh.proof import erasing_stream
from mesh.reserved import OF_USERS, check_free, reserved
from mesh.routing.interest import CLIENTS
from mesh.site_policy.accepting import ANY, any_brings
from mesh.values import Hop, check_domain, check_key
from mesh.wire.calls import AskErase, EraseMode
from mesh.wire.commands import Answer, Query
from mesh.wire.envelope import ERASED, PERSISTENT, SILENT, Envelope
from mesh.wire.limits import HOPS, LARGEST_SEQUENCE, QUIET
from mesh.wire.replies import Erased

LONGEST = 200  # characters of the reason of a failure
REMEMBERED = 4096  # erasures whose outcome is remembered
# (whether the topic existed, unreachable masters or other reasons of a failure)
OnErased = Callable[[bool, list[str]], None]


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure of a topic, which several nodes execute.

    The stream, the number and the key identify the erasure at every node.
    """

    stream: bytes
    number: int
    key: str
    domain: str
    sender: str
    route: tuple[str, ...] = ()
    is_copy: bool = False  # the requester also asks the other masters
    mode: EraseMode = ""


@dataclass(frozen=True, slots=True)
class PastErasure:
    """An erasure at this node: the domain, the session that asked for it, and its mode."""

    domain: str
    by: str
    mode: EraseMode


def erasure(stream: bytes, request: int, key: str, domain: str, sender: str, mode: EraseMode = "") -> Erasure:
    """Return the erasure of a client; a repeated request gives an equal erasure. Raises: LocalError."""
    check_erasable(key, domain)
    own = erasing_stream(stream)
    return Erasure(own, _as_number(request), check_key(key), check_domain(domain), sender, mode=mode)


def _as_number(said: int) -> int:
    """Return the number if it is valid for messages, otherwise 1."""
    return said if 0 < said <= LARGEST_SEQUENCE else 1


def check_erasable(key: str, domain: str) -> None:
    """Raise PublishRefused for reserved domains and system topics.

    Dead letters and conflicts may be erased, as they belong to users.
    """
    check_free(domain)
    if key.startswith(SYSTEM) and not key.startswith(OF_USERS):
        raise reserved(key)


def _asked(ask: AskErase) -> Erasure:
    """Return the erasure that a peer asks for. Raises: LocalError for an invalid one."""
    check_erasable(ask.key, ask.domain)
    return Erasure(
        ask.stream.ljust(16, b"\0"),
        _as_number(ask.number),
        check_key(ask.key),
        check_domain(ask.domain),
        ask.sender,
        tuple(ask.route),
        is_copy=ask.copy,
        mode=ask.mode,
    )


class Erasing:
    """Executes the erasures of clients and of other nodes."""

    def __init__(
        self,
        context: NodeContext,
        router: Router,
        demand: InterestSync,
        questions: PeerCalls,
        nodes: Nodes,
        judge: Callable[[Peer, tuple[str, ...], Callable[[bool], None]], None],
    ) -> None:
        """`judge` decides whether a peer may forward messages over the given route."""
        self._context = context
        self._router = router
        self._demand = demand
        self._questions = questions
        self._nodes = nodes
        self._judge = judge
        self._done = Bounded[tuple[bytes, int, str], PastErasure](REMEMBERED)  # by (stream, number, key)
        self._going: dict[Erasure, list[OnErased]] = {}  # being written, with the waiting callbacks

    def erase(
        self, erasure: Erasure, then: Callable[[bool], None], failed: Callable[[MasterAway], None]
    ) -> None:
        """Erase a topic for a client: in its domain, or without one in all domains that this node knows.

        `then` receives whether the topic existed. `failed` is called instead if a master is unreachable or
        could not erase the topic.
        """

        def came(was_there: bool, away: list[str]) -> None:
            if away:
                what = "erased, but not at every node" if was_there else "not erased at any node"
                text = f"{erasure.key} was {what}: {_why(away)}."
                failed(MasterAway(text, hint="See `mesh ls`, and erase the topic again later."))
            else:
                then(was_there)

        self._questions.when_settled(lambda: self._everywhere(erasure, CLIENTS, CONFIRM, came))

    def erase_for(
        self, peer: Peer, ask: AskErase, then: OnErased, failed: Callable[[LocalError], None]
    ) -> None:
        """Erase a topic for a peer. Raises: LocalError for an invalid request.

        `failed` is called if the route of the request is not believed.
        """
        erasure = _asked(ask)
        route = erasure.route
        if len(route) > HOPS:
            raise LocalError(f"The erasure passed more than {HOPS} nodes.", code="TOO_MANY_HOPS")
        what = (
            f"{peer.node.name} forwards an erasure by {plain(erasure.sender)[:80]!r} with a route "
            "that is impossible or not confirmed."
        )
        visits, named = self._context.visits, self._nodes.named
        proof = proof_of_route(visits, named, erasure.stream, erasure.sender, route)
        is_visitor = route[-1:] == (peer.node.name,) and proof is not None
        if not (is_visitor or is_way(erasure.sender, route, peer.node.name)):
            raise LocalError(what, code="FORGED_SENDER")

        def judged(is_believed: bool) -> None:
            if is_believed:
                self._everywhere(erasure, peer.node.uuid, min(CONFIRM, ask.within), then)
            else:
                failed(LocalError(what, code="FORGED_SENDER"))

        self._judge(peer, route, judged)

    def _everywhere(self, erasure: Erasure, by: bytes, within: float, then: OnErased) -> None:
        domains = [erasure.domain] if erasure.domain else ["", *self._router.cache.domains_of(erasure.key)]
        queries = [Query("exact", erasure.key, domain) for domain in domains]
        use = Use.SUBSCRIBE if erasure.is_copy else Use.ERASE
        sources = {q: self._demand.sources(q, use) for q in queries}
        away = [h for named in sources.values() for h in named.hops if not self._nodes.is_alive(h)]
        targets = {uuid: q.domain for q in queries for uuid in self._demand.targets(q, {by}, sources[q])}
        if by != CLIENTS and not any(named.hops for named in sources.values()):
            targets = {}
        masters = {hop for named in sources.values() for hop in named.masters}
        asked = [
            (peer, targets[peer.node.uuid])
            for peer in self._nodes.askable(erasure.route)
            if peer.node.uuid in targets
        ]
        waits = 1 + len(asked)
        was_there, gone = False, list(away)

        def one(erased: bool, missing: list[str]) -> None:
            nonlocal waits, was_there
            waits -= 1
            was_there = was_there or erased
            gone.extend(missing)
            if not waits:
                then(was_there, gone)

        self._erase_here(erasure, one)
        for peer, domain in asked:
            self._ask_peer(
                peer, replace(erasure, domain=domain, is_copy=peer.node.name in masters), within, one
            )

    def last_erasure(self, key: str, domain: str) -> PastErasure | None:
        """Return the recent erasure of a topic at this node, or None if the topic has a newer value."""
        if self._router.log.retained.get(key, domain) is not None:
            return None
        done = ((erased[2], past) for erased, past in reversed(self._done.items()))
        return next((past for text, past in done if text == key and past.domain in ("", domain)), None)

    def _ask_peer(self, peer: Peer, erasure: Erasure, within: float, then: OnErased) -> None:
        if erasure.mode and QUIET not in peer.speaks:
            name = peer.node.name
            then(False, [f"{name} runs an earlier release, which cannot erase without notifying subscribers"])
            return

        def came(replies: Replies[Erased], missing: list[str]) -> None:
            values = [told.value for told in replies.values()]
            refused = [
                f"{peer.node.name} could not erase it ({told.code})" for told in replies.values() if told.code
            ]
            away = [why[:LONGEST] for value in values for why in value.away[:NAMES]]
            then(any(value.erased for value in values), [*missing, *refused, *away])

        question = AskErase(
            key=erasure.key,
            domain=erasure.domain,
            stream=erasure.stream,
            number=erasure.number,
            sender=erasure.sender,
            route=[*erasure.route, self._context.me.name],
            copy=erasure.is_copy,
            mode=erasure.mode,
        )
        self._questions.ask_all([peer], question, Erased, came, within)

    def _erase_here(self, erasure: Erasure, then: OnErased) -> None:
        retained = self._router.log.retained
        domains = [d for d in retained.domains(erasure.key) if erasure.domain in ("", d)]
        known = (erasure.stream, erasure.number, erasure.key) in self._done
        if erasure.domain not in domains and not known:
            self._may_come(erasure)
        if erasure in self._going:  # asked again, on another connection
            self._going[erasure].append(then)
            return
        if not domains:
            then(known, [])
            return
        waits, self._going[erasure], refused = len(domains), [then], list[str]()

        def gone(answer: Answer) -> None:
            nonlocal waits
            waits -= 1
            if answer.state != "OK":
                refused.append(f"{self._context.me.name} could not write the erasure ({answer.state})")
            if not waits:
                if not refused:
                    self._remember(erasure)
                for asked in self._going.pop(erasure):
                    asked(len(refused) < len(domains), refused)

        for domain in domains:
            event = self._event(erasure, domain)
            self._router.publish_here(event.stream, event, gone)

    def _may_come(self, erasure: Erasure) -> None:
        """Store the erasure if another site may send the topic, so that no older value can restore it."""
        domain = erasure.domain or ANY
        if any_brings(self._context.settings.site.accepting.values(), domain, erasure.key):
            event = self._event(erasure, domain)
            self._router.log.inherit_end(event.mastered(self._context.clock.stamp(), self._context.hop(0)))

    def _event(self, erasure: Erasure, domain: str) -> Envelope:
        log = self._router.log
        last = log.retained.get(erasure.key, domain)
        flags = ERASED | (last.envelope.flags & PERSISTENT if last is not None else 0)
        if last is not None and log.keeps_end(erasure.key, last.envelope):
            flags |= PERSISTENT  # owed to sites that may bring the value again
        if erasure.mode:
            flags |= SILENT
        route = tuple(Hop(node, 0, self._context.clock.wall) for node in erasure.route)
        return Envelope(
            stream=erasure.stream, domain=domain, first=erasure.number, last=erasure.number, low=1,
            keys=(erasure.key,), count=1, sizes=0, body=b"", flags=flags, sender=erasure.sender, route=route,
            xml=last.envelope.xml if last is not None else "",
        )  # fmt: skip

    def _remember(self, erasure: Erasure) -> None:
        key = erasure.stream, erasure.number, erasure.key
        self._done.keep(key, PastErasure(erasure.domain, erasure.sender, erasure.mode))


def _why(away: list[str]) -> str:
    """Join the reasons into a text: a list of the unreachable nodes, then the other reasons."""
    names, said = [why for why in away if " " not in why], {why: None for why in away if " " in why}
    return "; ".join(
        [*([f"{listed(names)} cannot be reached, or did not answer"] if names else []), *list(said)[:SHOWN]]
    )
