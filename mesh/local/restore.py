"""Restores a data directory from a backup. Existing files are never overwritten.

Each directory and file appears under its final name only when it is complete.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from mesh.discovery.member import BOOTS
from mesh.errors import DataDirRefused
from mesh.local.backup import queue_stores, verified
from mesh.local.datadir import IN_USE, kept_identity, try_lock, write_identity
from mesh.local.manifest import STORE, STORES, Manifest, bad
from mesh.local.private import private_directory, refused, sync_directory, write_private
from mesh.local.queueplaces import QueuePlaces, Stores, check_chosen, check_free, in_directory, moved
from mesh.local.unpacking import check_room
from mesh.store.opening import WITNESS
from mesh.store.sqlite import SQLiteStore
from mesh.store.witness import Witness

OTHER = "Choose another directory with --data DIR"
LEAP = 1024  # boots since the backup, at most: numbers must be unique


def restore(
    file: Path,
    data: Path,
    replace: bool = False,
    places: QueuePlaces | None = None,
    any_ratio: bool = False,
    announce: Callable[[Iterable[tuple[str, Path]]], None] = lambda _: None,
) -> tuple[Manifest, list[Path]]:
    """Create the directory `data`, and the queue stores at their `places`.

    Return the manifest of the backup, and the new paths of data that was moved aside. `replace` moves
    existing data of a stopped node aside. `announce` receives the files of the backup and their paths before
    the first write. Raises: DataDirRefused, StoreError, BadArgument.
    """
    data = data.absolute()
    _make_parents(data)
    aside: list[Path] = []
    with verified(file, data.parent, any_ratio) as (manifest, folder), _held(data, replace) as old_boot:
        uuid, boot, seal = kept_identity(folder) or (b"", 0, b"")
        boot = max(boot, old_boot if old_boot is not None else 0) + LEAP
        if boot + 1 >= BOOTS:
            raise bad(file, f"its node was started {boot - LEAP:,} times, and no boot number is left")
        stores = queue_stores(folder)
        chosen = _places_of(manifest, stores, data, places or QueuePlaces())
        _check_places(manifest, chosen, data, replace)
        announce([(name, chosen.get(name, data / name)) for name in manifest.files])
        try:
            write_identity(folder, uuid, boot, seal)
            _mark(folder, uuid, boot)
            _write_stores(folder, moved(stores, manifest, chosen))
            for name, path in chosen.items():
                aside += _put_queue(folder / name, _now(path, data, folder), uuid, boot)
            aside += _move_aside(data)
            (folder / "lock").touch(0o600)
            os.rename(folder, data)
            sync_directory(data.parent)
        except OSError as error:
            raise refused(data, error, "Free space, or choose another directory with --data DIR") from error
    return manifest, aside


def _places_of(manifest: Manifest, stores: Stores, data: Path, places: QueuePlaces) -> dict[str, Path]:
    return check_chosen(manifest, places.chosen(manifest, stores, data), places.unknown(stores))


def _check_places(manifest: Manifest, chosen: dict[str, Path], data: Path, replace: bool) -> None:
    outside = {name: path for name, path in chosen.items() if in_directory(path, data) is None}
    for path in outside.values():
        check_free(path, replace)
    needs = ((path.parent, manifest.files[name].bytes) for name, path in outside.items())
    check_room(needs, "Free space there, or choose another path: --queue-store NAME=PATH")


def _now(path: Path, data: Path, folder: Path) -> Path:
    """Return where to write a file for `path` now: in `folder`, if `path` is in the data directory."""
    inner = in_directory(path, data)
    if inner is None:
        return path
    (folder / inner).parent.mkdir(0o700, parents=True, exist_ok=True)
    return folder / inner


def _write_stores(folder: Path, stores: Stores) -> None:
    if stores:
        said = json.loads((folder / STORES).read_bytes())
        write_private(folder / STORES, json.dumps({**said, "queues": stores}).encode(), durable=True)


def _make_parents(data: Path) -> None:
    if not data.parent.exists():
        private_directory(data.parent, OTHER)
    if not os.access(data.parent, os.W_OK | os.X_OK):
        raise refused(data.parent, PermissionError(), OTHER)


def _mark(folder: Path, uuid: bytes, boot: int) -> None:
    """Make the witness expect one more commit, so that the next start detects a rollback.

    That start fails unless the user accepts the rollback.
    """
    store = SQLiteStore(folder / STORE)
    reach = store.reach
    store.close()
    told = Witness(folder / "witness", uuid, boot)
    told.record_progress(reach.commits + 1, reach.log + 1)
    told.close()


@contextmanager
def _held(data: Path, replace: bool) -> Iterator[int | None]:
    """Hold the lock of an existing directory. Yield its last boot, or `None` if there is no data."""
    try:
        is_new = not data.exists() or not any(data.iterdir())
        lock = None if is_new else try_lock(data)
    except PermissionError as error:
        raise refused(data, error, "Run this command as the user of the node.") from error
    except FileNotFoundError as error:
        what = f"{data} exists, and is not the directory of a node: it has no file `lock`."
        raise DataDirRefused(what, hint=OTHER) from error
    except OSError as error:
        raise refused(data, error, OTHER) from error
    if is_new:
        yield None
        return
    if lock is None:
        what = f"{data} is in use: its node runs, or another command uses its files."
        hint = "Stop the node (`mesh down`), or wait until that command has ended."
        raise DataDirRefused(what, hint=hint, code=IN_USE)
    try:
        if not replace:
            what = f"{data} is already the directory of a node."
            raise DataDirRefused(what, hint="--replace moves it aside, without loss.")
        yield _boot_of(data)
    finally:
        os.close(lock)


def _boot_of(data: Path) -> int:
    """Return the last boot in the directory; 0 if it is damaged, or no node was started there."""
    try:
        known = kept_identity(data)
    except DataDirRefused:
        return 0
    return known[1] if known is not None else 0


def _put_queue(source: Path, path: Path, uuid: bytes, boot: int) -> list[Path]:
    """Put a queue store in place, with its witness for this node. Return the new paths of replaced files."""
    store = SQLiteStore(source)
    reach = store.reach
    store.close()
    witness = path.with_name(path.name + WITNESS)
    aside = [each for old in (path, path.with_name(path.name + "-wal"), witness) for each in _move_aside(old)]
    told = Witness(witness, uuid, boot)
    told.record_progress(reach.commits, reach.log + 1)
    told.close()
    handle, part = mkstemp(prefix=f".{path.name}-", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as target, source.open("rb") as copied:
            shutil.copyfileobj(copied, target)
            target.flush()
            os.fsync(handle)
        os.rename(part, path)
    except BaseException:
        os.unlink(part)
        raise
    sync_directory(path.parent)
    source.unlink()
    return aside


def _move_aside(path: Path) -> list[Path]:
    """Rename an existing path to an unused name. Return the new path, or []."""
    if not os.path.lexists(path):
        return []
    aside = path.with_name(f"{path.name}.before-{time.time_ns() // 1_000_000}")
    os.rename(path, aside)
    return [aside]
