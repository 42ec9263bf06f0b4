"""A node's directory out of a backup. What is there is never overwritten, and nothing appears before it is
whole."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discovery.member import BOOTS
from mesh.errors import DataDirRefused, StoreError
from mesh.local.backup import STORE, Manifest, bad, verified
from mesh.local.datadir import IN_USE, kept_identity, try_lock, write_identity
from mesh.local.private import private_directory, refused, sync_directory
from mesh.printable import typed
from mesh.store.opening import WITNESS
from mesh.store.sqlite import SQLiteStore
from mesh.store.witness import Witness

OTHER = "Or choose another place with --data DIR"
LEAP = 1024  # boots that a node may have had since its backup: no boot number may come twice


def restore(file: Path, data: Path, replace: bool = False) -> tuple[Manifest, list[Path]]:
    """Make the directory `data`, and the stores of queues where they were. Returns what was moved aside.

    `replace`: what is there, and does not run, is moved aside. DataDirRefused, StoreError.
    """
    data = data.absolute()
    _make_parents(data)
    aside: list[Path] = []
    with verified(file, data.parent) as (manifest, folder), _held(data, replace) as old_boot:
        uuid, boot, seal = kept_identity(folder) or (b"", 0, b"")
        boot = max(boot, old_boot if old_boot is not None else 0) + LEAP
        if boot + 1 >= BOOTS:
            raise bad(file, f"its node was started {boot - LEAP:,} times, and more cannot be counted")
        for path in manifest.queues.values():  # all of them before anything is moved
            _check_queue(Path(path), replace)
        try:
            write_identity(folder, uuid, boot, seal)
            _mark(folder, uuid, boot)
            for name, path in manifest.queues.items():
                aside += _put_queue(folder / name, Path(path), uuid, boot)
            aside += _move_aside(data)
            (folder / "lock").touch(0o600)
            os.rename(folder, data)
            sync_directory(data.parent)
        except OSError as error:
            raise refused(data, error, "Make room, or choose another place with --data DIR") from error
    return manifest, aside


def _make_parents(data: Path) -> None:
    """The directories on the way to it, which are ours alone where they are missing."""
    if not data.parent.exists():
        private_directory(data.parent, OTHER)
    if not os.access(data.parent, os.W_OK | os.X_OK):
        raise refused(data.parent, PermissionError(), OTHER.removeprefix("Or ").capitalize())


def _mark(folder: Path, uuid: bytes, boot: int) -> None:
    """Have its witness know of one commit more. So the next start is that of a store that went backwards,
    which says so, and is taken by who accepts it."""
    store = SQLiteStore(folder / STORE)
    reach = store.reach
    store.close()
    told = Witness(folder / "witness", uuid, boot)
    told.write(reach.commits + 1, reach.log + 1)
    told.close()


@contextmanager
def _held(data: Path, replace: bool) -> Iterator[int | None]:
    """Nobody starts there meanwhile. Yields the last boot of what is there, if anything is."""
    if not data.exists() or not any(data.iterdir()):
        yield None
        return
    try:
        lock = try_lock(data)
    except OSError as error:
        raise DataDirRefused(
            f"{data} is there, and no node's: {error.strerror}.", hint="Choose another --data DIR"
        ) from error
    if lock is None:
        what = f"{data} is in use: its node runs, and a restore never overwrites that."
        raise DataDirRefused(what, hint="Stop it first: mesh down", code=IN_USE)
    try:
        if not replace:
            what = f"{data} is a node's directory already."
            raise DataDirRefused(what, hint="With --replace it is moved aside, and nothing of it is lost.")
        yield _boot_of(data)
    finally:
        os.close(lock)


def _boot_of(data: Path) -> int:
    """The last boot there; what is damaged does not say."""
    try:
        known = kept_identity(data)
    except DataDirRefused:
        return 0
    return known[1] if known is not None else 0


def _check_queue(path: Path, replace: bool) -> None:
    """Could the store of a queue be put there? DataDirRefused; STORE_IN_USE while a node has it."""
    if not path.parent.is_dir():
        hint = f"Make it: mkdir -p {typed(path.parent)}"
        raise DataDirRefused(f"there is no directory {path.parent}.", hint=hint)
    if not path.exists():
        return
    if not replace:
        raise DataDirRefused(f"{path} is there already.", hint="With --replace it is moved aside.")
    try:
        SQLiteStore(path).close()
    except StoreError as error:
        if error.code == "STORE_IN_USE":
            raise  # anything else may be why it is restored


def _put_queue(source: Path, path: Path, uuid: bytes, boot: int) -> list[Path]:
    """Put the store of a queue where it was, with a witness that it is this node's."""
    store = SQLiteStore(source)
    reach = store.reach
    store.close()
    witness = path.with_name(path.name + WITNESS)
    aside = [each for old in (path, path.with_name(path.name + "-wal"), witness) for each in _move_aside(old)]
    told = Witness(witness, uuid, boot)
    told.write(reach.commits, reach.log + 1)
    told.close()
    part = path.with_name(f".{path.name}.part")
    shutil.copyfile(source, part)
    with part.open("rb") as file:
        os.fchmod(file.fileno(), 0o600)
        os.fsync(file.fileno())
    os.rename(part, path)
    sync_directory(path.parent)
    source.unlink()
    return aside


def _move_aside(path: Path) -> list[Path]:
    """To a name that nobody has; [] if nothing is there."""
    if not path.exists():
        return []
    aside = path.with_name(f"{path.name}.before-{time.time_ns() // 1_000_000}")
    os.rename(path, aside)
    return [aside]
