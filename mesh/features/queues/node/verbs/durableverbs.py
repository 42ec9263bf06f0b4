"""Calls of clients that declare and remove durable subscriptions at all nodes."""

# Law: a declaration is answered after all reachable nodes have stored it or do not answer. A durable
#      subscription is removed at all nodes; with `if_unused` only if no node is known or suspected to have
#      consumers for it.

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mesh.errors import LocalError, QueueInUse
from mesh.features.queues.model.declared.durable import DurableTerms, durable_of
from mesh.features.queues.node.definitions.durables import DURABLES, Durables
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.looking.lastknown import LastKnown
from mesh.features.queues.node.looking.looking import row_of
from mesh.features.queues.node.looking.queue_part_calls import UNKNOWN, not_known, row
from mesh.features.queues.node.verbs.asked import ChangingVerbs
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import Replies
from mesh.kernel.sharing.shared import Shared
from mesh.names import SUBS
from mesh.printable import count
from mesh.wire.calls import AskDurable, AskDurableRemove, AskTakers
from mesh.wire.commands import Query
from mesh.wire.limits import DURABLE
from mesh.wire.replies import Removed, ReplyValue, Takers

SHOWN = 5  # nodes that an error names
# Maps kind, text and domain of a query to the nodes that accept its messages by the rules, and to whether
# other nodes may accept them too.
FindAcceptors = Callable[[str, str, str], tuple[Sequence[str], bool]]


class DurableVerbs(Component):
    """Component for the calls on durable subscriptions."""

    def __init__(
        self,
        context: NodeContext,
        shared: Shared,
        nodes: Nodes,
        accepting: FindAcceptors,
        durables: Durables,
        queues: Queues,
        asked: ChangingVerbs,
        last_known: LastKnown,
    ) -> None:
        self._context = context
        self._shared = shared
        self._nodes = nodes
        self._accepting = accepting
        self._durables = durables
        self._queues = queues
        self._asked = asked
        self._last_known = last_known

    def client_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskDurable, self._declare, Right.WRITE),
            answer(AskDurableRemove, self._remove, Right.WRITE),
        )

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskTakers, lambda asked: asked.reply(self._takers_here(asked.ask.queue))),)

    def _takers_here(self, name: str) -> Takers:
        queue = self._queues.find(name)
        return Takers() if queue is None else Takers(len(queue.part.takers), queue.part.backlog.messages)

    def _declare(self, asked: IncomingCall[AskDurable]) -> None:
        name, durable = asked.ask.name, durable_of(Query(*query) for query in asked.ask.queries)
        self._check_linked(name, durable)
        self._durables.declare_durable(name, durable, asked.who.text)
        self._everywhere(asked, lambda: row(row_of(self._queues.get(SUBS + name), self._context), {}, ()))

    def _check_linked(self, name: str, durable: DurableTerms) -> None:
        """Check that messages can move here from all nodes that accept them.

        Messages at an unlinked node would wait forever. Raises: LocalError (NOT_LINKED).
        """
        named = [self._accepting(query.kind, query.text, query.domain) for query in durable.queries]
        lost = [
            node for node in self._nodes.unlinked() if any(node in nodes or others for nodes, others in named)
        ]
        if lost:
            more = f" and {len(lost) - SHOWN} more" if lost[SHOWN:] else ""
            me = self._context.me.name
            accept, them = ("accepts", "that node") if len(lost) == 1 else ("accept", "these nodes")
            raise LocalError(
                f"The durable subscription {name!r} would miss messages that {', '.join(lost[:SHOWN])}{more} "
                f"{accept}, because {me} may not be linked to {them}.",
                hint=f'If {me} has `links = "configured"`, add {them} to its [nodes]. If `mesh rule ls` '
                f"lists denied links, use `mesh node allow`. Or subscribe at a node that is linked to "
                f"{them}.",
                code="NOT_LINKED",
            )

    def _everywhere(self, asked: IncomingCall[Any], value: Callable[[], ReplyValue]) -> None:
        """Send the row to all reachable nodes, and answer when they have stored it or do not answer."""
        then = partial(self._asked.when_written, asked, value)
        self._shared.spread(DURABLES, asked.ask.name, DURABLE, then)

    def _remove(self, asked: IncomingCall[AskDurableRemove]) -> None:
        name = asked.ask.name
        self._durables.check_known(name)
        ask = AskTakers(queue=SUBS + name)
        self._shared.ask_speaking(DURABLE, ask, Takers, partial(self._remove_if_free, asked))

    def _remove_if_free(
        self, asked: IncomingCall[AskDurableRemove], replies: Replies[Takers], missing: list[str]
    ) -> None:
        name = asked.ask.name
        said = [self._takers_here(SUBS + name), *(told.value for told in replies.values())]
        takers, messages = (
            sum(column) for column in zip(*((s.takers, s.messages) for s in said), strict=True)
        )
        try:
            if asked.ask.if_unused:
                self._check_unused(name, takers, self._unknown(replies, missing))
            self._durables.remove_durable(name, asked.doer)
        except LocalError as error:
            asked.fail(error)
        else:
            self._everywhere(asked, lambda: Removed(removed=messages))

    def _unknown(self, replies: Replies[Takers], missing: Sequence[str]) -> list[str]:
        """Return the nodes that may have a consumer or waiting messages, sorted."""
        answered = [uuid for uuid, told in replies.items() if not told.code]
        return sorted({*missing, *self._last_known.unknown(answered)})

    def _check_unused(self, name: str, takers: int, unknown: Sequence[str]) -> None:
        if takers:
            what = f"The durable subscription {name!r} has {count(takers, 'consumer')}."
            raise QueueInUse(what, hint="Close the consumers first.")
        if unknown:
            what = f"The durable subscription {name!r} is {not_known('unused', unknown)}"
            raise QueueInUse(what, hint=UNKNOWN)
