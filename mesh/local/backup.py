"""A backup: one file with everything that a node must not lose.

A running node copies its own stores (`mesh.shell.backing`), as no other process may open them. The stores of
a stopped node are copied here. The copies are packed into a zip with a manifest of sizes and digests.

Law: a backup counts as valid only if `verified` accepts it. `mesh backup check` calls only `verified`, and a
restore calls it first.
"""

import errno
import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import msgspec

from mesh.config_store import FILE as FILE_STORE
from mesh.config_store import MEMORY, NoSuchKind, check_queue_store, file_of
from mesh.errors import BadConfig, DataDirRefused, MeshError, StoreError
from mesh.local.datadir import kept_identity
from mesh.local.manifest import IDENTITY, PLAIN, STORE, STORES, BackupFile, Manifest, bad
from mesh.local.private import sync_directory
from mesh.local.unpacking import CHUNK, MANIFEST, WHERE, is_too_tight, unpack
from mesh.regular import open_regular
from mesh.store.room import is_full
from mesh.store.sqlite import SQLiteStore
from mesh.store.sqlite_copy import copy_file
from mesh.store.witness import read_witness

FOLDER, DONE = "backup", "done.json"  # in the data directory, during a backup


# --- gathering ----------------------------------------------------------------------------------------------


def gather_plain(data: Path, into: Path) -> None:
    """Copy the small files. Raises: OSError.

    Call it before the stores are copied, so that the witness is never ahead of them.
    """
    for name in PLAIN:
        if (data / name).exists():
            shutil.copyfile(data / name, into / name)
            (into / name).chmod(0o600)


