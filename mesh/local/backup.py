"""A backup: one file with all that a node must not forget. Written, and believed only as a whole.
 A node that runs copies its own stores (`mesh.shell.backing`), since nobody else may open them; of one that
does not run they are copied here. What was copied is packed into a zip with a manifest, which says of each
file how long it is and what its digest is.
 Law: a backup is taken for good by `verified` alone, which is all that `check` does, and what `restore` does
first."""

import errno
import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Annotated, Literal

import msgspec
from msgspec import Meta

from mesh.config_store import FILE as FILE_STORE
from mesh.config_store import file_of
from mesh.errors import BadName, DataDirRefused, MeshError, StoreError
from mesh.local.datadir import kept_identity
from mesh.local.localnodes import check_node_name
from mesh.local.private import sync_directory
from mesh.regular import open_regular
from mesh.store.sqlite import SQLiteStore, copy_file
from mesh.store.witness import read_witness

FORMAT, VERSION = "heronry backup", 1
MANIFEST, STORE, IDENTITY = "manifest.json", "store.sqlite", "identity.json"
PLAIN = (IDENTITY, "keys.json", "stores.json", "witness")  # copied as they are, those that are there
FOLDER, DONE = "backup", "done.json"  # in the node's directory, while it makes one
LONGEST = 1024 * 1024  # bytes of a manifest
CHUNK = 1024 * 1024
LAST = b"PK\x05\x06" + bytes(18)  # a zip's last record; its last two bytes say that no comment follows
BAD = "BAD_BACKUP"

Size = Annotated[int, Meta(ge=0)]


class BackupFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a backup."""

    bytes: Size
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a backup. `queues`: for each file of a queue's store, the whole path that it has at its
    node."""

    format: Literal["heronry backup"] = "heronry backup"
    version: int = VERSION
    node: str
    uuid: str  # in hexadecimal digits
    boot: int
    made: int  # ns since 1970
    software: str
    files: dict[Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")], BackupFile]
    queues: dict[str, str] = {}
    left_out: list[str] = []  # stores that are no files


def bad(
    file: Path, why: str, hint: str = "Take another backup: this one is worth nothing."
) -> DataDirRefused:
    """The refusal of a backup."""
    return DataDirRefused(f"{file} is no good backup: {why}.", hint=hint, code=BAD)


# --- gathering ----------------------------------------------------------------------------------------------


def gather_plain(data: Path, into: Path) -> None:
    """The small files, before the stores: so the witness never tells of more than is copied. OSError."""
    for name in PLAIN:
        if (data / name).exists():
            shutil.copyfile(data / name, into / name)
            (into / name).chmod(0o600)


def queue_files(stores: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """Of the stores of queues: the file in the backup of each that is one, by its path; and the others."""
    paths = sorted(file_of(store) for store in stores if store.startswith(FILE_STORE))
    others = sorted(
        store for store in stores if store and not store.startswith(FILE_STORE) and store != "memory"
    )
    return {f"queues-{number}.sqlite": path for number, path in enumerate(paths, 1)}, others


def gather_stopped(data: Path, into: Path) -> tuple[dict[str, str], list[str]]:
    """All that a node keeps that does not run; whoever calls has its lock. As `queue_files`. StoreError,
    OSError."""
    gather_plain(data, into)
    queues, others = queue_files(dict.fromkeys(_stores(data)))
    for name, path in queues.items():
        copy_file(Path(path), into / name)
    if not (data / STORE).exists():
        raise StoreError(f"{data} has no store.", hint="Only a node with a store of SQLite has a backup.")
    copy_file(data / STORE, into / STORE)
    return queues, others


def _stores(data: Path) -> list[str]:
    try:
        return [str(store) for _, store in json.loads((data / "stores.json").read_bytes())["queues"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        raise DataDirRefused(f"{data / 'stores.json'} is damaged: {error}.") from error


# --- packing ------------------------------------------------------------------------------------------------


def pack(folder: Path, out: Path, about: Callable[[dict[str, BackupFile]], Manifest]) -> Manifest:
    """All files of the folder as one file, which appears when it is whole and on the disk. OSError."""
    part = out.with_name(f".{out.name}.part")
    handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                entries = {path.name: _put(archive, path) for path in sorted(folder.iterdir())}
                manifest = about(entries)
                archive.writestr(MANIFEST, msgspec.json.encode(manifest))
            file.flush()
            os.fsync(file.fileno())
        os.link(part, out)  # unlike a rename it replaces nothing
    finally:
        part.unlink(missing_ok=True)
    sync_directory(out.parent)
    return manifest


def _put(archive: zipfile.ZipFile, path: Path) -> BackupFile:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source, archive.open(path.name, "w", force_zip64=True) as target:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            target.write(chunk)
    return BackupFile(size, digest.hexdigest())


# --- believing ----------------------------------------------------------------------------------------------


@contextmanager
def verified(file: Path, near: Path | None = None) -> Iterator[tuple[Manifest, Path]]:
    """The manifest of a backup that is whole, and a folder with its files, which goes when it is done with.

    `near`: in that directory. DataDirRefused BAD_BACKUP; StoreError STORE_VERSION for one of a later release.
    """
    try:
        with TemporaryDirectory(prefix=".mesh-backup-", dir=near, ignore_cleanup_errors=True) as name:
            folder = Path(name)
            manifest = _unpacked(file, folder)
            _check_whole(file, manifest, folder)
            yield manifest, folder
    except OSError as error:
        raise DataDirRefused(f"{file} cannot be read: {error.strerror or error}.") from error


def _unpacked(file: Path, folder: Path) -> Manifest:
    try:
        with open_regular(file) as opened:
            return _unpack(file, opened, folder)
    except MeshError:
        raise
    except Exception as error:  # of a damaged archive the library raises nearly anything, OSError too
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise bad(file, f"it is damaged, or only a part: {error}") from error


def _unpack(file: Path, opened: IO[bytes], folder: Path) -> Manifest:
    with zipfile.ZipFile(opened) as archive:
        names = archive.namelist()
        if not _is_alone(archive, opened):
            raise bad(file, "there is something before or behind it")
        if names.count(MANIFEST) != 1:
            raise bad(
                file, "it has no manifest: it is something else", "Was it made by `mesh backup create`?"
            )
        manifest = _manifest(file, archive)
        if sorted(names) != sorted((MANIFEST, *manifest.files)):
            raise bad(file, "its files are not those of its manifest")
        for name, entry in manifest.files.items():
            _take(file, archive, name, entry, folder)
    return manifest


def _is_alone(archive: zipfile.ZipFile, opened: IO[bytes]) -> bool:
    """Does the archive begin and end where the file does? The library passes over what is around it."""
    begins = min((entry.header_offset for entry in archive.infolist()), default=0)
    opened.seek(-len(LAST), os.SEEK_END)
    last = opened.read()
    return begins == 0 and last[:4] == LAST[:4] and last[-2:] == LAST[-2:]


def _manifest(file: Path, archive: zipfile.ZipFile) -> Manifest:
    with archive.open(MANIFEST) as source:
        text = source.read(LONGEST + 1)
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad(file, f"its manifest cannot be read: {error}") from error
    try:
        check_node_name(manifest.node)
    except BadName as error:
        raise bad(file, f"its manifest cannot be read: {error.what}") from error
    if not all(path.startswith("/") for path in manifest.queues.values()):
        raise bad(file, "its manifest cannot be read: a store without its whole path")
    if manifest.version > VERSION:
        raise bad(file, "a later release made it", "Use that release.")
    return manifest


def _take(file: Path, archive: zipfile.ZipFile, name: str, entry: BackupFile, folder: Path) -> None:
    digest, size = hashlib.sha256(), 0
    with archive.open(name) as source, (folder / name).open("xb") as target:
        os.fchmod(target.fileno(), 0o600)
        while chunk := source.read(CHUNK):
            size += len(chunk)
            if size > entry.bytes:
                break  # it could be without end
            digest.update(chunk)
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    if size != entry.bytes or digest.hexdigest() != entry.sha256:
        raise bad(file, f"{name} in it is not what was put there")


def _check_whole(file: Path, manifest: Manifest, folder: Path) -> None:
    """Could a node begin with that? Every row is looked at."""
    needed = {IDENTITY, STORE, *manifest.queues}
    if missing := sorted(needed - manifest.files.keys()):
        raise bad(file, f"it lacks {', '.join(missing)}")
    try:
        uuid, boot = _identity(file, folder)
        if (uuid.hex(), boot) != (manifest.uuid, manifest.boot):
            raise bad(file, f"its identity is not that of node {manifest.node}")
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
        raise bad(file, f"its {IDENTITY} is damaged, or its boots are used up") from error
    return uuid, boot


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
