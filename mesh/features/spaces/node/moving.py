"""Next definitions of the spaces of this node: another home, other limits or voters, or the end."""

# Law 1: the home claims the next definition itself, after its values are on the disk of the new home. Its own
#        vote comes first, and from then on it does not act, so no write is lost and none counts twice.
# Law 2: after a claim that led to nothing the home claims again, so a space does not stay without a home.

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from mesh.errors import LocalError, MeshError
from mesh.features.spaces.model.definition import Definition, check_space
from mesh.features.spaces.model.space import Head
from mesh.features.spaces.node.claiming import Claimed, Claiming
from mesh.features.spaces.node.holdings import HandedRow, Holdings
from mesh.features.spaces.node.homes import Homes
from mesh.features.spaces.node.leashes import Leashes
from mesh.features.spaces.node.spaces import Spaces
from mesh.features.spaces.node.voting import Voting
from mesh.kernel.context.component import Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import PAGE
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.wire.calls import AskSpaceHand
from mesh.wire.replies import ReplyValue

AGAIN = 1.0  # s between two claims after one that led to nothing, at least


class Moving(Component):
    """Component that brings the next definitions of the spaces of this node into effect."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        questions: PeerCalls,
        spaces: Spaces,
        voting: Voting,
        claiming: Claiming,
        leashes: Leashes,
        holdings: Holdings,
        homes: Homes,
    ) -> None:
        self._context = context
        self._disk = disk
        self._questions = questions
        self._spaces = spaces
        self._voting = voting
        self._claiming = claiming
        self._leashes = leashes
        self._holdings = holdings
        self._homes = homes
        self._again = 0.0

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskSpaceHand, self._on_hand),)

    def redefine(self, space: str, wanted: Definition, to: Peer | None, then: Claimed) -> None:
        """Bring a definition of a space of this node into effect, and call `then`, or with the error.

        The values are first sent to the new home `to`, if there is one. Raises: LocalError as `Homes.check`.
        """

        def finished(error: LocalError | None) -> None:
            self._homes.resume(space)
            then(error)

        def handed(head: Head, error: LocalError | None) -> None:
            if error is not None:
                finished(error)
            else:
                known = self._spaces.find(space)
                version = self._homes.version(space, known) if known is not None else head.version
                self._claiming.claim(space, replace(wanted, version=version), finished)

        def paused(head: Head) -> None:
            if to is None:
                handed(head, None)
            else:
                pages = _pages(self._holdings.to_hand(space, head))
                self._hand(space, to, pages, True, lambda error: handed(head, error))

        self._homes.pause(space, paused)

    # --- values for a new home --------------------------------------------------------------------------

    def _hand(
        self, space: str, to: Peer, pages: Iterator[list[HandedRow]], is_first: bool, then: Claimed
    ) -> None:
        """Send the pages one after the other, and call `then` when all are on the disk of the new home."""
        page = next(pages, None)
        if page is None:
            then(None)
            return

        def on_replies(replies: Replies[ReplyValue], missing: list[str]) -> None:
            code = next((reply.code for reply in replies.values()), "NODE_AWAY")
            if not code:
                self._hand(space, to, pages, False, then)
                return
            what = f"{to.node.name} has not stored the values of {space}, whose home stays the same."
            then(LocalError(what, hint=f"See `mesh why node {to.node.name}`.", code=code))

        ask = AskSpaceHand(space=space, first=is_first, rows=page)
        self._questions.ask_all([to], ask, ReplyValue, on_replies, is_patient=True)

    def _on_hand(self, asked: IncomingCall[AskSpaceHand]) -> None:
        ask = asked.ask
        known = self._spaces.find(check_space(ask.space))
        if known is None or known.home != asked.who.node.uuid:
            what = f"{asked.who.node.name} is not the home of {ask.space}, as this node knows it."
            raise LocalError(what, hint="Try again.", code="NOT_HOME")
        ops = list(self._holdings.store_handed(ask.space, ask.first, ask.rows))

        def landed(error: MeshError | None) -> None:
            if error is None:
                asked.reply(ReplyValue())
            else:
                asked.fail(LocalError(error.what, hint=error.hint, code=error.code))

        self._disk.commit(ops, landed)

    # --- claims that led to nothing (Law 2) -------------------------------------------------------------

    def on_second(self) -> None:
        if self._context.clock.now < self._again:
            return
        lost = set(self._leashes.lost())
        for space, known in list(self._spaces.own()):
            is_promised = self._voting.promise(space).generation > known.generation
            if (is_promised or space in lost) and not self._claiming.is_open(space):
                self._again = self._context.clock.now + AGAIN * (1 + self._context.jitter())
                wanted = replace(known, version=self._homes.version(space, known))
                self._claiming.claim(space, wanted, lambda error: None)


def _pages(rows: Iterator[HandedRow]) -> Iterator[list[HandedRow]]:
    """Yield rows in pages that fit into one message each."""
    page, size = list[HandedRow](), 0
    for row in rows:
        if page and size + len(row[2]) > PAGE:
            yield page
            page, size = [], 0
        page.append(row)
        size += len(row[1]) + len(row[2]) + 16
    yield page
