"""Decides where to restore the queue stores of a backup. The backup proposes paths, but decides none."""

import os
from collections.abc import Collection, Mapping
from os.path import realpath
from pathlib import Path

from mesh.config_store import FILE, MEMORY, check_queue_store, file_of
from mesh.errors import BadArgument, BadConfig, DataDirRefused, StoreError
from mesh.local.manifest import NAMES, STORE, Manifest, bad
from mesh.local.private import refused
from mesh.printable import typed
from mesh.store.opening import RESERVE, WITNESS
from mesh.store.sqlite import SQLiteStore

Stores = list[tuple[str, str]]  # (pattern of queues, their store), as in stores.json
MAGIC = b"SQLite format 3\0"
OWN = ("lock", "port", "backup", "http-token", "poison.json", "node.sock")  # besides those in a backup

# Law: outside the data directory, a store is written only to a path that this machine's configuration or its
# user names, and replaces only a store.


class QueuePlaces:
    """The places for queue stores that this machine names.

    `named` are the stores in its configuration. `given` maps files of a backup or patterns of queues to
    paths, from --queue-store.
    """

    def __init__(self, named: Collection[str] = (), given: Mapping[str, str] | None = None) -> None:
        self._named = set(named)
        self._files = {realpath(file_of(store)) for store in named if file_of(store)}
        self._given = {name: _path(name, path) for name, path in (given or {}).items()}

    def chosen(self, manifest: Manifest, stores: Stores, data: Path) -> dict[str, Path | None]:
        """Return the path of each queue store; `None`: a path outside `data` that this machine does not name.

        Raises: BadArgument for a name that the backup does not have, or for two paths of one store;
        DataDirRefused if two stores would share files.
        """
        by_path = {path: name for name, path in manifest.queues.items()}
        by_pattern = {pattern: by_path[file_of(store)] for pattern, store in stores if file_of(store)}
        given: dict[str, Path] = {}
        for name, path in self._given.items():
            if (file := by_pattern.get(name, name)) not in manifest.queues:
                there = ", ".join((*by_pattern, *manifest.queues)) or "none"
                what = f"--queue-store {name!r:.80}: the backup has no such queue store."
                raise BadArgument(what, hint=f"Its stores, by the names of their queues and files: {there}.")
            if given.setdefault(file, path) != path:
                what = f"--queue-store gives {file} two paths, {given[file]} and {path}."
                raise BadArgument(what, hint="Give one path for each store.")
        found = {
            name: given.get(name) or self._place_of(path, data) for name, path in manifest.queues.items()
        }
        _check_apart([path for path in found.values() if path])
        return found

    def _place_of(self, path: str, data: Path) -> Path | None:
        if Path(path).is_relative_to(data):
            return Path(path)
        real = realpath(path)
        return Path(real) if real in self._files else None

    def unknown(self, stores: Stores) -> list[str]:
        """Return the databases that only the backup names, to which the node would connect."""
        return sorted({store for _, store in stores if not file_of(store)} - self._named - {MEMORY})


def check_chosen(
    manifest: Manifest, chosen: Mapping[str, Path | None], unknown: Collection[str]
) -> dict[str, Path]:
    """Return the paths in `chosen`. Raises: DataDirRefused BACKUP_PLACE.

    The call fails if a path is `None`, or if there are `unknown` databases.
    """
    for name, path in chosen.items():
        if path is None:
            what = f"{name} would be written to {manifest.queues[name]}, which only the backup names"
            hint = f"Set its path: --queue-store {name}=PATH, or name that path in [[queues]] of mesh.toml."
            raise DataDirRefused(f"{what}.", hint=hint, code="BACKUP_PLACE")
    for store in unknown:
        what = f"The node would connect to {store}, which only the backup names"
        hint = "If the store is yours, name it in [[queues]] of mesh.toml."
        raise DataDirRefused(f"{what}.", hint=hint, code="BACKUP_PLACE")
    return {name: path for name, path in chosen.items() if path is not None}


