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
    """Return the kind of store with this address. Raises: NotAvailable if none is installed."""
    kind = store_kind(address)
    if not isinstance(kind, ForeignStoreKind):
        scheme = address.partition("://")[0]
        raise NotAvailable(
            f"No store {scheme!r:.40} is installed.", hint="Install the package that provides it."
        )
    return kind
