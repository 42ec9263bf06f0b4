"""Running nodes of this user on this machine, and names for new ones."""

import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from mesh.errors import BadName, DataDirRefused, NodeInUse
from mesh.local.datadir import IN_USE, DataDir, read_identity, try_lock
from mesh.local.descriptors import is_shortage, of_system
from mesh.local.private import private_directory, refused, write_private
from mesh.names import node_name

_LONGEST_HOST = 60  # characters of a host name; leaves room for -2, -3 …


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFile:
    """The file by which programs of the same user find a running node: `<state>/nodes/<name>.json`.

    `uuid` is in hex, `ipc` and `tcp` are addresses or `None`, and `data` is the absolute data directory.
    `keyed` means that TCP connections need the keys of its cluster. `snapshots` is the absolute directory of
    snapshots, or "".
    """

    name: str
    uuid: str
    boot: int
    pid: int
    ipc: str | None
    tcp: str | None
    data: str
    cluster: str
    keyed: bool = False
    snapshots: str = ""

    def write(self, state: Path) -> None:
        directory = private_directory(state / "nodes", "Set MESH_STATE_DIR to a directory that you own.")
        path = directory / f"{self.name}.json"
        try:
            write_private(path, msgspec.json.encode(self), durable=False)
        except OSError as error:
            raise refused(
                path, error, "Free space on that disk or repair it, then start the node again."
            ) from error

    def delete(self, state: Path) -> None:
        """Remove the file, if it exists. The node calls this before it releases its data directory."""
        (state / "nodes" / f"{self.name}.json").unlink(missing_ok=True)


def running_nodes(state: Path) -> list[dict[str, Any]]:
    """Return the running nodes in the order of their names, as dicts of the fields of NodeFile.

    A node runs as long as it holds the lock of its data directory. The file of a killed node is removed;
    invalid files are ignored. Raises: LocalError NO_DESCRIPTORS, DataDirRefused.
    """
    running = []
    try:
        for path in (state / "nodes").glob("*.json"):
            told = _read(path)
            if told is not None and _runs(told, path):
                running.append(asdict(told))
    except OSError as error:
        raise of_system(error, f"reading {state / 'nodes'}") from error
    return sorted(running, key=lambda node: node["name"])


def _read(path: Path) -> NodeFile | None:
    try:
        told = msgspec.json.decode(path.read_bytes(), type=NodeFile)
    except (OSError, ValueError) as error:
        _check_shortage(error)
        return None
    return told if f"{told.name}.json" == path.name else None


def _check_shortage(error: Exception) -> None:
    """Raise `error` if it is a shortage of descriptors, which proves nothing about the node."""
    if isinstance(error, OSError) and is_shortage(error):
        raise error


def _runs(told: NodeFile, path: Path) -> bool:
    """Return whether the node of the file still runs. Remove the file if it certainly does not."""
    data = Path(told.data)
    try:
        lock = try_lock(data, shared=True)
        if lock is None:
            # Perhaps a later start holds the lock, and has yet to write its own file.
            return read_identity(data) == (bytes.fromhex(told.uuid), told.boot)
    except FileNotFoundError:
        path.unlink(missing_ok=True)  # the directory was removed
        return False
    except (OSError, ValueError) as error:
        _check_shortage(error)
        return False
    try:
        # While this process holds the lock, no later start can write a file that would be removed here.
        path.unlink(missing_ok=True)
    finally:
        os.close(lock)
    return False


def pick_name(
    state: Path, wanted: str | None, hostname: str, data: Path | None = None
) -> tuple[str, DataDir]:
    """Return the node's name, and its locked data directory: `data`, else `<state>/data/<name>`.

    Without a wanted name, the host's name is used, with -2, -3 … added while a node of that name runs here or
    its directory is in use. Raises: DataDirRefused as DataDir.open; NodeInUse if a node of that name runs
    with other data; BadName.
    """
    if wanted is not None:
        return wanted, _take(state, wanted, data)
    running = _running_names(state)
    names = names_for(hostname)
    while True:
        name = next(names)
        if name in running:
            continue
        try:
            return name, DataDir.open(data or state / "data" / name)
        except DataDirRefused as error:
            if data is not None or error.code != IN_USE:
                raise


def check_node_name(name: str) -> None:
    """Check that a node may have the name. Raises: BadName."""
    if node_name(name) in (".", ".."):
        what = f"{name!r} cannot be the name of a node, because it is also the name of a directory."
        raise BadName(what, hint="Choose another name.")


def _take(state: Path, name: str, data: Path | None) -> DataDir:
    check_node_name(name)
    directory = DataDir.open(data or state / "data" / name)
    try:
        check_free(state, name)
    except NodeInUse:
        directory.close()
        raise
    return directory


def check_free(state: Path, name: str) -> None:
    """Check that no node of that name runs here. Raises: NodeInUse."""
    if name in _running_names(state):
        raise NodeInUse(
            f"A node {name!r} already runs on this machine, with another data directory.",
            hint="Choose another name with --id NAME",
        )


def check_original(state: Path, uuid: bytes, data: Path) -> None:
    """Check that no node with that uuid runs here in another directory. Raises: NodeInUse.

    If one does, one directory is a copy of the other.
    """
    for node in running_nodes(state):
        if node["uuid"] == uuid.hex() and Path(node["data"]) != data:
            raise NodeInUse(
                f"{data} has the identity of {node['name']!r}, which already runs here in "
                f"{node['data']}: one is a copy of the other.",
                hint="A new node creates its own directory: name another one with --data.",
                code="CONFLICT",
            )


def _running_names(state: Path) -> set[str]:
    return {node["name"] for node in running_nodes(state)}


def names_for(hostname: str) -> Iterator[str]:
    """Yield names for a node without a wanted name, in the order of preference, without end."""
    host = re.sub(r"[^A-Za-z0-9_.:-]", "-", hostname)[:_LONGEST_HOST]
    host = host if host.strip(".") else "node"
    yield host
    count = 2
    while True:
        yield f"{host}-{count}"
        count += 1
