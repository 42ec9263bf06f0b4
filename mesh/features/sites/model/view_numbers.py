"""Numbers the views of this site and of other sites, as one node sees them."""

# Law 1: a change is numbered only if the members differ, so one view is never numbered twice in a row.
# Law 2: each change raises the number of its site's view, and the number of the global view, by 1.
# Law 3: numbers are never reused while the node runs, even if a site is removed and configured again.

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

NONE: frozenset[str] = frozenset()


class ViewChange(NamedTuple):
    """A new view of one site, and so of all sites together."""

    number: int  # of the global view, from 1
    site: str
    site_number: int  # of the site's view, from 1
    members: int  # their number now
    joined: tuple[str, ...]  # sorted, as is `left`
    left: tuple[str, ...]
    is_merge: bool  # the site had members before, but none in the last view


class ViewNumbers:
    """The last view of each site, and its number."""

    def __init__(self) -> None:
        self._number = 0
        self._views: dict[str, tuple[int, frozenset[str]]] = {}

    def update(self, views: Mapping[str, Collection[str]]) -> list[ViewChange]:
        """Return the changes since the last call, in the order of the sites' names.

        `views` are the names of all members by site. A site that is absent has no members.
        """
        sites = sorted({*views, *self._views})
        changes = (self._change(site, frozenset(views.get(site, ()))) for site in sites)
        return [change for change in changes if change is not None]

    def _change(self, site: str, now: frozenset[str]) -> ViewChange | None:
        number, before = self._views.get(site, (0, NONE))
        if now == before:
            return None
        self._number += 1
        self._views[site] = number + 1, now
        return ViewChange(
            self._number,
            site,
            number + 1,
            len(now),
            tuple(sorted(now - before)),
            tuple(sorted(before - now)),
            is_merge=number > 0 and not before,
        )
