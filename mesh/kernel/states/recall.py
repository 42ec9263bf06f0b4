"""Detects at the start that the store is older than the node's last state, by asking the other nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from mesh.discovery.gossip import line_of, read
from mesh.discovery.state import NodeState
from mesh.kernel.context.component import Beginning, Component, HandlerEntry, on_command
from mesh.kernel.context.effects import Stop
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.dialler import Dialler
from mesh.kernel.peers.facts import LoginRefused, PeerConnected
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.states.gossiping import Gossiping
from mesh.operations import StoreReach
from mesh.wire.calls import AskState
from mesh.wire.commands import Login
from mesh.wire.limits import DURABLE
from mesh.wire.replies import StateTold

WITHIN = 1.0  # s to wait after the start, as for the first view of the mesh

# Rule 1: a reply counts only if it is a state that this node has signed. So one honest node is enough, and a
# forger can do nothing.
# Rule 2: this check is not needed to prevent unreported loss, since positions start again with each boot. It
# is for operators who have a newer copy: messages accepted now would be lost once that is restored.


class Recall(Component):
    """Component for the check at the start.

    Until it is over, no client and no message is admitted, nothing is written, and this node publishes no
    state.
    """

    def __init__(
        self,
        context: NodeContext,
        dialler: Dialler,
        neighbours: Neighbours,
        questions: PeerCalls,
        gossiping: Gossiping,
        learn: Callable[[Peer, Callable[[], None]], None],
    ) -> None:
        """`learn(peer, then)` fetches the rows that this node needs before it serves."""
        self._dialler = dialler
        self._context = context
        self._neighbours = neighbours
        self._questions = questions
        self._gossiping = gossiping
        self._learn = learn
        self._reach = StoreReach(0, 0)
        self._ends = 0.0
        self._has_ended = False
        self._open: set[bytes] = set()  # asked, and not answered
        self._told: set[bytes] = set()  # answered
        self._teach: set[bytes] = set()  # asked for further data
        self._later: dict[Hashable, Callable[[], None]] = {}
        self._verdict: Stop | None = None
        self._unwelcome: Stop | None = None

    @property
    def is_over(self) -> bool:
        return self._context.serves

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(PeerConnected, lambda fact: self._on_peer_joined(fact.peer)),
            on_fact(LoginRefused, self._on_refused),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Login, lambda conn, peer, command, _: self._login(peer)),)

    def _login(self, peer: Peer) -> None:
        """Dial the data connection that a peer requests, once the check is over."""
        self.when_over(peer, lambda: self._dialler.on_data_requested(peer))

    def start(self, beginning: Beginning) -> None:
        self._reach, self._ends = beginning.image.reach, self._context.clock.now + WITHIN
        self._context.clock.wake(self._ends)

    def when_over(self, who: Hashable, work: Callable[[], None]) -> None:
        """Call `work` when the check is over: immediately if it is over, and never if it fails.

        Of several calls with the same `who` only the last counts.
        """
        if self.is_over:
            work()
        else:
            self._later[who] = work

    # --- states of this node at others --------------------------------------------------------------------

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskState, self._on_state_asked),)

    def _on_state_asked(self, asked: IncomingCall[AskState]) -> None:
        line = self._gossiping.gossip.last_of(asked.who.node.uuid)
        fields = None if line is None else (line.uuid, line.boot, line.counter, line.state, line.signature)
        asked.reply(StateTold(line=fields))

    def _on_peer_joined(self, peer: Peer) -> None:
        """Ask a peer for our last state on its new control connection, as an earlier question may be lost."""
        if self.is_over or peer.node.uuid in self._told:
            return
        self._open.add(peer.node.uuid)
        ask = self._neighbours.liveness.send_question
        self._questions.ask_all(
            [peer], AskState(), StateTold, lambda r, _: self._on_replies(peer, r), WITHIN, ask
        )
        if DURABLE in peer.speaks:
            self._teach.add(peer.node.uuid)
            self._learn(peer, lambda: self._taught(peer))

    def _taught(self, peer: Peer) -> None:
        self._teach.discard(peer.node.uuid)
        self._context.clock.wake(self._context.clock.now)

    def _on_replies(self, peer: Peer, replies: Replies[StateTold]) -> None:
        self._open.discard(peer.node.uuid)
        self._told.update(replies)
        for reply in replies.values():
            line = line_of(reply.value.line)
            state = read(line) if line is not None else None
            if line is not None and state is not None and self._gossiping.is_mine(line):
                self._verdict = self._verdict or self._judge(state, peer.node.name)
        self._context.clock.wake(self._context.clock.now)

    def _judge(self, state: NodeState, by: str) -> Stop | None:
        if state.boot >= self._context.me.boot:
            return Stop(_too_old(state, by, self._context.me.boot), "OLD_BOOT")
        if (state.log, state.commits) > self._reach and not self._context.settings.accept_rollback:
            return Stop(_rolled_back(state, by, self._reach), "STORE_ROLLED_BACK")
        return None

    def _on_refused(self, fact: LoginRefused) -> None:
        """Keep a refusal by another node, which stops this node if no peer is alive.

        During the check, that is decided at its end.
        """
        self._unwelcome = fact.stop
        if self.is_over:
            self._leave_if_unwelcome()

    def _leave_if_unwelcome(self) -> None:
        if self._unwelcome is not None and not self._neighbours.living_peers():
            self._context.out.emit(self._unwelcome)

    # --- timers -------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """End the check if all nodes have answered without a problem, or its time is over."""
        if self._has_ended:
            return
        is_open = bool(self._open or self._teach)
        all_said = self._neighbours.is_settled() and not is_open and self._verdict is None
        # Despite a verdict the node may still meet the other process of its name, which is the better reason.
        if not all_said and self._context.clock.now < self._ends:
            self._context.clock.wake(self._ends)
            return
        self._has_ended = True
        if self._verdict is not None:
            # `serves` stays False, so this node publishes no state that would replace its newer one.
            self._context.out.emit(self._verdict)
            return
        self._context.serves = True
        self._leave_if_unwelcome()
        later, self._later = self._later, {}
        for work in later.values():
            work()
        self._context.clock.wake(self._context.clock.now)


def _rolled_back(state: NodeState, by: str, reach: StoreReach) -> str:
    return (
        f"The store went backwards: it holds {reach.commits} commits and is at position "
        f"{reach.log}, but {by} kept a state, signed by this node, with {state.commits} "
        f"commits at {state.log} in boot {state.boot}. A part of it was lost, an old copy "
        "took its place, or node.store was changed. Restore its newest copy, or, to continue "
        "without the lost data: mesh up --accept-rollback"
    )


def _too_old(state: NodeState, by: str, boot: int) -> str:
    return (
        f"The next boot would be {boot}, but {by} kept a state, signed by this node, of boot "
        f"{state.boot}. The data directory is an old copy, or a copy of it was started "
        f'elsewhere. Restore its newest copy, or write "boot": {state.boot} into its '
        "identity.json."
    )
