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
            hint = "Subscribe without durable= or --durable."
            raise BadQuery(f"{query.text[:80]!r} is reserved for the mesh and cannot be durable.", hint=hint)
    if not found:
        raise BadQuery(
            "A durable subscription needs a key or a pattern.", hint="Name one, such as 'orders/#'."
        )
    if len(found) > QUERIES:
        what = f"A durable subscription cannot have {len(found)} keys and patterns; the limit is {QUERIES}."
        raise BadQuery(what, hint="Use a pattern that matches many keys, such as 'orders/#'.")
    return DurableTerms(tuple(sorted(found, key=lambda query: (query.domain, query.text, query.kind))))


def packed(durable: DurableTerms) -> bytes:
    return pack({"queries": [[query.kind, query.text, query.domain] for query in durable.queries]})


def unpacked(data: bytes, title: str = "durable subscription") -> DurableTerms:
    """Return the declaration that `packed` wrote, without queries of unknown kinds.

    `title` names it in an error. Raises: LocalError.
    """
    try:
        queries = _decode(data).queries
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LocalError(f"The {title} cannot be read: {error}.", code="BAD_ROW") from error
    known = [query for query in queries if query.kind in KNOWN]
    if not known:
        kinds = ", ".join(sorted({repr(query.kind[:40]) for query in queries}))
        what = f"A durable subscription has only queries of kinds unknown to this release: {kinds}."
        raise BadQuery(what, hint="Upgrade this node to the release of the others.")
    return durable_of(known)


def said(durable: DurableTerms, has_kinds: bool = False) -> str:
    """Return the queries as text; `has_kinds` adds whether each is a key or a pattern."""
    kinds = {"exact": "key ", "pattern": "pattern "} if has_kinds else {}
    return ", ".join(
        f"{kinds.get(query.kind, '')}{query.text}{f' in domain {query.domain}' if query.domain else ''}"
        for query in durable.queries
    )


_decode = msgspec.msgpack.Decoder(DurableTerms).decode
