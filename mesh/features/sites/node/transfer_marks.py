"""Marks sites for a transfer: after dropped messages, for a new store, or at the request of a client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mesh.features.sites.model.marks import Mark
from mesh.features.sites.model.stores import SiteStores, stores_of
from mesh.features.sites.node.skipped_positions import SkippedPositions
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.operations import Delete, Put
from mesh.printable import count
from mesh.reasons.reason import reason
from mesh.reasons.what import SITE, What
from mesh.wire.replies import Reason

TABLE = "site"

STORES = b"\0"  # key prefix of rows about a site's stores
PLACES = b"\1"  # key prefix of runs not owed to a site; the key ends with the first position
AGAIN = 3600.0  # s between two new stores that cause a transfer

# Law: a mark, and the position of a dropped message, are written in the commit that forgets the message.


class TransferMarks(Component):
    """The marks of this node as a master; every master has its own."""

    def __init__(self, context: NodeContext, disk: Disk) -> None:
        self._context = context
        self._disk = disk
        self._marks: dict[str, Mark] = {}
        self._put_off: set[str] = set()
        self._runs: dict[str, dict[int, int]] = {}  # positions dropped before the start
        self._stores: dict[str, SiteStores] = {}
        self._next: dict[str, float] = {}  # when a new store may count again
        self._shown: dict[str, list[bytes]] = {}  # notes deferred until `_next`

    def start(self, beginning: Beginning) -> None:
        for key, row in beginning.rows(TABLE).items():
            site = _site_of(key)
            if site not in self._context.settings.site.outboxes:
                self._disk.later(TABLE, key, Delete(TABLE, key))
            elif key.startswith(STORES):
                self._stores[site] = SiteStores.unpack(row)
            elif key.startswith(PLACES):
                self._runs.setdefault(site, {})[int.from_bytes(key[-8:])] = int.from_bytes(row)
            else:
                self._marks[site] = Mark.unpack(row)

    def __contains__(self, site: str) -> bool:
        """Return whether the site needs a transfer."""
        return site in self._marks

    def dropped_count(self, site: str) -> int:
        """Return the number of messages that the site is known to lack."""
        return self._marks[site].dropped if site in self._marks else 0

    def since(self, site: str) -> int | None:
        """Return since when the site lacks messages, in ns since 1970, or None if it lacks none."""
        return self._marks[site].since if self.dropped_count(site) else None

    def dropped(self, site: str, messages: int) -> None:
        """Record that `messages` more were dropped for the site."""
        mark = self._marks.setdefault(site, Mark(since=self._context.clock.believed))
        mark.dropped += messages
        self._write_mark(site, mark)
        self._report_dropped(site, mark)

    def passed_over(self, site: str) -> SkippedPositions:
        """Remove and return the positions dropped before the start, which other sinks may still be owed."""
        return SkippedPositions(self._runs.pop(site, {}).items())

    def passes(self, site: str, first: int, last: int) -> None:
        """Record that the log positions from `first` to `last` are not owed to the site."""
        row = _run_key(site, first)
        self._disk.later(TABLE, row, Put(TABLE, row, last.to_bytes(8)))

    def passed(self, site: str, firsts: Iterable[int]) -> None:
        """Forget the runs that begin at the positions `firsts`."""
        for first in firsts:
            row = _run_key(site, first)
            self._disk.later(TABLE, row, Delete(TABLE, row))

    def _write_mark(self, site: str, mark: Mark) -> None:
        self._disk.later(TABLE, site.encode(), Put(TABLE, site.encode(), mark.pack()))

    def sites(self) -> list[str]:
        """Return the sites that need a transfer, except those whose transfer is deferred."""
        return [site for site in self._marks if site not in self._put_off]

    def want(self, site: str, then: Callable[[], None]) -> None:
        """Mark the site for a transfer, and call `then` when the mark is on disk.

        If writing fails, `then` is not called.
        """
        self._put_off.discard(site)
        self._write_mark(site, self._marks.setdefault(site, Mark(since=self._context.clock.believed)))
        self._disk.commit_if_any(lambda error: then() if error is None else None)

    def sees(self, site: str, notes: Iterable[bytes]) -> None:
        """Read the notes with which gateways here announce `site`, and mark it if it has a new store.

        A new store lacks the messages that were sent to the site before, so the site needs a transfer. A
        further new store counts only an hour after the last one.
        """
        said = list(notes)
        stores = [store for note in said for store in stores_of(note)]
        known = self._stores.setdefault(site, SiteStores())
        if known.is_new(stores):
            due = self._next.get(site, self._context.clock.now)
            if self._context.clock.now < due:
                self._shown[site] = said
                self._context.clock.wake(due)
                return
            self._next[site] = self._context.clock.now + AGAIN
            self._context.event("site", f"{site} has a new store: its retained values are sent again")
            self.want(site, lambda: None)
        if known.see(stores):
            row = STORES + site.encode()
            self._disk.later(TABLE, row, Put(TABLE, row, known.pack()))

    def defer_transfer(self, site: str) -> None:
        """Begin no transfer to the site until a client requests one, or the site has a new store."""
        self._put_off.add(site)

    def remove_mark(self, site: str) -> None:
        """Remove the mark of the site."""
        self._marks.pop(site, None)
        self._disk.later(TABLE, site.encode(), Delete(TABLE, site.encode()))

    def forget_site(self, site: str) -> None:
        """Forget the mark and the stores of a site that is no longer configured."""
        self.remove_mark(site)
        self._put_off.discard(site)
        self._stores.pop(site, None)
        self._shown.pop(site, None)
        self._disk.later(TABLE, STORES + site.encode(), Delete(TABLE, STORES + site.encode()))

    def tick(self) -> None:
        for site in [site for site in self._shown if self._next[site] <= self._context.clock.now]:
            self.sees(site, self._shown.pop(site))
        for site, mark in self._marks.items():
            self._report_dropped(site, mark)

    def _report_dropped(self, site: str, mark: Mark) -> None:
        dropped = mark.take_report(self._context.clock.now)
        if dropped is not None:
            what = count(dropped, "message")
            text = f"{site} will lack {what}: its buffer here is full"
            self._context.event("site", text, level="warning")
        self._context.clock.wake(mark.due)

    def figures(self) -> dict[str, int | float]:
        return {
            "sites_marked": len(self._marks),
            "site_dropped": sum(mark.dropped for mark in self._marks.values()),
        }

    def explain(self, what: What) -> Iterator[Reason]:
        if what.kind == SITE and (lacks := self.dropped_count(what.text)):
            n = count(lacks, "message")
            yield reason("SITE_LACKS", site=what.text, n=n, node=self._context.me.name)


def _run_key(site: str, first: int) -> bytes:
    return PLACES + site.encode() + first.to_bytes(8)


def _site_of(key: bytes) -> str:
    name = key[1:-8] if key.startswith(PLACES) else key.removeprefix(STORES)
    return name.decode()
