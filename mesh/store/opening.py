"""Which store was chosen? Opens it."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from mesh.config_store import MEMORY, SQLITE
from mesh.errors import NotAvailable
from mesh.store.base import NodeStore, Store, Untended
from mesh.store.memory import MemoryStore
from mesh.store.room import DiskSpace, Tell, broken, reserve_of
from mesh.store.roomy import Roomy
from mesh.store.sqlite import CHECKPOINT, SQLiteStore
from mesh.store.witness import Witness
from mesh.store.witnessed import Witnessed

SMALLEST = 64 * 1024  # bytes of the log before which it is never moved into the file


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
        return open_guarded(directory, uuid, boot, reserve, tell, accept_rollback)
    path = directory / "store.sqlite"
    if path.exists():
        tell("warning", f"{path} is not read: the store is {chosen}. What waits in that file waits on.")
    return Untended(MemoryStore() if chosen == MEMORY else _postgres(chosen, uuid, boot))


def open_guarded(
    directory: Path,
    uuid: bytes,
    boot: int,
    reserve: int,
    tell: Tell,
    accept_rollback: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Witnessed:
    """The file there, with its witness, and with room on its disk. StoreError."""
    path = directory / "store.sqlite"
    # Half of the reserve for the log to be moved into the file, half for the log to grow.
    most = min(CHECKPOINT, max(SMALLEST, reserve_of(reserve) // 2)) if reserve else CHECKPOINT
    with ExitStack() as opened:
        with _named(directory / "witness"):
            witness = opened.enter_context(closing(Witness(directory / "witness", uuid, boot)))
        store = opened.enter_context(closing(SQLiteStore(path, most)))
        with _named(directory / "reserve"):
            room = DiskSpace(directory, reserve, store.spare, tell)
        opened.pop_all()
    roomy = Roomy(store, room, path, reserve // 16, clock)
    return Witnessed(roomy, witness, boot, tell, accept_rollback, clock)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of the system as StoreError, with that path."""
    try:
        yield
    except OSError as error:
        raise broken(path, error) from error


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
