"""An XPath that is asked of many values, some at a time: meanwhile others are heard."""

from __future__ import annotations

from collections.abc import Iterable

from mesh.mapping.cost import MOST
from mesh.mapping.keyxml import asked
from mesh.routing.last import Last
from mesh.routing.querytrie import wants
from mesh.wire.commands import Query
from mesh.wire.limits import KEY_XML

SLICE = MOST  # visits at a time, as one XPath may take: some 20 ms at worst
LEAST = 500  # visits for each value: its document is read


class XPathScan:
    """The values that a query finds, of those that were there when it began: `found`, so far."""

    def __init__(self, query: Query, values: Iterable[Last]) -> None:
        self.found: list[Last] = []
        self._query = query
        self._left = iter(values)
        self._price = asked(query.text).price  # of the largest document

    def go_on(self, visits: int = SLICE) -> bool:
        """Look at some more of them; False when there are none left."""
        for last in self._left:
            xml = last.envelope.xml
            if wants(self._query, last.key, last.envelope.domain, xml):
                self.found.append(last)
            visits -= max(LEAST, self._price * len(xml) // KEY_XML)
            if visits <= 0:
                return True
        return False
