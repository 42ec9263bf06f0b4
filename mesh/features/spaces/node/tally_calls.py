"""The verbs of tallies."""

# Law: an addition names the node that counts it. A client that has lost this node repeats the addition there,
#      through other nodes, so it counts once.

from __future__ import annotations

from collections.abc import Sequence

from mesh.discovery.member import NodeLife
from mesh.errors import LocalError, MeshError
from mesh.features.spaces.model.batch import Numbered
from mesh.features.spaces.model.space import LEAST, MOST, Kind, Outcome, Write
from mesh.features.spaces.model.tally import Row, check_tally, merged, sum_of
from mesh.features.spaces.node.home_relay import HomeRelay
from mesh.features.spaces.node.tallies import Tallies
from mesh.features.spaces.tally_proof import add_text
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES, page
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.routes.peer_calls import Replies
from mesh.kernel.sharing.shared import Shared
from mesh.proof import stream_of
from mesh.wire.calls import AskTallies, AskTally, AskTallyAdd, AskTallyRow
from mesh.wire.limits import SPACES
from mesh.wire.replies import TallyAdded, TallyNames, TallyRow, TallySum


class TallyCalls(Component):
    """Component with the verbs of tallies."""

    def __init__(
        self, context: NodeContext, relay: HomeRelay, neighbours: Neighbours, shared: Shared, tallies: Tallies
    ) -> None:
        self._context = context
        self._relay = relay
        self._neighbours = neighbours
        self._shared = shared
        self._tallies = tallies

    def client_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskTallyAdd, self._on_add, Right.WRITE),
            answer(AskTally, self._on_ask),
            answer(AskTallies, self._on_list),
        )

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskTallyAdd, self._on_add), answer(AskTallyRow, self._on_row))

    def _on_add(self, asked: IncomingCall[AskTallyAdd]) -> None:
        ask = asked.ask
        check_tally(ask.tally)
        if not self._context.settings.verify(ask.writer, ask.signature, add_text(ask)):
            what = "The signature of an addition is invalid, so its client did not send it."
            raise LocalError(what, code="FORGED_STREAM")
        if ask.node != self._context.me.name:
            self._relay.send_to(ask.node, asked, TallyAdded)
            return

        def then(found: Outcome | MeshError) -> None:
            if isinstance(found, MeshError):
                asked.fail(LocalError(found.what, hint=found.hint, code=found.code))
            else:
                asked.reply(TallyAdded(code=found.code))

        write = Write(Kind.ADD, amount=ask.amount)
        self._tallies.add(ask.tally, Numbered(stream_of(ask.writer), ask.number, ask.low, write), then)

    def _on_row(self, asked: IncomingCall[AskTallyRow]) -> None:
        name, row = self._tallies.own(check_tally(asked.ask.tally))
        asked.reply(TallyRow(row=name, version=row.version, total=row.total))

    def _on_ask(self, asked: IncomingCall[AskTally]) -> None:
        tally = check_tally(asked.ask.tally)

        def then(replies: Replies[TallyRow], _: list[str]) -> None:
            told = {uuid: reply.value for uuid, reply in replies.items() if not reply.code}
            copies = [(each.row, Row(each.version, each.total)) for each in told.values() if each.row]
            self._tallies.learn(tally, iter(copies))
            value = sum_of(merged([*self._tallies.copies(tally), *copies]))
            if not LEAST <= value <= MOST:
                what = f"The value of the tally {tally!r} exceeds 64 bits."
                asked.fail(LocalError(what, hint="Use another tally.", code="OVERFLOW"))
            else:
                asked.reply(TallySum(value=value, missing=self._missing(set(told))))

        self._shared.ask_speaking(SPACES, AskTallyRow(tally=tally), TallyRow, then)

    def _missing(self, told: set[bytes]) -> list[str]:
        """Return the names of known nodes that have not answered."""
        others = [each for each in self._neighbours.membership.all() if each.uuid != self._context.me.uuid]
        away = [each.name for each in others if each.state is not NodeLife.LEFT and each.uuid not in told]
        return sorted(away)[:NAMES]

    def _on_list(self, asked: IncomingCall[AskTallies]) -> None:
        found, after = page(self._tallies.names(), lambda name: name, asked.ask)
        asked.reply(TallyNames(names=found, next=after))
