"""Opens the configured stores of a node and its queues."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mesh.config_store import MEMORY, SQLITE, file_of
from mesh.errors import StoreError
from mesh.operations import FIRST_POSITION
from mesh.store.base import NodeStore, Untended
from mesh.store.foreign import foreign_store_kind
from mesh.store.memory import MemoryStore
from mesh.store.room import RESERVED, DiskSpace, Tell, broken, make_room, reserve_of
from mesh.store.roomy import Roomy
from mesh.store.sqlite import CHECKPOINT, SQLiteStore
from mesh.store.witness import Witness, read_witness
from mesh.store.witnessed import ROLLED_BACK, Witnessed

WITNESS, RESERVE = ".witness", ".reserve"  # suffixes of further files of a queue's store
SMALLEST = 64 * 1024  # bytes of the log, at least, before a checkpoint


def open_store(
    chosen: str,
    directory: Path,
    uuid: bytes,
    boot: int,
    reserve: int,
    tell: Tell,
    accept_rollback: bool = False,
) -> NodeStore:
    """Open the node's store. Raises: NotAvailable, StoreError.

    `chosen` is the setting `node.store`; `reserve` is the number of bytes to keep free on the disk.
    `tell(level, text)` reports events of the disk. `accept_rollback` accepts a file that lost data.
    """
    if chosen == SQLITE:
        return open_guarded(directory, uuid, boot, reserve, tell, accept_rollback)
    path = directory / "store.sqlite"
    if path.exists():
        tell("warning", f"{path} is not read, because the store is {chosen}. Its messages keep waiting.")
    return Untended(
        MemoryStore() if chosen == MEMORY else foreign_store_kind(chosen).open(chosen, uuid, boot)
    )


def open_guarded(
    directory: Path,
    uuid: bytes,
    boot: int,
    reserve: int,
    tell: Tell,
    accept_rollback: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Witnessed:
    """Open the store file in `directory` with its witness and reserve. Raises: StoreError."""
    files = StoreFiles(*(directory / name for name in ("store.sqlite", "witness", RESERVED, "identity.json")))
    return _guarded(files, uuid, boot, reserve, tell, accept_rollback, clock)


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """The files of one store, and its node's identity file."""

    store: Path
    witness: Path
    reserve: Path
    identity: Path


def _guarded(
    files: StoreFiles,
    uuid: bytes,
    boot: int,
    reserve: int,
    tell: Tell,
    accept_rollback: bool,
    clock: Callable[[], float] = time.monotonic,
    is_named: bool = False,
) -> Witnessed:
    """Open a store file with witness and reserve.

    `is_named` means that the path comes from the settings, so the file could belong to another node.
    """
    path = files.store
    # Half of the reserve is for the checkpoint, half for growth of the log.
    most = min(CHECKPOINT, max(SMALLEST, reserve_of(reserve) // 2)) if reserve else CHECKPOINT
    with ExitStack() as opened:
        with _named(files.witness):
            witness = opened.enter_context(closing(Witness(files.witness, uuid, boot)))
            if is_named:
                _claim(path, witness, accept_rollback)
        store = opened.enter_context(closing(SQLiteStore(path, most)))
        with _named(files.reserve):
            room = DiskSpace(path.parent, reserve, store.spare, tell, files.reserve.name)
        opened.pop_all()
    roomy = Roomy(store, room, path, reserve // 16, clock)
    return Witnessed(roomy, witness, boot, tell, accept_rollback, clock, files.store, files.identity)


# --- the stores of queues -----------------------------------------------------------------------------------


def open_queue_store(
    chosen: str,
    uuid: bytes,
    boot: int,
    reserve: int,
    tell: Tell,
    identity: Path,
    was_used: bool,
    accept_rollback: bool = False,
) -> NodeStore:
    """Open the store of a queue.

    `chosen` is the `store` of an entry in `[[queues]]`. `was_used` means that the store was used at the last
    start, so it must exist, unless `accept_rollback` is set. Raises: NotAvailable; StoreError, with code
    STORE_IN_USE for the file of another node.
    """
    if chosen == MEMORY:
        return Untended(MemoryStore())
    if not file_of(chosen):
        return Untended(foreign_store_kind(chosen).open(chosen, owner_of(uuid), boot))
    path = Path(file_of(chosen))
    if not accept_rollback:
        _check_file(path, uuid, was_used)
    witness, reserved = (path.with_name(path.name + end) for end in (WITNESS, RESERVE))
    with _named(path):
        make_room(path.parent, reserved.name)
    files = StoreFiles(path, witness, reserved, identity)
    return _guarded(files, uuid, boot, reserve, tell, accept_rollback, is_named=True)


def look_queue_store(chosen: str, uuid: bytes, was_used: bool) -> None:
    """Check, without changing it, that a queue's store can be opened. Raises: NotAvailable, StoreError."""
    if path := file_of(chosen):
        _check_file(Path(path), uuid, was_used)
        SQLiteStore.check_openable(Path(path))
    else:
        look(chosen, Path())


def files_beside(path: Path) -> tuple[Path, ...]:
    ends = ("", "-wal", "-shm", "-journal", WITNESS, RESERVE)
    return tuple(path.with_name(path.name + end) for end in ends)


def owner_of(uuid: bytes) -> bytes:
    """Return the owner id of a node's queues in a database; the node's own store has another owner id."""
    return sha256(b"queues of " + uuid).digest()[:16]


def _check_file(path: Path, uuid: bytes, was_used: bool) -> None:
    with _named(path):
        is_there = path.exists() and path.stat().st_size > 0
    if was_used and not is_there:
        raise StoreError(
            f"{path}, a store of this node's queues at the last start, is missing or empty.",
            hint="Check its disk, or restore its newest copy. To continue without the lost data: "
            "mesh up --accept-rollback",
            code=ROLLED_BACK,
        )
    witness = path.with_name(path.name + WITNESS)
    with _named(witness):
        if is_there and read_witness(witness, uuid) is None:
            what = f"{path} exists, but {witness} does not show that it belongs to this node."
            if not witness.exists():
                what = f"{path} exists, but {witness}, which names its node, is missing."
            raise StoreError(
                what,
                hint="Choose another file. If it is this node's file: mesh up --accept-rollback",
                code="STORE_IN_USE",
            )


def _claim(path: Path, witness: Witness, accept_rollback: bool) -> None:
    """Create the file if it is missing, accessible only to this user.

    A witness without a statement about this node then claims the file for the node, before any content is
    written. With `accept_rollback`, the node claims the file when the store is loaded.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    if witness.known is None and not accept_rollback:
        witness.record_progress(0, FIRST_POSITION)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise broken(path, error) from error


def look(chosen: str, directory: Path) -> None:
    """Check, without changing it, that the node's store can be opened. Raises: NotAvailable, StoreError."""
    if chosen == SQLITE:
        SQLiteStore.check_openable(directory / "store.sqlite")
    elif chosen != MEMORY:
        foreign_store_kind(chosen).check_openable(chosen)
