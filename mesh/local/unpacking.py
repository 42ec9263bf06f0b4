"""Unpacks a backup, which may be hostile: only plain files with known names, and only if they fit."""

import hashlib
import os
import shutil
import stat
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from mesh.errors import DataDirRefused
from mesh.local.manifest import BackupFile, Manifest, bad, read_manifest

MANIFEST = "manifest.json"
LONGEST = 1024 * 1024  # bytes of a manifest
CHUNK = 1024 * 1024
LAST = b"PK\x05\x06" + bytes(18)  # end record of a zip, without a comment
RATIO = 100  # unpacked to packed bytes; real backups have less
WHERE = "A backup is unpacked in TMPDIR, and by `restore` also beside the node's directory (--data DIR)."
ROOM = "Free space there, or set TMPDIR (for `restore`, --data DIR) to a directory on a larger disk."
SMALL = 64 * 1024 * 1024  # unpacked bytes that are always allowed


def is_too_tight(unpacked: int, packed: int) -> bool:
    """Return whether the compression ratio suggests a zip bomb."""
    return unpacked > max(SMALL, RATIO * packed)


def check_room(needs: Iterable[tuple[Path, int]], hint: str = ROOM) -> None:
    """Raise DataDirRefused if a disk has less free space than the directories on it need together.

    `needs` lists existing directories, each with the bytes that it needs.
    """
    lacking: dict[int, int] = {}
    for directory, size in needs:
        disk = os.stat(directory).st_dev
        lacking[disk] = lacking.get(disk, 0) + size
        free = shutil.disk_usage(directory).free
        if lacking[disk] > free:
            what = f"{directory} has {free:,} bytes free; to unpack the backup takes {lacking[disk]:,}."
            raise DataDirRefused(what, hint=hint)


def unpack(file: Path, opened: IO[bytes], folder: Path, any_ratio: bool) -> Manifest:
    """Write the files of a backup into `folder` as the manifest describes. Raises: DataDirRefused, OSError.

    `any_ratio` allows a compression ratio above RATIO.
    """
    with zipfile.ZipFile(opened) as archive:
        _check_archive(file, archive, opened)
        with archive.open(MANIFEST) as source:
            manifest = read_manifest(file, source.read(LONGEST + 1))
        if sorted(archive.namelist()) != sorted((MANIFEST, *manifest.files)):
            raise bad(file, "its files differ from those of its manifest")
        total = sum(entry.bytes for entry in manifest.files.values())
        packed = os.fstat(opened.fileno()).st_size
        if is_too_tight(total, packed) and not any_ratio:
            why = f"its {packed:,} bytes would expand to {total:,}, more than {RATIO} times as many"
            raise bad(file, why, "If you made the backup yourself, add --any-ratio.")
        check_room([(folder.parent, total)])
        for name, entry in manifest.files.items():
            _take(file, archive, name, entry, folder)
    return manifest


def _check_archive(file: Path, archive: zipfile.ZipFile, opened: IO[bytes]) -> None:
    names = archive.namelist()
    if not _is_alone(archive, opened):
        raise bad(file, "it has data before or after the archive")
    if names.count(MANIFEST) != 1:
        raise bad(file, "it has no manifest", "Was it made by `mesh backup create`?")
    for entry in archive.infolist():
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            raise bad(file, f"{entry.filename!r:.80} in it is a link, or not a plain file")


def _is_alone(archive: zipfile.ZipFile, opened: IO[bytes]) -> bool:
    """Return whether the archive spans the whole file. The library would ignore data around it."""
    begins = min((entry.header_offset for entry in archive.infolist()), default=0)
    opened.seek(-len(LAST), os.SEEK_END)
    last = opened.read()
    return begins == 0 and last[:4] == LAST[:4] and last[-2:] == LAST[-2:]


def _take(file: Path, archive: zipfile.ZipFile, name: str, entry: BackupFile, folder: Path) -> None:
    digest, size = hashlib.sha256(), 0
    with archive.open(name) as source, (folder / name).open("xb") as target:
        os.fchmod(target.fileno(), 0o600)
        while chunk := source.read(CHUNK):
            size += len(chunk)
            if size > entry.bytes:
                break  # may be endless
            digest.update(chunk)
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    if size != entry.bytes or digest.hexdigest() != entry.sha256:
        raise bad(file, f"{name} in it differs from its checksum")
