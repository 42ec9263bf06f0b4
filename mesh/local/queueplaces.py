"""Decides where the stores of queues in a backup go. The backup proposes paths; it chooses none."""

import os
from collections.abc import Collection, Mapping
from os.path import realpath
from pathlib import Path

from mesh.config_store import FILE, MEMORY, check_queue_store, file_of
from mesh.errors import BadArgument, BadConfig, DataDirRefused, StoreError
from mesh.local.manifest import NAMES, STORE, Manifest, bad
from mesh.printable import typed
from mesh.store.opening import RESERVE, WITNESS
from mesh.store.sqlite import SQLiteStore

Stores = list[tuple[str, str]]  # (pattern of queues, their store), as in stores.json
MAGIC = b"SQLite format 3\0"
OWN = ("lock", "port", "backup", "http-token", "poison.json", "node.sock")  # and the files of a backup

# Law: outside of the node's own directory a store goes only to a path that this machine's configuration or
#      its user names, and takes only the place of a store.


class QueuePlaces:
    """What this machine says of places. `named`: the stores in its configuration; `given`: by --queue-store,
    the path of each file of a backup, or of each pattern of queues."""

    def __init__(self, named: Collection[str] = (), given: Mapping[str, str] | None = None) -> None:
        self._named = set(named)
        self._files = {realpath(file_of(store)) for store in named if file_of(store)}
        self._given = {name: _path(name, path) for name, path in (given or {}).items()}

    def chosen(self, manifest: Manifest, stores: Stores, data: Path) -> dict[str, Path | None]:
        """The path of each store of queues; None where nothing here names one. BadArgument for a name that
        the backup does not have."""
        by_path = {path: name for name, path in manifest.queues.items()}
        by_pattern = {pattern: by_path[file_of(store)] for pattern, store in stores if file_of(store)}
        given: dict[str, Path] = {}
        for name, path in self._given.items():
            if (file := by_pattern.get(name, name)) not in manifest.queues:
                there = ", ".join((*by_pattern, *manifest.queues)) or "none"
                raise BadArgument(
                    f"the backup has no store of queues {name!r:.80}.", hint=f"It has: {there}."
                )
            if given.setdefault(file, path) != path:
                raise BadArgument(f"--queue-store gives {file} two places, {given[file]} and {path}.")
        found = {name: given.get(name) or self._of(path, data) for name, path in manifest.queues.items()}
        _check_apart([path for path in found.values() if path])
        return found

    def _of(self, path: str, data: Path) -> Path | None:
        if Path(path).is_relative_to(data):
            return Path(path)
        real = realpath(path)
        return Path(real) if real in self._files else None

    def unknown(self, stores: Stores) -> list[str]:
        """The databases of queues that nothing here names: a node would connect to them."""
        return sorted({store for _, store in stores if not file_of(store)} - self._named - {MEMORY})


def check_chosen(
    manifest: Manifest, chosen: Mapping[str, Path | None], unknown: Collection[str]
) -> dict[str, Path]:
    """All places, if each is known. DataDirRefused BACKUP_PLACE."""
    for name, path in chosen.items():
        if path is None:
            what = f"{name} would be written to {manifest.queues[name]}, which only the backup names"
            hint = f"Say where: --queue-store {name}=PATH, or name that path in [[queues]] of mesh.toml."
            raise DataDirRefused(f"{what}.", hint=hint, code="BACKUP_PLACE")
    for store in unknown:
        what = f"the node would connect to {store}, which only the backup names"
        hint = "If it is yours, name it in [[queues]] of mesh.toml."
        raise DataDirRefused(f"{what}.", hint=hint, code="BACKUP_PLACE")
    return {name: path for name, path in chosen.items() if path is not None}


def moved(stores: Stores, manifest: Manifest, chosen: Mapping[str, Path]) -> Stores:
    """The same stores at their new places."""
    places = {path: str(chosen[name]) for name, path in manifest.queues.items()}
    return [
        (pattern, f"{FILE}{places[file_of(store)]}" if file_of(store) else store) for pattern, store in stores
    ]


def is_store_or_nothing(path: Path) -> bool:
    """Whether nothing is at the path, or a file that begins as a store does. OSError."""
    if not os.path.lexists(path):
        return True
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) in (b"", MAGIC)


def check_targets(file: Path, manifest: Manifest, chosen: Mapping[str, Path | None], data: Path) -> None:
    """DataDirRefused for a backup that would replace something else than a store."""
    for name, path in chosen.items():
        if path is not None:
            if in_directory(path, data) is None:
                _check_store_or_nothing(path)
        elif not is_store_or_nothing(Path(manifest.queues[name])):
            raise bad(file, f"it has a store of queues for {manifest.queues[name]}, where no store is")


def _check_store_or_nothing(path: Path) -> None:
    if not is_store_or_nothing(path):
        hint = "Choose another place: --queue-store NAME=PATH. If it was the store once, move it away."
        what = f"{path} is there, and is no store. It is not replaced."
        raise DataDirRefused(what, hint=hint, code="BACKUP_PLACE")


def check_free(path: Path, replace: bool) -> None:
    """Could the store of a queue be put there? DataDirRefused; STORE_IN_USE while a node has it."""
    if not path.parent.is_dir():
        hint = f"Make it: mkdir -p {typed(path.parent)}"
        raise DataDirRefused(f"there is no directory {path.parent}.", hint=hint)
    _check_store_or_nothing(path)
    if not path.exists():
        return
    if not replace:
        raise DataDirRefused(f"{path} is there already.", hint="With --replace it is moved aside.")
    try:
        SQLiteStore(path).close()
    except StoreError as error:
        if error.code == "STORE_IN_USE":
            raise  # anything else may be why it is restored


def in_directory(path: Path, data: Path) -> Path | None:
    """The path within the node's own directory; None if it is elsewhere. DataDirRefused for a file of the
    node's."""
    if not path.is_relative_to(data):
        return None
    inner = path.relative_to(data)
    first = inner.parts[0] if inner.parts else STORE
    if first in OWN or NAMES.fullmatch(first) or first.startswith(STORE):
        raise DataDirRefused(
            f"{path} is the place of a file of the node's own.",
            hint="Choose another place: --queue-store NAME=PATH",
            code="BACKUP_PLACE",
        )
    return inner


def _path(name: str, path: str) -> Path:
    """That of an option, as a whole path. BadArgument."""
    whole = Path(path).absolute()
    try:
        check_queue_store(f"{FILE}{whole}")
    except BadConfig as error:
        raise BadArgument(f"--queue-store {name!r:.80}: {error.what}", hint=error.hint) from error
    return whole


def _check_apart(paths: list[Path]) -> None:
    taken: set[Path] = set()
    for path in paths:
        files = {path.with_name(f"{path.name}{end}") for end in ("", "-wal", "-shm", WITNESS, RESERVE)}
        if taken & files:
            raise DataDirRefused(f"two stores of queues would share {path}.", code="BACKUP_PLACE")
        taken |= files
