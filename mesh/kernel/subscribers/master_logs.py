"""Questions for the logs of masters: of other nodes, and of this node itself."""

# Law: the questions of one event about the subscriptions of a session are sent to a master together.

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.routes.peer_calls import PeerReply
from mesh.kernel.subscribers.relayed_calls import RelayedCalls
from mesh.kernel.subscribers.resume_source import Pages, ResumeSource
from mesh.wire.calls import AskResume, ResumeRow
from mesh.wire.envelope import Envelope
from mesh.wire.limits import RESUMED
from mesh.wire.replies import Resumed, ResumedPage

WITHIN = 10.0  # s for a page

Answer = tuple[ResumedPage, list[Envelope]] | LocalError | None  # None: no reply in time
OnPage = Callable[[Answer], None]


@dataclass(slots=True)
class Gathered:
    """The questions for one master about the subscriptions of a session, and the receivers of the answers."""

    master: bytes
    head: AskResume  # without rows
    rows: list[ResumeRow] = field(default_factory=list)
    receivers: list[OnPage] = field(default_factory=list)


class MasterLogs:
    """Asks masters for pages of their logs."""

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, calls: RelayedCalls, source: ResumeSource
    ) -> None:
        self._me = context.me.uuid
        self._out = context.out
        self._neighbours = neighbours
        self._calls = calls
        self._source = source
        self._gathered: dict[tuple[bytes, bytes, int], Gathered] = {}  # by master, and key and attach number

    def name_of(self, master: bytes) -> str:
        """Return the name of a master, or its id if it is unknown."""
        peer = self._neighbours.peers.get(master)
        return peer.node.name if peer is not None else master.hex()

    def must_ask(self, master: bytes) -> bool:
        """Return whether a master has to be asked: not this node, if its log is empty and not pinned."""
        return master != self._me or self._source.must_be_asked

    def is_reachable(self, master: bytes) -> bool:
        peer = self._neighbours.peers.get(master)
        return master == self._me or (peer is not None and peer.alive)

    def ask(self, master: bytes, head: AskResume, row: ResumeRow, then: OnPage) -> bool:
        """Ask a master about a subscription at the end of this event, and call `then` with the answer.

        `head` is the question without rows. Return False if the master is to be asked at its login.
        """
        if master != self._me and not self._calls.can_ask(master):
            return False
        key = master, head.certificate.key, head.certificate.attach
        gathered = self._gathered.setdefault(key, Gathered(master, head))
        gathered.rows.append(row)
        gathered.receivers.append(then)
        self._out.ending[self._send_all] = None
        return True

    def _send_all(self) -> None:
        gathered, self._gathered = self._gathered, {}
        for each in gathered.values():
            for at in range(0, len(each.rows), RESUMED):
                ask = replace(each.head, rows=each.rows[at : at + RESUMED])
                is_first = not all(row.end for row in ask.rows)
                if not (is_first and self._calls.is_relayed(each.master)):
                    ask = replace(ask, subscriptions=None)  # MOVED names them, or an earlier question
                self._send(each.master, ask, each.receivers[at : at + RESUMED])

    def _send(self, master: bytes, ask: AskResume, receivers: list[OnPage]) -> None:
        came = partial(_share_out, receivers)
        if master != self._me:
            if not self._calls.ask(master, ask, Resumed, partial(_on_reply, came), WITHIN):
                came(None)
            return
        try:
            self._source.resume(ask, master, came)
        except LocalError as error:
            came(error)


def _on_reply(came: Callable[[Pages | LocalError | None], None], reply: PeerReply[Resumed] | None) -> None:
    if reply is None:
        came(None)
    elif reply.code:
        came(LocalError("The master refused to resume its log.", code=reply.code))
    else:
        came((reply.value, [envelope for envelope, _ in reply.found]))


def _share_out(receivers: list[OnPage], found: Pages | LocalError | None) -> None:
    """Give each receiver its part of an answer."""
    answers = [found] * len(receivers) if not isinstance(found, tuple) else answers_of(len(receivers), *found)
    for then, answer in zip(receivers, answers, strict=True):
        then(answer)


def answers_of(count: int, value: Resumed, envelopes: list[Envelope]) -> list[Answer]:
    """Return the answers for `count` subscriptions in a reply. All are refusals if the reply is malformed."""
    pages = value.pages
    if len(pages) != count or sum(len(page.positions) for page in pages) != len(envelopes):
        return [LocalError("A reply to `resume` is malformed.", code="MALFORMED")] * count
    return list(_pages(pages, envelopes))


def _pages(pages: list[ResumedPage], envelopes: list[Envelope]) -> Iterator[Answer]:
    at = 0
    for page in pages:
        found, at = envelopes[at : at + len(page.positions)], at + len(page.positions)
        if page.code:
            yield LocalError("The master refused to resume its log.", code=page.code)
        else:
            yield page, found
