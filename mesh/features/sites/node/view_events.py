"""Reports the numbered views of this site and of other sites as events of the kind `view`."""

# Law 1: views are checked once a second. Several changes of a site within a second are one view.
# Law 2: every node of a site sees its own site; only gateways see other sites.
# Law 3: a view is one node's view: two nodes may see changes in different orders, or miss short ones.

from __future__ import annotations

from collections.abc import Callable, Iterator

from mesh.features.sites.model.view_numbers import ViewChange, ViewNumbers
from mesh.features.sites.node.gateway import Gateways
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.printable import count
from mesh.wire.replies import ViewRow

EVENT = "view"
NAMED = 20  # names of each kind in an event, at most


class ViewEvents(Component):
    """Component that numbers the views of the sites that this node sees.

    `alive` returns the names of the other live nodes of this site.
    """

    def __init__(self, context: NodeContext, gateways: Gateways, alive: Callable[[], list[str]]) -> None:
        self._context = context
        self._gateways = gateways
        self._alive = alive
        self._numbers = ViewNumbers()

    def on_second(self) -> None:
        """Report the sites whose members have changed."""
        if self._context.settings.site.name:
            for change in self._numbers.update(dict(self._views())):
                self._context.event(EVENT, text_of(change), view=row_of(change))

    def _views(self) -> Iterator[tuple[str, list[str]]]:
        yield self._context.settings.site.name, [self._context.me.name, *self._alive()]
        for view in self._gateways.views.all():
            yield view.site, list(view.members)


def row_of(change: ViewChange) -> ViewRow:
    """Return the change as clients receive it, with at most NAMED names of each kind."""
    return ViewRow(
        number=change.number,
        site=change.site,
        site_number=change.site_number,
        count=change.members,
        joined=list(change.joined[:NAMED]),
        left=list(change.left[:NAMED]),
        merged=change.is_merge,
    )


def text_of(change: ViewChange) -> str:
    """Return the text of the event."""
    said = (("joined", change.joined), ("left", change.left))
    news = "; ".join(f"{_names(names)} {word}" for word, names in said if names)
    back = " (merged again)" if change.is_merge else ""
    seen = count(change.members, "node")
    return f"{change.number}: site {change.site} has {seen} in its view {change.site_number}{back}: {news}"


def _names(names: tuple[str, ...]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
