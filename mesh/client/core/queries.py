"""The queries for the keys, patterns, XPaths and domains that a user passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mesh.errors import BadQuery, BadType, BadXPath
from mesh.mapping.xpath import LONGEST
from mesh.patterns import check_meant, check_pattern
from mesh.routing.subscriptions import check_query
from mesh.shortening import shown
from mesh.values import check_domain, check_key, check_text
from mesh.wire import commands as c
from mesh.wire.limits import XPATH


def queries(
    keys: Sequence[str | None], pattern: str | Sequence[str] | None, xpath: str | None, domain: str | None
) -> list[c.Query]:
    """Return the distinct queries for several keys or patterns; errors are as for `query`."""
    is_list = isinstance(pattern, list | tuple)
    patterns: list[Any] = [check_pattern(each) for each in pattern or ()] if is_list else [pattern]
    if len(keys) > 1:
        keys = [check_key(key) for key in keys]  # type: ignore[arg-type]  # None is refused there
    if not patterns:
        raise BadQuery("No pattern was given.", hint="Pass at least one.")
    return list(dict.fromkeys(query(key, each, xpath, domain) for key in keys for each in patterns))


def topics_of(topics: Sequence[str], domain: str | None) -> list[c.Query]:
    """Return the distinct queries for keys and patterns; without topics, one query for the whole domain.

    Raises: BadType, and the errors of `query`.
    """
    if not topics and not domain:
        raise BadQuery("No topic was given.", hint='Pass a key, a pattern such as "sensors/#", or domain=.')
    asked = []
    for topic in topics:
        if not isinstance(topic, str):
            raise BadType(
                f"A topic must be a str, not {shown(topic)}.", hint='Pass a text such as "sensors/#".'
            )
        is_pattern = not {"+", "#"}.isdisjoint(topic.split("/"))
        asked.append(query(None if is_pattern else topic, topic if is_pattern else None, None, domain))
    return list(dict.fromkeys(asked)) or [query(None, None, None, domain)]


def query(key: str | None, pattern: str | None, xpath: str | None, domain: str | None) -> c.Query:
    """Return the query for the arguments of `subscribe` or `get`. Raises: BadKey, BadQuery, BadXPath."""
    given = [("exact", key), ("pattern", pattern), (XPATH, xpath)]
    named = [(kind, text) for kind, text in given if text is not None]
    if len(named) > 1:
        raise BadQuery("More than one of a key, a pattern and an XPath was given.", hint="Pass one of them.")
    if not named and not domain:
        raise BadQuery("No topic was given.", hint="Pass a key, pattern=, xpath= or domain=.")
    kind, text = named[0] if named else ("pattern", "#")
    if kind != XPATH:
        if isinstance(text, str):
            check_meant(text)
    else:
        check_text(text, "XPath", LONGEST, BadXPath)
        text = text.strip()
    return check_query(c.Query(kind, text, check_domain("" if domain is None else domain)))
