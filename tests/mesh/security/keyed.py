"""Meshes with keys: their files, and real nodes in the test's own event loop."""

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from mesh.config import load
from mesh.security.derive import SERVER, derived, role_secret
from mesh.security.joining import new_mesh, token_of
from mesh.security.keyfiles import MeshFile, write_mesh
from mesh.security.signing import curve_pair
from mesh.security.token import Token
from mesh.shell.node import NodeRuntime
from mesh.shell.starting import start
from tests.mesh.meshes import Mesh, alive, eventually
from tests.mesh.running import environment, state_directory

SECRET = b"s" * 32


def mesh_file(cluster: str, role: str = "node", secret: bytes = SECRET, passwd: str = "") -> MeshFile:
    """Return the keys of a member of the mesh with this name and secret, and a new CURVE key."""
    own = secret if role == "node" else role_secret(secret, cluster, role)
    server = curve_pair(derived(secret, cluster, SERVER)).public
    mine = curve_pair(secrets.token_bytes(32))
    return MeshFile(
        cluster=cluster,
        role=role,
        secret=own,
        server=server,
        public=mine.public,
        private=mine.secret,
        passwd=passwd,
    )


@contextmanager
def user(*files: MeshFile) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a state directory with these keys, and the environment of programs that use it."""
    with state_directory() as state:
        for file in files:
            write_mesh(state, file)
        yield state, environment(state)


@asynccontextmanager
async def node(
    name: str, environ: dict[str, str], cluster: str, **settings: Any
) -> AsyncIterator[NodeRuntime]:
    """Run a node during the block. Settings have `__` for the dot."""
    given = {
        "node.id": name,
        "node.cluster": cluster,
        "node.bind": ["tcp://127.0.0.1:0"],
        "discovery.mdns": False,
    }
    started = await start(
        load(None, {}, {**given, **{k.replace("__", "."): v for k, v in settings.items()}}), environ
    )
    try:
        yield started
    finally:
        await started.close()


@asynccontextmanager
async def keyed_mesh(*names: str, cluster: str = "test", **settings: Any) -> AsyncIterator[Mesh]:
    """Run nodes of one user that all know each other."""
    async with AsyncExitStack() as stack:
        _, environ = stack.enter_context(user(mesh_file(cluster)))
        nodes: dict[str, NodeRuntime] = {}
        for name in names:
            peers = [at(first) for first in nodes.values()][:1]
            it = node(name, environ, cluster, node__peers=peers, **settings)
            nodes[name] = await stack.enter_async_context(it)
        made = Mesh(environ, nodes)
        await eventually(lambda: all(alive(made, name) == len(names) for name in names))
        yield made


def at(one: NodeRuntime) -> str:
    """Return the node's TCP address."""
    return str(one.described()["tcp"][0])


def events(one: NodeRuntime, kind: str) -> list[str]:
    """Return the texts of the node's events of this kind."""
    return [e.text for e in one.core.parts.context.events.events_after(0)[0] if e.kind == kind]


def another_site(folder: Path, cluster: str = "default", role: str = "relay") -> Token:
    """Create a mesh in that directory, and return a token of it."""
    folder.mkdir(mode=0o700)
    return token_of(new_mesh(folder, cluster), role, 0, "LON")


__all__ = ["SECRET", "another_site", "at", "events", "keyed_mesh", "mesh_file", "node", "user"]
