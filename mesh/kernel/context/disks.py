"""The stores of a node: its own, and those of queues."""

# Law: a queue has one store at a node while the node runs. All records of its messages are in that store, so
#      each change of them is one commit. The definition of the queue is in the node's own store.

from __future__ import annotations

from collections.abc import Iterator

from mesh.errors import StoreError
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.names import PUTS, store_of
from mesh.routing.store_handle import StoreHandle

OWN = "the node's own store"


class Disks(Component):
    """The stores of a node, each as a Disk.

    `own` is the node's store; the settings name the others.
    """

    def __init__(self, context: NodeContext) -> None:
        self._queues = context.settings.stores
        volatile = context.settings.volatile
        stores = {"": None, **{store: None for _, store in self._queues}}
        self._all = {store: Disk(context, StoreHandle(store, store in volatile)) for store in stores}
        self.own = self._all[""]

    def __iter__(self) -> Iterator[Disk]:
        return iter(self._all.values())

    def __getitem__(self, store: str) -> Disk:
        return self._all[store]

    def of_queue(self, name: str) -> Disk:
        return self._all[store_of(name, self._queues)]

    def shelf_of(self, domain: str) -> StoreHandle:
        """Return the store handle for messages that are published in this domain."""
        if not self._queues or not domain.startswith(PUTS):
            return self.own.shelf
        return self.of_queue(domain.removeprefix(PUTS)).shelf

    def check_store(self, store: str, queue: str) -> None:
        """Raise StoreError if a message to the queue ("" = to no queue) does not belong in `store`.

        `queue` is a destination. Later changes of the message would be written into another store.
        """
        right = self.shelf_of(queue).store
        if right != store:
            what = f"A message for {queue or 'no queue'} is in {store or OWN}, but belongs to {right or OWN}."
            hint = "The store may have been edited, or replaced by that of another node."
            raise StoreError(what, hint=hint, code="STORE_MISPLACED")

    # --- component --------------------------------------------------------------------------------------

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
        return sum(disk.storing for disk in self)

    def commit_later(self) -> None:
        for disk in self:
            disk.commit_later()
