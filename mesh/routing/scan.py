"""Scan of many values with an XPath, in slices, so that the loop can process other input meanwhile."""

from __future__ import annotations

from collections.abc import Iterable

from mesh.mapping.cost import MOST
from mesh.mapping.keyxml import asked
from mesh.routing.querytrie import wants
from mesh.routing.retained_value import RetainedValue
from mesh.wire.commands import Query
from mesh.wire.limits import KEY_XML

SLICE = MOST  # visits in a slice: at worst 20 ms
LEAST = 500  # visits per value: its document is parsed


class XPathScan:
    """A scan of `values`, whose matches so far are in `found`."""

    def __init__(self, query: Query, values: Iterable[RetainedValue]) -> None:
        self.found: list[RetainedValue] = []
        self._query = query
        self._left = iter(values)
        self._price = asked(query.text).price  # for the largest document

    def go_on(self, visits: int = SLICE) -> bool:
        """Scan another slice, and return False when no value is left."""
        for last in self._left:
            xml = last.envelope.xml
            if wants(self._query, last.key, last.envelope.domain, xml):
                self.found.append(last)
            visits -= max(LEAST, self._price * len(xml) // KEY_XML)
            if visits <= 0:
                return True
        return False
