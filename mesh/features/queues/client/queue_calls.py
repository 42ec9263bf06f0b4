"""The requests of a queue handle that need more than one step: declare, move and peek."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import UNSET

from mesh.client.arguments import whole
from mesh.client.batch import Batch
from mesh.client.core.calls import ReplyPart
from mesh.client.reading import ContentReader
from mesh.errors import LocalError
from mesh.features.queues.client.delivery import QueuedMessage
from mesh.features.queues.model.declared.definition import check_own, plain, terms_of
from mesh.names import node_name
from mesh.values import messages
from mesh.wire.calls import MOVED, Ask, AskQueueDeclare, AskQueueMove
from mesh.wire.limits import LARGEST_NUMBER
from mesh.wire.replies import MovedOn, Peeked, read_result

DEFAULTS = plain(terms_of({}))

AskNode = Callable[[Ask], Awaitable[list[ReplyPart]]]  # sends a request, and returns the parts of its answer


def declare_request(name: str, arguments: Mapping[str, Any]) -> AskQueueDeclare:
    """Return the request that declares the queue `name`. Raises: BadArgument.

    Defaults are not sent, because a node of another release may not know every term.
    """
    terms = terms_of(arguments)
    check_own(name, terms)
    special = {term: value for term, value in plain(terms).items() if value != DEFAULTS[term]}
    return AskQueueDeclare(name=name, terms=special)


async def move_ready(ask: AskNode, name: str, to: str, count: int | None) -> int:
    """Move ready messages of the queue `name` to the node `to`, and return how many that node accepted.

    `count` limits them; None: all that are ready. Raises: as for `Queue.move`.
    """
    left = whole("count", count, 1, LARGEST_NUMBER) if count is not None else LARGEST_NUMBER
    target, taken, is_first = node_name(to), 0, True
    while left:
        request = AskQueueMove(name=name, to=target, count=min(left, MOVED))
        try:
            moved = read_result(MovedOn, (await ask(request))[-1][0])
        except LocalError as error:
            if is_first:
                raise
            if error.code != "NOTHING_READY":
                what = f"{error.what} Before that, {target} accepted {messages(taken)}."
                raise LocalError(what, hint=error.hint, code=error.code) from None
            break
        taken, left, is_first = taken + moved.taken, left - moved.taken, False
        if not moved.rest:
            break
    return taken


def peeked_messages(parts: list[ReplyPart], reader: ContentReader) -> list[QueuedMessage[Any]]:
    """Return the messages of an answer to a peek. Raises: RemoteError for a bad answer."""
    found: list[QueuedMessage[Any]] = []
    for value, envelopes in parts:
        tries = iter(read_result(Peeked, value).tries)
        for m in (m for envelope in envelopes for m in Batch(envelope)):
            found.append(
                QueuedMessage(m._envelope, m._index, m.key, m.content, reader, UNSET, next(tries, 0))
            )
    return found
