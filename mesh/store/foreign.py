"""Stores that are opened through an entry point of the group `mesh.stores`."""

from abc import abstractmethod

from mesh.config_store import StoreKind, store_kind
from mesh.errors import NotAvailable
from mesh.store.base import Store


class ForeignStoreKind(StoreKind):
    """A kind of store that can be opened."""

    @abstractmethod
    def open(self, address: str, owner: bytes, boot: int) -> Store:
        """Open the store of `owner`, which only one process may use. Raises: NotAvailable, StoreError."""

    @abstractmethod
    def check_openable(self, address: str) -> None:
        """Check, without changing it, that the store can be opened. Raises: NotAvailable, StoreError."""


def foreign_store_kind(address: str) -> ForeignStoreKind:
    """Return the kind of store with this address. Raises: NotAvailable if none can be opened."""
    kind, scheme = store_kind(address), address.partition("://")[0]
    if kind is None:
        what = f"No store of the kind {scheme[:40]!r} is installed."
        raise NotAvailable(what, hint="Install the package that provides it in this environment.")
    if not isinstance(kind, ForeignStoreKind):
        what = f"The installed kind of store {scheme[:40]!r} has no methods to open a store."
        raise NotAvailable(what, hint=f"Its class must derive from {__name__}.{ForeignStoreKind.__name__}.")
    return kind