def queue_files(stores: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """Return the path of each queue store by its file in the backup, and the other durable stores.

    The others are databases, which a backup does not contain.
    """
    paths = sorted(file_of(store) for store in stores if store.startswith(FILE_STORE))
    others = sorted(
        store for store in stores if store and not store.startswith(FILE_STORE) and store != "memory"
    )
    return {f"queues-{number}.sqlite": path for number, path in enumerate(paths, 1)}, others


def gather_stopped(data: Path, into: Path) -> tuple[dict[str, str], list[str]]:
    """Copy the files of a stopped node, whose lock the caller holds; return the result of `queue_files`.

    Raises: StoreError, DataDirRefused, OSError.
    """
    gather_plain(data, into)
    queues, others = queue_files(dict.fromkeys(store for _, store in queue_stores(data)))
    for name, path in queues.items():
        copy_file(Path(path), into / name)
    if not (data / STORE).exists():
        raise StoreError(
            f"{data} has no file {STORE}.",
            hint="Only an SQLite store has a backup. For a database, use the backup tools of that database.",
        )
    copy_file(data / STORE, into / STORE)
    return queues, others


def queue_stores(data: Path) -> list[tuple[str, str]]:
    """Return each pattern of queues with its store at the node's last start. Raises: DataDirRefused."""
    try:
        found = json.loads((data / STORES).read_bytes())["queues"]
        return [(str(pattern), str(store)) for pattern, store in found]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        why = error if isinstance(error, json.JSONDecodeError) else "it does not list patterns and stores"
        hint = (
            "Restore it from a copy; or, if [[queues]] is unchanged since the last start, move it aside and "
            "start the node once."
        )
        raise DataDirRefused(f"{data / STORES} is damaged: {why}.", hint=hint) from error


# --- packing ------------------------------------------------------------------------------------------------


def pack(folder: Path, out: Path, about: Callable[[dict[str, BackupFile]], Manifest]) -> Manifest:
    """Pack a folder into one file, which appears only when it is complete and durable.

    `about` makes the manifest from the entries. Raises: OSError, for example if `out` exists.
    """
    part = out.with_name(f".{out.name}.part")
    handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            manifest = _written(file, folder, about, zipfile.ZIP_DEFLATED)
            if is_too_tight(sum(entry.bytes for entry in manifest.files.values()), file.tell()):
                file.seek(0)
                file.truncate()
                manifest = _written(file, folder, about, zipfile.ZIP_STORED)  # `unpack` limits the ratio
            file.flush()
            os.fsync(file.fileno())
        os.link(part, out)  # unlike a rename, never replaces a file
    finally:
        part.unlink(missing_ok=True)
    sync_directory(out.parent)
    return manifest


def _written(
    file: IO[bytes], folder: Path, about: Callable[[dict[str, BackupFile]], Manifest], method: int
) -> Manifest:
    with zipfile.ZipFile(file, "w", method, compresslevel=1) as archive:
        entries = {path.name: _put(archive, path) for path in sorted(folder.iterdir())}
        manifest = about(entries)
        archive.writestr(MANIFEST, msgspec.json.encode(manifest))
    file.seek(0, os.SEEK_END)
    return manifest


def _put(archive: zipfile.ZipFile, path: Path) -> BackupFile:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source, archive.open(path.name, "w", force_zip64=True) as target:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            target.write(chunk)
    return BackupFile(size, digest.hexdigest())


# --- verification -------------------------------------------------------------------------------------------


@contextmanager
def verified(
    file: Path, near: Path | None = None, any_ratio: bool = False
) -> Iterator[tuple[Manifest, Path]]:
    """Yield the manifest of a valid backup, and a temporary folder with its files.

    `near` is the parent of that folder. `any_ratio` as for `unpack`. Raises: DataDirRefused BAD_BACKUP;
    StoreError STORE_VERSION for a backup of a later release.
    """
    with ExitStack() as stack:
        try:
            temporary = TemporaryDirectory(prefix=".mesh-backup-", dir=near, ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(temporary))
            manifest = _unpacked(file, folder, any_ratio)
            _check_whole(file, manifest, folder)
        except OSError as error:
            raise _not_unpacked(file, error) from error
        yield manifest, folder


def _not_unpacked(file: Path, error: OSError) -> DataDirRefused:
    why = error.strerror or error
    if is_full(error):
        hint = f"Free space, or choose a directory on a larger disk. {WHERE}"
        return DataDirRefused(f"{file} cannot be unpacked: {why}.", hint=hint)
    if error.filename is None:
        return DataDirRefused(f"{file} cannot be unpacked: {why}.", hint=f"Check the disks. {WHERE}")
    if str(error.filename) != str(file):
        return DataDirRefused(f"{error.filename} cannot be used: {why}.", hint=WHERE)
    hint = "Check the name and the permissions of the file."
    return DataDirRefused(f"{file} cannot be read: {why}.", hint=hint)


def _unpacked(file: Path, folder: Path, any_ratio: bool) -> Manifest:
    try:
        with open_regular(file) as opened:
            return unpack(file, opened, folder, any_ratio)
    except MeshError:
        raise
    except Exception as error:  # damaged archives raise almost anything
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise bad(file, f"it is damaged or incomplete: {str(error) or type(error).__name__}") from error


def _check_whole(file: Path, manifest: Manifest, folder: Path) -> None:
    """Check that a node could start with the files; every row is read. Raises: DataDirRefused, StoreError."""
    needed = {IDENTITY, STORE, *manifest.queues}
    if missing := sorted(needed - manifest.files.keys()):
        raise bad(file, f"it lacks {', '.join(missing)}")
    try:
        uuid, boot = _identity(file, folder)
        if (uuid.hex(), boot) != (manifest.uuid, manifest.boot):
            raise bad(file, f"its identity is not that of node {manifest.node}")
        _check_queue_stores(file, manifest, folder)
        for name in (STORE, *manifest.queues):
            _check_store(file, folder, name, uuid)
    except StoreError as error:
        if error.code == "STORE_VERSION":
            raise
        raise bad(file, error.what.rstrip(".")) from error


def _identity(file: Path, folder: Path) -> tuple[bytes, int]:
    try:
        uuid, boot, _ = kept_identity(folder) or (b"", 0, b"")
    except DataDirRefused as error:
        raise bad(file, f"its {IDENTITY} is damaged, or its boot numbers are used up") from error
    return uuid, boot


def _check_queue_stores(file: Path, manifest: Manifest, folder: Path) -> None:
    """Check that `stores.json` names the same stores as the manifest, and only valid ones.

    The node opens each store that `stores.json` names.
    """
    try:
        stores = {store for _, store in queue_stores(folder)}
        for store in stores:
            with suppress(NoSuchKind):  # it may be installed at another machine
                check_queue_store(store)
    except (DataDirRefused, BadConfig) as error:
        raise bad(file, f"its {STORES} is damaged") from error
    paths = {file_of(store) for store in stores} - {""}
    others = {store for store in stores if not file_of(store)} - {MEMORY}
    if paths != set(manifest.queues.values()) or others != set(manifest.left_out):
        raise bad(file, f"its manifest and its {STORES} name different stores of queues")


def _check_store(file: Path, folder: Path, name: str, uuid: bytes) -> None:
    store = SQLiteStore(folder / name)
    try:
        for _ in store.load().envelopes:
            pass
        reach = store.reach
    finally:
        store.close()
    known = read_witness(folder / "witness", uuid) if name == STORE else None
    if known is not None and (known.commits > reach.commits or known.next_position - 1 > reach.log):
        raise bad(file, f"{name} is older than the witness beside it")
