"""Which store was chosen? Opens it."""

import logging
from pathlib import Path

from mesh.config_store import MEMORY, SQLITE
from mesh.errors import NotAvailable
from mesh.store.base import Store
from mesh.store.memory import MemoryStore
from mesh.store.sqlite import SQLiteStore

_log = logging.getLogger(__name__)


def open_store(chosen: str, path: Path, uuid: bytes, boot: int) -> Store:
    """`chosen`: what is set as `node.store`. NotAvailable, StoreError."""
    if chosen == SQLITE:
        return SQLiteStore(path)
    if path.exists():
        _log.warning("%s is not read: the store is %s. What waits in that file waits on.", path, chosen)
    return MemoryStore() if chosen == MEMORY else _postgres(chosen, uuid, boot)


def _postgres(url: str, uuid: bytes, boot: int) -> Store:
    try:
        from mesh.store.postgres import PostgresStore
    except ImportError as error:
        raise NotAvailable(
            f"A store in PostgreSQL needs psycopg, which is not here ({error}).",
            hint="pip install 'heronry[postgres]'",
        ) from error
    return PostgresStore(url, uuid, boot)