def moved(stores: Stores, manifest: Manifest, chosen: Mapping[str, Path]) -> Stores:
    places = {path: str(chosen[name]) for name, path in manifest.queues.items()}
    return [
        (pattern, f"{FILE}{places[file_of(store)]}" if file_of(store) else store) for pattern, store in stores
    ]


def is_store_or_nothing(path: Path) -> bool:
    """Return whether the path is free, an empty file, or a file that begins like a store.

    Raises: DataDirRefused if the file cannot be read.
    """
    if not os.path.lexists(path):
        return True
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) in (b"", MAGIC)
    except OSError as error:
        hint = "Run this command as the user of the node, or choose another path: --queue-store NAME=PATH"
        raise refused(path, error, hint) from error


def check_targets(file: Path, manifest: Manifest, chosen: Mapping[str, Path | None], data: Path) -> None:
    """Raise DataDirRefused if the backup would replace a file that is not a store.

    A store without a chosen path counts with the path that the backup proposes.
    """
    for name, path in chosen.items():
        if path is not None:
            if in_directory(path, data) is None:
                _check_store_or_nothing(path)
        elif not is_store_or_nothing(Path(manifest.queues[name])):
            why = (
                f"it has a store of queues for {manifest.queues[name]}, which exists here and is not a store"
            )
            raise bad(file, why, f"Choose another path: --queue-store {name}=PATH")


def _check_store_or_nothing(path: Path) -> None:
    if not is_store_or_nothing(path):
        hint = "Choose another path: --queue-store NAME=PATH. If this is an earlier store, move it away."
        what = f"{path} exists and is not a store. It was not replaced."
        raise DataDirRefused(what, hint=hint, code="BACKUP_PLACE")


def check_free(path: Path, replace: bool) -> None:
    """Check that a queue store can be written to `path`; with `replace` a store may be there already.

    Raises: DataDirRefused; StoreError STORE_IN_USE while a node has that store open.
    """
    if not path.parent.is_dir():
        if path.parent.exists():
            hint = "Choose another path: --queue-store NAME=PATH"
            raise DataDirRefused(f"{path.parent} is not a directory.", hint=hint)
        hint = f"Create it: mkdir -p {typed(path.parent)}"
        raise DataDirRefused(f"The directory {path.parent} does not exist.", hint=hint)
    _check_store_or_nothing(path)
    if not path.exists():
        return
    if not replace:
        raise DataDirRefused(f"{path} exists already.", hint="--replace moves it aside.")
    try:
        SQLiteStore(path).close()
    except StoreError as error:
        if error.code == "STORE_IN_USE":
            raise  # other errors may be the reason for the restore


def in_directory(path: Path, data: Path) -> Path | None:
    """Return `path` relative to the data directory, or `None` if it is elsewhere.

    Raises: DataDirRefused if it is the path of a node's own file.
    """
    if not path.is_relative_to(data):
        return None
    inner = path.relative_to(data)
    first = inner.parts[0] if inner.parts else STORE
    if first in OWN or NAMES.fullmatch(first) or first.startswith(STORE):
        raise DataDirRefused(
            f"A store of queues cannot be at {path}, which is kept for the node's own files.",
            hint="Choose another path: --queue-store NAME=PATH",
            code="BACKUP_PLACE",
        )
    return inner


def _path(name: str, path: str) -> Path:
    whole = Path(path).absolute()
    try:
        check_queue_store(f"{FILE}{whole}")
    except BadConfig as error:
        hint = "Write --queue-store NAME=PATH, with the path of a file and without `..`."
        raise BadArgument(f"--queue-store {name!r:.80}: {error.what}", hint=hint) from error
    return whole


def _check_apart(paths: list[Path]) -> None:
    taken: set[Path] = set()
    for path in paths:
        files = {path.with_name(f"{path.name}{end}") for end in ("", "-wal", "-shm", WITNESS, RESERVE)}
        if shared := taken & files:
            hint = "Give one of them another path: --queue-store NAME=PATH"
            what = f"Two stores of queues would share {min(shared)}."
            raise DataDirRefused(what, hint=hint, code="BACKUP_PLACE")
        taken |= files
