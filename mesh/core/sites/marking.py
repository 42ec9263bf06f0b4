"""Which other sites lack something that found no room here, so that they need a transfer?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Disk
from mesh.core.desk.part import Beginning, Part
from mesh.core.sites.passedover import PassedOver
from mesh.operations import Delete, Put
from mesh.printable import count
from mesh.reasons.reason import reason
from mesh.reasons.what import SITE, What
from mesh.sites.marks import Mark
from mesh.sites.stores import SiteStores, stores_of
from mesh.wire.replies import Reason

TABLE = "site"

STORES = b"\0"  # begins the keys of rows that say which stores of a site are known
PLACES = (
    b"\1"  # begins the keys of rows of runs in our log that are not owed to a site; their first is the end
)
AGAIN = 3600.0  # s in which no more than one new store has a site sent last values

# Law: a mark, and the place of what was dropped, are on the disk with the same commit that forgets it.


class Marking(Part):
    """The marks of this node, as a master. Each master has its own."""

    def __init__(self, desk: Desk, disk: Disk) -> None:
        self._desk = desk
        self._disk = disk
        self._marks: dict[str, Mark] = {}
        self._put_off: set[str] = set()
        self._runs: dict[str, dict[int, int]] = {}  # places that were passed over before the start
        self._stores: dict[str, SiteStores] = {}
        self._next: dict[str, float] = {}  # when a new store of a site may count again,
        self._shown: dict[str, list[bytes]] = {}  # and what was seen until then

    def start(self, beginning: Beginning) -> None:
        for key, row in beginning.rows(TABLE).items():
            site = _site_of(key)
            if site not in self._desk.settings.outboxes:
                self._disk.later(TABLE, key, Delete(TABLE, key))
            elif key.startswith(STORES):
                self._stores[site] = SiteStores.unpack(row)
            elif key.startswith(PLACES):
                self._runs.setdefault(site, {})[int.from_bytes(key[-8:])] = int.from_bytes(row)
            else:
                self._marks[site] = Mark.unpack(row)

    def __contains__(self, site: str) -> bool:
        """Does it need a transfer?"""
        return site in self._marks

    def count(self, site: str) -> int:
        """The messages that it lacks, as far as that is known."""
        return self._marks[site].dropped if site in self._marks else 0

    def since(self, site: str) -> int | None:
        """Since when (ns since 1970) it lacks any; None: it lacks none."""
        return self._marks[site].since if self.count(site) else None

    def dropped(self, site: str, messages: int) -> None:
        """So many more found no room."""
        mark = self._marks.setdefault(site, Mark(since=self._desk.believed))
        mark.dropped += messages
        self._keep(site, mark)
        self._tell(site, mark)

    def passed_over(self, site: str) -> PassedOver:
        """What had found no room before the start, and is perhaps owed to others still."""
        return PassedOver(self._runs.pop(site, {}).items())

    def passes(self, site: str, first: int, last: int) -> None:
        """This run of places in our log is not owed to it."""
        row = _run_key(site, first)
        self._disk.later(TABLE, row, Put(TABLE, row, last.to_bytes(8)))

    def passed(self, site: str, firsts: Iterable[int]) -> None:
        """The runs that begin there need not be known any more."""
        for first in firsts:
            row = _run_key(site, first)
            self._disk.later(TABLE, row, Delete(TABLE, row))

    def _keep(self, site: str, mark: Mark) -> None:
        self._disk.later(TABLE, site.encode(), Put(TABLE, site.encode(), mark.pack()))

    def sites(self) -> list[str]:
        """Those that need one, and take one."""
        return [site for site in self._marks if site not in self._put_off]

    def want(self, site: str, then: Callable[[], None]) -> None:
        """Somebody wishes one, whatever it lacks; `then`: that is on the disk."""
        self._put_off.discard(site)
        self._keep(site, self._marks.setdefault(site, Mark(since=self._desk.believed)))
        self._disk.commit_if_any(lambda error: then() if error is None else None)

    def sees(self, site: str, notes: Iterable[bytes]) -> None:
        """Gateways here say that of it. A new store there lacks what it was sent before."""
        said = list(notes)
        stores = [store for note in said for store in stores_of(note)]
        known = self._stores.setdefault(site, SiteStores())
        if known.is_new(stores):
            due = self._next.get(site, self._desk.now)
            if self._desk.now < due:
                self._shown[site] = said
                self._desk.wake(due)
                return
            self._next[site] = self._desk.now + AGAIN
            self._desk.event("site", f"{site} has a store that was not seen before: it is sent last values")
            self.want(site, lambda: None)
        if known.see(stores):
            row = STORES + site.encode()
            self._disk.later(TABLE, row, Put(TABLE, row, known.pack()))

    def put_off(self, site: str) -> None:
        """It takes none, until somebody wishes one."""
        self._put_off.add(site)

    def clear(self, site: str) -> None:
        """It needs none any more."""
        self._marks.pop(site, None)
        self._disk.later(TABLE, site.encode(), Delete(TABLE, site.encode()))

    def forget(self, site: str) -> None:
        """It is named no more."""
        self.clear(site)
        self._put_off.discard(site)
        self._stores.pop(site, None)
        self._shown.pop(site, None)
        self._disk.later(TABLE, STORES + site.encode(), Delete(TABLE, STORES + site.encode()))

    def tick(self) -> None:
        for site in [site for site in self._shown if self._next[site] <= self._desk.now]:
            self.sees(site, self._shown.pop(site))
        for site, mark in self._marks.items():
            self._tell(site, mark)

    def _tell(self, site: str, mark: Mark) -> None:
        dropped = mark.tell(self._desk.now)
        if dropped is not None:
            what = count(dropped, "message")
            text = f"there is no more room for what is for {site}: {what} will not go there"
            self._desk.event("site", text, level="warning")
        self._desk.wake(mark.due)

    def figures(self) -> dict[str, int | float]:
        return {
            "sites_marked": len(self._marks),
            "site_dropped": sum(mark.dropped for mark in self._marks.values()),
        }

    def why(self, what: What) -> Iterator[Reason]:
        if what.kind == SITE and (lacks := self.count(what.text)):
            n = count(lacks, "message")
            yield reason("SITE_LACKS", site=what.text, n=n, node=self._desk.me.name)


def _run_key(site: str, first: int) -> bytes:
    return PLACES + site.encode() + first.to_bytes(8)


def _site_of(key: bytes) -> str:
    """The site that a row is about."""
    name = key[1:-8] if key.startswith(PLACES) else key.removeprefix(STORES)
    return name.decode()
