"""The manifest of a backup: its files, and the paths of its queue stores. Its content is not trusted."""

import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mesh.config_store import FILE as FILE_STORE
from mesh.config_store import check_queue_store
from mesh.errors import BadConfig, BadName, DataDirRefused
from mesh.local.localnodes import check_node_name

VERSION = 1
STORE, IDENTITY, STORES = "store.sqlite", "identity.json", "stores.json"
PLAIN = (IDENTITY, "keys.json", STORES, "witness")  # copied unchanged, if present
LONGEST_PLAIN = 8 * 1024 * 1024  # bytes of each
BAD = "BAD_BACKUP"

# Law: a backup has only files with these names, matched completely.
NAMES = re.compile("|".join(map(re.escape, (STORE, *PLAIN))) + r"|queues-[1-9][0-9]{0,3}\.sqlite")

Size = Annotated[int, Meta(ge=0)]


class BackupFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The size and digest of a file in a backup."""

    bytes: Size
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The list of contents of a backup. `queues` maps the files of queue stores to their absolute paths."""

    format: Literal["heronry backup"] = "heronry backup"
    version: int = VERSION
    node: str
    uuid: str  # in hex
    boot: int
    made: int  # ns since 1970
    software: str
    files: dict[str, BackupFile]
    queues: dict[str, str] = {}
    left_out: list[str] = []  # stores that are not files


def bad(
    file: Path, why: str, hint: str = "Check the name of the file, or use another backup."
) -> DataDirRefused:
    return DataDirRefused(f"{file} is not a usable backup: {why}.", hint=hint, code=BAD)


def read_manifest(file: Path, text: bytes) -> Manifest:
    """Parse a manifest. Raises: DataDirRefused BAD_BACKUP if it is invalid, or of a later release."""
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad(file, f"its manifest cannot be read: {error}") from error
    if manifest.version > VERSION:
        raise bad(file, "it was made by a later release", "Use that release.")
    try:
        check_node_name(manifest.node)
        for path in manifest.queues.values():
            check_queue_store(f"{FILE_STORE}{path}")
    except (BadName, BadConfig) as error:
        raise bad(file, f"its manifest cannot be read: {error.what.rstrip('.')}") from error
    if why := _wrong(manifest):
        raise bad(file, f"its manifest cannot be read: {why}")
    return manifest


def _wrong(manifest: Manifest) -> str:
    for name, entry in manifest.files.items():
        if NAMES.fullmatch(name) is None:
            return f"a backup has no file {name!r:.80}"
        if name in PLAIN and entry.bytes > LONGEST_PLAIN:
            return f"{name} has {entry.bytes:,} bytes; the limit is {LONGEST_PLAIN:,}"
    if wrong := sorted(name for name in manifest.queues if not name.startswith("queues-")):
        return f"{wrong[0]!r:.80} is not a store of queues"
    if len(set(manifest.queues.values())) < len(manifest.queues):
        return "two stores of queues have one path"
    return ""
