"""What must be asked of other nodes before somebody gets an answer, and who still has to reply?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from mesh.core.desk import Desk
from mesh.core.peer import Peer
from mesh.core.settings import CONFIRM
from mesh.wire.commands import Call, Reply
from mesh.wire.envelope import Envelope


@dataclass(slots=True)
class Told:
    """What one node replied: a value, (envelope, what is said of it) for each of them."""

    value: dict[str, Any] = field(default_factory=dict)
    found: list[tuple[Envelope, Any]] = field(default_factory=list)


Replies = dict[bytes, Told]  # by the uuid of who replied
Then = Callable[[Replies, list[str]], None]  # (replies, names of nodes that did not reply)


@dataclass(slots=True, eq=False)
class Confirmation:
    """Somebody waits until each of these nodes has at least that version of what we asked it for."""

    need: dict[bytes, int]
    deadline: float
    then: Callable[[], None]


@dataclass(slots=True, eq=False)
class Question:
    """One question to several nodes."""

    need: dict[bytes, str]  # uuid -> name of those that have yet to reply
    deadline: float
    then: Then
    asked: float | None  # when, if it is a get, whose answers are counted
    replies: Replies = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


class Questions:
    """`ask` puts a call on the way to a peer."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._confirmations: dict[Confirmation, None] = {}
        self._versions: dict[bytes, list[tuple[int, int, Confirmation]]] = {}  # by uuid, lowest version first
        self._questions: dict[int, Question] = {}
        self._early: list[Callable[[], None]] = []  # asked before we know whom to ask
        self._request = 0
        # Set by the node, which joins this with the peers.
        self.ask: Callable[[Peer, Call], None] = lambda peer, call: None
        self.settled: Callable[[], bool] = lambda: True

    def when_settled(self, work: Callable[[], None]) -> None:
        """A node that has just started must not take its peers for absent, only because they answer yet."""
        if self.settled():
            work()
        else:
            self._early.append(work)

    def confirm(self, need: dict[bytes, int], then: Callable[[], None]) -> None:
        """Call `then` when each of these peers has that version of what it is asked for."""
        confirmation = Confirmation(dict(need), self._desk.now + CONFIRM, then)
        self._confirmations[confirmation] = None
        self._request += 1
        for uuid, version in need.items():
            heappush(self._versions.setdefault(uuid, []), (version, self._request, confirmation))
        self._desk.wake(confirmation.deadline)
        self._finish_confirmation(confirmation)

    def confirmed(self, peer: Peer) -> None:
        """A peer has said which version it knows."""
        uuid = peer.node.uuid
        versions = self._versions.get(uuid, [])
        while versions and versions[0][0] <= peer.confirmed:
            self._has_confirmed(uuid, heappop(versions)[2])
        self._begin()

    def _has_confirmed(self, uuid: bytes, confirmation: Confirmation) -> None:
        confirmation.need.pop(uuid, None)
        self._finish_confirmation(confirmation)

    def _finish_confirmation(self, confirmation: Confirmation) -> None:
        is_over = not confirmation.need or self._desk.now >= confirmation.deadline
        if is_over and confirmation in self._confirmations:
            del self._confirmations[confirmation]
            confirmation.then()

    def ask_all(
        self, peers: Iterable[Peer], verb: str, arguments: dict[str, Any], then: Then,
        within: float = CONFIRM, ask: Callable[[Peer, Call], None] | None = None,
    ) -> None:  # fmt: skip
        """Ask each of them; `then` has what came within so many seconds. `ask` takes another way than
        the data connection."""
        self._request += 1
        peers = list(peers)
        need = {peer.node.uuid: peer.node.name for peer in peers}
        # What follows all that is on its way says more of that than of who answers.
        is_read = verb == "get" and not arguments.get("after")
        asked = self._desk.now if is_read else None
        question = Question(need, self._desk.now + within, then, asked)
        for node in need.values() if is_read else ():
            self._desk.tally.of(node).asked += 1
        self._questions[self._request] = question
        self._desk.wake(question.deadline)
        # Whoever is asked may have to ask others, and must not take longer than we wait.
        call = Call(self._request, verb, {**arguments, "within": within * 3 / 4})
        for peer in peers:
            (ask or self.ask)(peer, call)
        self._finish(call.request)

    def answered(self, peer: Peer, reply: Reply, envelopes: list[Envelope]) -> None:
        """A peer's reply, or a part of one."""
        question = self._questions.get(reply.request)
        if question is None or peer.node.uuid not in question.need:
            return
        told = question.replies.setdefault(peer.node.uuid, Told())
        value = reply.value if isinstance(reply.value, dict) else {}
        said = value.pop("sources", None)
        sources = said if isinstance(said, list) and len(said) == len(envelopes) else [None] * len(envelopes)
        told.found += zip(envelopes, sources, strict=True)
        told.value.update(value)
        if not value.get("more"):
            node = question.need.pop(peer.node.uuid)
            if question.asked is not None:
                self._desk.tally.of(node).answered += 1
                self._desk.tally.of(node).seconds += self._desk.now - question.asked
            self._finish(reply.request)
            self._begin()

    def lost(self, peer: Peer) -> None:
        """A peer is dead: nobody waits for it."""
        for *_, confirmation in self._versions.pop(peer.node.uuid, ()):
            self._has_confirmed(peer.node.uuid, confirmation)
        for request, question in list(self._questions.items()):
            if peer.node.uuid in question.need:
                question.missing.append(question.need.pop(peer.node.uuid))
                self._finish(request)
        self._begin()

    def review(self) -> None:
        """Time has passed: finish what has waited long enough."""
        self._begin()
        for confirmation in list(self._confirmations):
            self._finish_confirmation(confirmation)
        if not self._confirmations:
            self._versions.clear()  # of those that waited in vain
        for request in list(self._questions):
            self._finish(request)

    def _begin(self) -> None:
        """What was asked before we knew whom to ask."""
        if self._early and self.settled():
            early, self._early = self._early, []
            for work in early:
                work()

    def _finish(self, request: int) -> None:
        """If it has all it needs, or has waited long enough."""
        question = self._questions.get(request)
        if question is not None and (not question.need or self._desk.now >= question.deadline):
            del self._questions[request]
            question.then(question.replies, [*question.missing, *question.need.values()])

    def deadline(self) -> float | None:
        """When review() is next worth calling."""
        deadlines = [c.deadline for c in self._confirmations] + [q.deadline for q in self._questions.values()]
        return min(deadlines, default=None)
