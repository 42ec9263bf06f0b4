"""Which store was chosen? Opens it."""

from pathlib import Path

from mesh.config_store import MEMORY, SQLITE
from mesh.errors import NotAvailable
from mesh.store.base import NodeStore, Store, Untended
from mesh.store.guard import GuardedStore
from mesh.store.memory import MemoryStore
from mesh.store.room import Tell
from mesh.store.sqlite import SQLiteStore


def open_store(
    chosen: str,
    directory: Path,
    uuid: bytes,
    boot: int,
    reserve: int,
    tell: Tell,
    accept_rollback: bool = False,
) -> NodeStore:
    """`chosen`: what is set as `node.store`; `reserve`: bytes of the disk. NotAvailable, StoreError."""
    if chosen == SQLITE:
        return GuardedStore(directory, uuid, boot, reserve, tell, accept_rollback)
    path = directory / "store.sqlite"
    if path.exists():
        tell("warning", f"{path} is not read: the store is {chosen}. What waits in that file waits on.")
    return Untended(MemoryStore() if chosen == MEMORY else _postgres(chosen, uuid, boot))


def look(chosen: str, directory: Path) -> None:
    """Could that store be opened, by the node in that directory? Nothing is changed.

    NotAvailable, StoreError.
    """
    if chosen == SQLITE:
        SQLiteStore.look(directory / "store.sqlite")
    elif chosen != MEMORY:
        _need_psycopg()
        from mesh.store.postgres import PostgresStore

        PostgresStore.look(chosen)


def _postgres(url: str, uuid: bytes, boot: int) -> Store:
    _need_psycopg()
    from mesh.store.postgres import PostgresStore

    return PostgresStore(url, uuid, boot)


def _need_psycopg() -> None:
    try:
        import mesh.store.postgres_connection  # noqa: F401
    except ImportError as error:
        raise NotAvailable(
            f"A store in PostgreSQL needs psycopg, which is not here ({error}).",
            hint="pip install 'heronry[postgres]'",
        ) from error
