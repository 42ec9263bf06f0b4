"""Checks the configured store of a node or queue. Other kinds of stores are entry points of `mesh.stores`."""

from abc import ABC, abstractmethod

from mesh.entry_points import named
from mesh.errors import BadConfig
from mesh.values import check_path

GROUP = "mesh.stores"  # the entry-point group; names are schemes of addresses
MEMORY, SQLITE = "memory", "sqlite"
FILE = "sqlite://"  # prefix of a store's absolute path


class NoSuchKind(BadConfig):
    """No entry point has the scheme of a store's address."""


class StoreKind(ABC):
    """A kind of store whose address begins with the scheme that names its entry point."""

    @abstractmethod
    def check(self, address: str) -> None:
        """Raise BadConfig for an invalid address, without repeating a text that may contain a password."""


def store_kind(address: str) -> StoreKind | None:
    """Return the kind of store with this address, or None. Raises: FeatureFailed if it cannot be loaded."""
    scheme, mark, _ = address.partition("://")
    return named(GROUP, scheme, "store", StoreKind) if mark else None  # type: ignore[type-abstract]


def check_store(text: str) -> None:
    """Raise BadConfig for an invalid store of a node.

    The error does not repeat a text that may contain a password.
    """
    if text.startswith(FILE):
        what = "A node's SQLite store is in its data directory, so it has no path of its own."
        raise BadConfig(what, hint=f"Set the store to {SQLITE}, and node.data to the directory.")
    if text not in (MEMORY, SQLITE):
        _check_kind(text, SQLITE)


def _check_kind(text: str, file: str) -> None:
    """Raise BadConfig for an unknown or invalid store; `file` is how the hint writes an SQLite store."""
    if (kind := store_kind(text)) is not None:
        kind.check(text)
        return
    scheme, mark, _ = text.partition("://")
    if mark and scheme.isalnum():
        is_ours = scheme in ("postgres", "postgresql")
        raise NoSuchKind(
            f"No store of the kind {scheme[:40]!r} is installed.",
            hint="Install Heronry again: its entry points are missing."
            if is_ours
            else f"Install the package that has it, or use {file}, memory or postgresql://USER@HOST/DATABASE.",
        )
    what = f"{text!r:.40}" if "@" not in text and "=" not in text else "The value"
    raise BadConfig(f"{what} is not a store.", hint=f"Use {file}, memory or postgresql://USER@HOST/DATABASE.")


def check_queue_store(text: str) -> None:
    """Raise BadConfig for a store that a queue cannot have, such as the node's own ("sqlite")."""
    if text == MEMORY:
        return
    if not text.startswith("sqlite"):
        _check_kind(text, f"{FILE}/PATH")
        return
    path = text.removeprefix(FILE)
    if path == text or not path.startswith("/") or path.endswith("/"):
        what = (
            "The value 'sqlite' stands for the node's own store, and names no file"
            if text == SQLITE
            else f"The store {text!r:.80} does not name a file with an absolute path"
        )
        raise BadConfig(
            f"{what}.", hint="Name the file with its absolute path, such as sqlite:///var/lib/mesh/orders.db."
        )
    check_path(f"{text!r:.80}", path, BadConfig)
    if ".." in path.split("/"):
        raise BadConfig(f"The path {text!r:.80} contains `..`.", hint="Write the path without `..`.")


def file_of(text: str) -> str:
    """Return the file path of a `sqlite://` store; "" for any other store."""
    return text.removeprefix(FILE) if text.startswith(FILE) else ""
