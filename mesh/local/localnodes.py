"""Which nodes of this user run on this machine, and what may the next one be called?"""

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
    """The file by which a running node tells its user's programs where it is: `<state>/nodes/<name>.json`.

    `uuid` in hex, `ipc` and `tcp` addresses or None, `data` the data directory as an absolute path.
    `keyed`: over TCP it speaks to nobody without the keys of its cluster. `snapshots`: where it writes
    them, absolute; "" = it writes none.
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
        """Tell. DataDirRefused when that cannot be written."""
        directory = private_directory(state / "nodes", "Or set MESH_STATE_DIR to a directory of your own.")
        path = directory / f"{self.name}.json"
        try:
            write_private(path, msgspec.json.encode(self), durable=False)
        except OSError as error:
            raise refused(path, error, "Make room or mend that disk, then start the node again.") from error

    def remove(self, state: Path) -> None:
        """The node stops: to be called while it still holds its data directory; twice does no harm."""
        (state / "nodes" / f"{self.name}.json").unlink(missing_ok=True)


def running_nodes(state: Path) -> list[dict[str, Any]]:
    """The running nodes, with what each told, by name, with the fields of NodeFile.

    A node runs as long as it holds the lock of its data directory. The file of one that was killed
    is removed; what is no such file is passed over. Raises LocalError (NO_DESCRIPTORS), DataDirRefused.
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
    """Raise it if it says nothing of the file: a node that runs is not to be called gone for it."""
    if isinstance(error, OSError) and is_shortage(error):
        raise error


def _runs(told: NodeFile, path: Path) -> bool:
    """Does the node still run that told this? If it is gone for certain, its file goes."""
    data = Path(told.data)
    try:
        lock = try_lock(data, shared=True)
        if lock is None:
            # Held, but perhaps by a later start, which has not told yet and will do so itself.
            return read_identity(data) == (bytes.fromhex(told.uuid), told.boot)
    except FileNotFoundError:
        path.unlink(missing_ok=True)  # the whole directory was removed
        return False
    except (OSError, ValueError) as error:
        _check_shortage(error)
        return False
    try:
        # As long as we have the lock no later start can tell, and lose its file here.
        path.unlink(missing_ok=True)
    finally:
        os.close(lock)
    return False


def pick_name(
    state: Path, wanted: str | None, hostname: str, data: Path | None = None
) -> tuple[str, DataDir]:
    """The node's name, and its data directory, taken: `data`, else `<state>/data/<name>`.

    Without a wanted name it is the host's, then that with -2, -3 … where a node of that name runs
    here. DataDirRefused as by DataDir.open; NodeInUse when the wanted name runs here with other data;
    BadName.
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
    """BadName if no node can be called so."""
    if node_name(name) in (".", ".."):
        raise BadName(f"{name!r} cannot be a node's name: a directory is named after it.")


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
    """NodeInUse if a node of that name runs here."""
    if name in _running_names(state):
        raise NodeInUse(
            f"A node {name!r} runs on this machine already, with another data directory.",
            hint="Choose another name with --id NAME",
        )


def check_original(state: Path, uuid: bytes, data: Path) -> None:
    """NodeInUse if a node with that uuid runs here elsewhere: `data` is a copy, or was copied."""
    for node in running_nodes(state):
        if node["uuid"] == uuid.hex() and Path(node["data"]) != data:
            raise NodeInUse(
                f"{data} has the identity of {node['name']!r}, which runs here already, in {node['data']}: "
                "one was copied from the other.",
                hint="A new node makes a directory of its own: name another one with --data.",
                code="CONFLICT",
            )


def _running_names(state: Path) -> set[str]:
    return {node["name"] for node in running_nodes(state)}


def names_for(hostname: str) -> Iterator[str]:
    """Of nodes without a wanted name, the first free one of which is taken."""
    host = re.sub(r"[^A-Za-z0-9_.:-]", "-", hostname)[:_LONGEST_HOST]
    host = host if host.strip(".") else "node"
    yield host
    count = 2
    while True:
        yield f"{host}-{count}"
        count += 1
