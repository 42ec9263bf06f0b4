"""The saved list of nodes of a mesh: `clients/CLUSTER.json` in the state directory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from mesh.client.core.known_nodes import KnownNode
from mesh.client.core.saved_nodes import LONG_LIVED, merged, usable
from mesh.client.way import NodeAddress
from mesh.errors import MeshError
from mesh.local.private import private_directory, state_dir, write_private
from mesh.security.keyfiles import clusters, mesh_path

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 256 * 1024  # bytes
YOUNG = LONG_LIVED  # s since the last change, in which the file is not written again
FOLDER = "clients"  # in the state directory
KIND = "saved-nodes"  # kind of the events


class DamagedList(Exception):
    """The saved list cannot be read; the text says why."""


def mesh_of(cluster: str | None, environ: Mapping[str, str]) -> str:
    """Return the mesh whose list to read: the given one, else the only one with keys or a list."""
    known = clusters(state_dir(environ)) or clusters(state_dir(environ), FOLDER)
    return cluster or environ.get("MESH_CLUSTER") or (known[0] if len(known) == 1 else "default")


def read_list(cluster: str, environ: Mapping[str, str]) -> list[KnownNode]:
    """Return the saved nodes of a mesh; none without a file. Raises: DamagedList, BadName."""
    path = mesh_path(state_dir(environ), cluster, FOLDER)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would block
            raise DamagedList(f"{path} is ignored: it is not a file")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise DamagedList(f"{path} is ignored: the file has more than {LARGEST:,} bytes")
        return usable(msgspec.json.decode(content, type=list[KnownNode]))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DamagedList(f"{path} is ignored: {_reason(error)}") from error
    except ValueError as error:
        raise DamagedList(f"{path} is ignored: the content is not a list of nodes") from error


def save_list(
    cluster: str, nodes: Sequence[KnownNode], has_own: bool, environ: Mapping[str, str], wall: int
) -> None:
    """Add nodes to the saved list of a mesh; with `has_own`, the first one accepted a client at `wall` (ns).

    The file is left alone if another client writes it now, or has added the same nodes within a minute.
    Raises: OSError, MeshError.
    """
    path = mesh_path(state_dir(environ), cluster, FOLDER)
    private_directory(path.parent, "Set MESH_STATE_DIR to a directory that you own.")
    with _alone(path.parent) as is_alone:
        if not is_alone:
            return
        try:
            saved = read_list(cluster, environ)
        except DamagedList:
            saved = []  # replaced by a valid list
        known = {(node.name, node.addresses, node.key) for node in saved}
        is_news = any((node.name, node.addresses, node.key) not in known for node in nodes)
        if not is_news and _age(path) < YOUNG:
            return
        news = [replace(nodes[0], seen=wall), *nodes[1:]] if has_own else nodes
        write_private(path, msgspec.json.encode(merged(saved, news)), durable=False)


class NodeList:
    """The saved list as a client uses it. With `is_read`, its nodes are tried when the named ones fail.

    A list that is damaged or cannot be written is reported, and the client does without it.
    """

    def __init__(self, way: NodeAddress, is_read: bool) -> None:
        self._way, self._is_read = way, is_read

    def read(self, report: Callable[[str, str], None]) -> list[KnownNode]:
        if not self._is_read:
            return []
        try:
            return read_list(mesh_of(self._way.cluster, self._way.environ), self._way.environ)
        except (DamagedList, MeshError, OSError) as error:
            report(KIND, str(error))
            return []

    def browse(self, then: Callable[[list[KnownNode], str], None]) -> None:
        from mesh.client.browsing import search_nodes  # late: seldom used

        search_nodes(mesh_of(self._way.cluster, self._way.environ), self._way.environ, then)

    def add(
        self,
        cluster: str,
        nodes: Sequence[KnownNode],
        has_own: bool,
        wall: int,
        report: Callable[[str, str], None],
    ) -> None:
        try:
            save_list(cluster, nodes, has_own, self._way.environ, wall)
        except (MeshError, OSError) as error:
            report(KIND, f"the list of nodes was not saved: {_reason(error)}")


def _reason(error: Exception) -> str:
    """Return why a file cannot be used, without the number of the error."""
    if not isinstance(error, OSError):
        return str(error)
    if isinstance(error, IsADirectoryError):
        return "a directory has the name of the file"
    return (error.strerror or str(error)).lower()


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


@contextmanager
def _alone(directory: Path) -> Iterator[bool]:
    """Lock a directory, and yield whether no other process has locked it."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            flock(handle, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
