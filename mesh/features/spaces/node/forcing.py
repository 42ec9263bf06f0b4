"""Forced moves: a space whose home is lost begins anew at this node, with copies of all reachable nodes."""

# Law: the copies are on disk before the claim. Each gets a version of the new generation, and no outcome of
#      before is known, so nothing of before counts. Locks begin without copies: the new home knows no lease,
#      so it grants nothing while one of before may run (lock_homes.py).

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from mesh.errors import LocalError, MeshError
from mesh.features.spaces.model.batch import FORCED
from mesh.features.spaces.model.definition import Definition, check_space, is_without_values, why_command
from mesh.features.spaces.model.space import Head, Value, size_of
from mesh.features.spaces.node.claiming import Claimed, Claiming
from mesh.features.spaces.node.copies import Copies, Copy
from mesh.features.spaces.node.holdings import Holdings
from mesh.features.spaces.node.homes import Homes
from mesh.kernel.context.component import Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import page
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.wire.calls import AskSpaceCopies, AskSpaceMove
from mesh.wire.limits import SPACES
from mesh.wire.replies import SpaceCopies, SpaceMoved


@dataclass(slots=True)
class Found:
    """The copies that were found, by key."""

    copies: dict[str, Copy] = field(default_factory=dict)

    def add(self, key: str, copy: Copy) -> None:
        old = self.copies.get(key)
        if old is None or old.version < copy.version:
            self.copies[key] = copy

    def report(self, now: float) -> SpaceMoved:
        ages = [now - copy.seen for copy in self.copies.values()]
        return SpaceMoved(copies=len(ages), oldest=max(ages, default=0.0), newest=min(ages, default=0.0))

    def values(self) -> dict[str, Value]:
        rows = [copy.row for copy in self.copies.values() if copy.row is not None]
        return {row.key: Value(row.content, row.version, row.expires, row.props) for row in rows}


class Forcing(Component):
    """Component that moves spaces here by force, and sends copies to nodes that do."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        neighbours: Neighbours,
        questions: PeerCalls,
        claiming: Claiming,
        holdings: Holdings,
        homes: Homes,
        copies: Copies,
    ) -> None:
        self._context = context
        self._disk = disk
        self._neighbours = neighbours
        self._questions = questions
        self._claiming = claiming
        self._holdings = holdings
        self._copies = copies
        self.lacks_values = homes.lacks_values

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskSpaceCopies, self._on_copies),)

    def _on_copies(self, asked: IncomingCall[AskSpaceCopies]) -> None:
        copies = self._copies.find(check_space(asked.ask.space))
        rows, after = page(copies, lambda key: copies[key].row, asked.ask)
        ages = [self._context.clock.now - copies[row.key].seen for row in rows]
        asked.reply(SpaceCopies(rows=rows, ages=ages, next=after))

    def force(
        self,
        ask: AskSpaceMove,
        known: Definition,
        then: Callable[[SpaceMoved], None],
        failed: Callable[[LocalError], None],
    ) -> None:
        """Make this node the home. Raises: LocalError if the request lacks a statement of the operator."""
        stopped = self._stopped(ask, known)

        def on_found(found: Found) -> None:
            report = found.report(self._context.clock.now)
            if ask.accept_loss:
                self._begin(
                    ask.space, known, found, stopped, lambda error: failed(error) if error else then(report)
                )
            else:
                then(report)

        if is_without_values(ask.space):
            on_found(Found())
        else:
            self._gather(ask.space, on_found)

    def _stopped(self, ask: AskSpaceMove, known: Definition) -> frozenset[bytes]:
        """Return the nodes that an operator states to be lost. Raises: LocalError NOT_STOPPED."""
        voters = {self._claiming.name_of(uuid): uuid for uuid in known.electors}
        check_statement(ask.space, ask.stopped, known, voters)
        stopped = frozenset(voters[name] for name in ask.stopped)
        for uuid in stopped - {known.home}:  # voters know when the home has stopped
            if uuid == self._context.me.uuid or self._neighbours.directory.is_alive(uuid):
                what = f"{self._claiming.name_of(uuid)} is running, and votes itself."
                raise LocalError(what, hint="Name only nodes that are lost for good.", code="NOT_STOPPED")
        return stopped

    # --- copies -----------------------------------------------------------------------------------------

    def _gather(self, space: str, then: Callable[[Found], None]) -> None:
        """Call `then` with the newest copies of this node and of all reachable nodes."""
        found = Found(dict(self._copies.find(space)))
        peers = [peer for peer in self._neighbours.living_peers() if SPACES in peer.speaks]
        open_ = len(peers)

        def done() -> None:
            nonlocal open_
            open_ -= 1
            if open_ == 0:
                then(found)

        if not peers:
            then(found)
        for peer in peers:
            self._ask_page(peer, AskSpaceCopies(space=space), found, done)

    def _ask_page(self, peer: Peer, ask: AskSpaceCopies, found: Found, done: Callable[[], None]) -> None:
        def on_replies(replies: Replies[SpaceCopies], _: list[str]) -> None:
            after = ""
            for reply in replies.values():
                for row, age in zip(reply.value.rows, reply.value.ages, strict=False):
                    found.add(row.key, Copy(row, row.version, self._context.clock.now - age))
                after = reply.value.next
            if after > ask.after:
                self._ask_page(peer, replace(ask, after=after), found, done)
            else:
                done()

        self._questions.ask_all([peer], ask, SpaceCopies, on_replies, is_patient=True)

    # --- the new home -----------------------------------------------------------------------------------

    def _begin(
        self, space: str, known: Definition, found: Found, stopped: Collection[bytes], then: Claimed
    ) -> None:
        """Store the copies, and claim the next generation."""
        me, values = self._context.me, found.values()
        voters = self._claiming.voters(space, me.uuid)
        wanted = replace(known, home=me.uuid, node=me.name, voters=voters, version=0)
        if is_without_values(space):
            self._claiming.claim(space, wanted, then, stopped)
            return
        mark = FORCED | int.from_bytes(self._context.ids(4))
        size = sum(size_of(key, value) for key, value in values.items())
        head = Head(known.generation, mark, len(values), size)
        wanted = replace(wanted, version=head.version)

        def landed(error: MeshError | None) -> None:
            if error is not None:
                then(LocalError(error.what, hint=error.hint, code=error.code))
            else:
                self._claiming.claim(space, wanted, then, stopped)

        self._disk.commit(list(self._holdings.store_copies(space, values, head)), landed)


def check_statement(space: str, stopped: Collection[str], known: Definition, voters: Collection[str]) -> None:
    """Check which nodes an operator states to be lost; `voters` are the names of the home and its voters.

    Raises: LocalError NOT_STOPPED.
    """
    others = sorted(set(stopped) - set(voters))
    if others:
        what = (
            f"{others[0]} is neither the home of {space} nor a voter; these are {', '.join(sorted(voters))}."
        )
        raise LocalError(what, hint=f"See `{why_command(space)}`.", code="NOT_STOPPED")
    if len(voters) == 1 and not stopped:
        what = f"{space} has no voters, so only you can know whether its home {known.node} is stopped."
        hint = f"Stop {known.node}, and add --stopped {known.node}. If it still runs, there are two homes."
        raise LocalError(what, hint=hint, code="NOT_STOPPED")
