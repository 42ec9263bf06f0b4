"""Handles the answers of other nodes and sites to forwarded messages."""

from __future__ import annotations

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.forwarding.entry_routing import EntryRouting
from mesh.kernel.forwarding.refusal_memory import WARNING
from mesh.kernel.forwarding.route_decisions import CIRCULAR
from mesh.kernel.peers.peer import Peer
from mesh.mapping.decision import CHANGING
from mesh.routing.pending_forward import PendingForward
from mesh.wire.commands import Answer, Outcomes

# Law 1: an answer counts only for entries that are assigned to the node, once for each number.
# Law 2: a refusal that may be due to different versions of the rules is not final: the entry is deferred.
# Law 3: from a former hop of an undivided entry, only an OK counts.


class ForwardAnswers:
    """Applies answers to the entries of `routing`."""

    def __init__(self, context: NodeContext, routing: EntryRouting) -> None:
        self._context = context
        self._onward, self._tailback = routing.onward, routing.tailback
        self._put_off = routing.put_off
        self._schedule_send = routing.shipping.schedule_send
        self._warn_in_vain = routing.warn_in_vain

    def on_outcomes(self, peer: Peer, command: Outcomes) -> None:
        """Handle a peer's answers for forwarded messages."""
        for outcome in command.outcomes:
            a = outcome.answer
            found = self._onward.find_answered(outcome.stream, a.domain, a.first, a.last)
            if not found:
                self._context.counters.add_count("unasked")
            for entry, first, last in found:
                part = Answer(a.domain, first, last, a.state, a.matched, a.text)
                line = self._onward.line_of(entry, peer.node.name)
                if line is not None:
                    line.progress = self._context.clock.now
                self._outcome(entry, peer.node.name, part)
        self._tailback.returns.return_waiting()
        self._schedule_send(peer.node.name)  # its window may be open again

    def on_answer(self, entry: PendingForward, hop: str, answer: Answer) -> None:
        self._outcome(entry, hop, answer)
        self._schedule_send(hop)

    def _outcome(self, entry: PendingForward, hop: str, answer: Answer) -> None:
        if answer.state == WARNING:
            if hop in entry.lacking:
                self._tailback.warn(entry, answer.text)
        elif hop in entry.lacking and self._may_turn(entry, answer) and not self._goes_back(entry, answer):
            self._put_off.defer_returned(entry, answer.text, answer.state == CHANGING)
        elif hop in entry.lacking:
            self._tailback.record_final_answer(entry, hop, answer)
            if entry.was_divided:
                self._warn_in_vain(entry)
        elif answer.state == "OK" and hop in entry.former and not entry.was_divided:
            # Accepted by an earlier hop, so refusals of the present one do not count.
            self._tailback.record_final_answer(entry, entry.hops[0], answer)

    def _goes_back(self, entry: PendingForward, answer: Answer) -> bool:
        """Return whether a returned entry goes back further, as a message before it has expired."""
        return answer.state == CHANGING and self._tailback.returns.returns_entry(entry)

    def _may_turn(self, entry: PendingForward, answer: Answer) -> bool:
        """Return whether the refusal may be due only to different versions of the rules.

        For an entry to several masters, the result is always False.
        """
        is_passing = answer.state == CHANGING or (answer.state == CIRCULAR and self._put_off.is_lately)
        return is_passing and not entry.was_divided
