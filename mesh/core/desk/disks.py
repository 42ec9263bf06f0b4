"""Which of a node's stores is something written to? Its own, or that of the queue in whose domain it is."""

# Law: a queue has one store at a node, for as long as the node runs. All that is known of its messages lies
#      there, so that what becomes of them is one commit; its definition lies in the node's own.

from __future__ import annotations

from collections.abc import Iterator

from mesh.core.desk.desk import Desk
from mesh.core.desk.disk import Disk
from mesh.core.desk.part import Beginning, Part
from mesh.errors import StoreError
from mesh.names import PUTS, store_of
from mesh.routing.shelf import Shelf

OWN = "the node's own store"


class Disks(Part):
    """A disk for each store. `own` is that of the node, the others are those that the settings name."""

    def __init__(self, desk: Desk) -> None:
        self._queues = desk.settings.stores
        volatile = desk.settings.volatile
        stores = {"": None, **{store: None for _, store in self._queues}}
        self._all = {store: Disk(desk, Shelf(store, store in volatile)) for store in stores}
        self.own = self._all[""]

    def __iter__(self) -> Iterator[Disk]:
        return iter(self._all.values())

    def __getitem__(self, store: str) -> Disk:
        return self._all[store]

    def of_queue(self, name: str) -> Disk:
        """That of the queue of this name."""
        return self._all[store_of(name, self._queues)]

    def shelf_of(self, domain: str) -> Shelf:
        """The shelf of what is published in this domain."""
        if not self._queues or not domain.startswith(PUTS):
            return self.own.shelf
        return self.of_queue(domain.removeprefix(PUTS)).shelf

    def check(self, store: str, queue: str) -> None:
        """May a message for that queue, "" for none, stand in that store? Else StoreError: what became of it
        would be written into another.
        """
        right = self.shelf_of(queue).store
        if right != store:
            what = f"{store or OWN} holds a message for {queue or 'no queue'}, whose store is {right or OWN}."
            hint = "Was that store changed by hand, or one of another node put in its place?"
            raise StoreError(what, hint=hint, code="STORE_MISPLACED")

    # --- as one part --------------------------------------------------------------------------------------

    def start(self, beginning: Beginning) -> None:
        for store, image in beginning.others.items():
            self._all[store].shelf.next_position = image.next_position

    def figures(self) -> dict[str, int | float]:
        return {
            "commits_under_way": self.storing,
            "fetches_under_way": sum(disk.fetching for disk in self),
            "stored_envelopes": sum(disk.shelf.live for disk in self),
        }

    @property
    def storing(self) -> int:
        """Commits under way, to all of them."""
        return sum(disk.storing for disk in self)

    def commit_later(self) -> None:
        """Store what has gathered, which nobody waits for."""
        for disk in self:
            disk.commit_later()
