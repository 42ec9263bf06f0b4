"""The declaration of a durable subscription, and its validation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from mesh.errors import BadQuery, LocalError
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.patterns import SYSTEM
from mesh.routing.subscriptions import check_query
from mesh.values import check_domain
from mesh.wire.codec import pack
from mesh.wire.commands import Query

QUERIES = 64  # per durable subscription
KNOWN = ("exact", "pattern")  # kinds of queries
TERMS = QueueTerms(when_full="reject")  # of the queue of each durable subscription


class DurableTerms(Struct, frozen=True):
    """The declaration of a durable subscription.

    New fields are appended and have a default.
    """

    queries: Annotated[tuple[Query, ...], Meta(min_length=1, max_length=QUERIES)]


def durable_of(queries: Iterable[Query]) -> DurableTerms:
    """Return the declaration for `queries`, without duplicates. Raises: BadQuery, BadKey, BadPattern."""
    found = set(queries)
    for query in found:
        check_query(query)
        check_domain(query.domain)
        if query.text.startswith(SYSTEM):  # keys of dead letters begin with it
            hint = "Subscribe without durable=."
            raise BadQuery(f"{query.text[:80]!r} is reserved for the mesh and cannot be durable.", hint=hint)
    if not 1 <= len(found) <= QUERIES:
        what = f"A durable subscription cannot have {len(found)} keys and patterns."
        raise BadQuery(what, hint=f"Name 1 to {QUERIES}; a pattern such as 'orders/#' matches many keys.")
    return DurableTerms(tuple(sorted(found, key=lambda query: (query.domain, query.text, query.kind))))


def packed(durable: DurableTerms) -> bytes:
    return pack({"queries": [[query.kind, query.text, query.domain] for query in durable.queries]})


def unpacked(data: bytes) -> DurableTerms:
    """Return the declaration that `packed` wrote, without queries of unknown kinds. Raises: LocalError."""
    try:
        return durable_of(query for query in _decode(data).queries if query.kind in KNOWN)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LocalError(f"The row is not a durable subscription: {error}.", code="BAD_ROW") from error


def said(durable: DurableTerms) -> str:
    return ", ".join(
        f"{query.text}{f' in domain {query.domain}' if query.domain else ''}" for query in durable.queries
    )


_decode = msgspec.msgpack.Decoder(DurableTerms).decode
