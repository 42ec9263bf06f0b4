"""Search for nodes by multicast DNS, for clients whose known nodes are all dead.

MESH_DISCOVERY__MDNS=false disables the search. A client with keys of a client cannot check announcements; the
handshake with a node does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from mesh.client.core.known_nodes import TOLD, KnownNode, checked
from mesh.discovery.advertised import bracketed
from mesh.discovery.adverts import Advert, Adverts, Near
from mesh.discovery.browsing import browse
from mesh.errors import MeshError
from mesh.local.private import cookie, state_dir
from mesh.security.derive import ADVERTS, derived
from mesh.security.keyfiles import read_mesh
from mesh.security.signing import verify

INTERFACES: tuple[str, ...] = ()  # addresses of those to use; none: all
OFF = ("false", "0", "no", "off")


def search_nodes(
    cluster: str, environ: Mapping[str, str], then: Callable[[list[KnownNode], str], None]
) -> None:
    """Search in a thread of its own, which calls `then` with the found nodes and a failure, or ""."""
    if environ.get("MESH_DISCOVERY__MDNS", "").lower() in OFF:
        then([], "")
        return

    def run() -> None:
        try:
            found = browse(_adverts(cluster, environ), INTERFACES)
            then(nodes_of(found), "")
        except Exception as error:  # zeroconf and the system can raise anything
            then([], f"{type(error).__name__}: {error}")

    threading.Thread(target=run, name="mdns-search", daemon=True).start()


def nodes_of(found: list[Advert | Near]) -> list[KnownNode]:
    """Return at most TOLD announced nodes, beginning with proven ones."""
    proven = [it for it in found if isinstance(it, Advert)]
    made = [checked(it.name, [f"tcp://{bracketed(h)}:{it.port}" for h in it.hosts], it.key) for it in proven]
    made += [checked(it.name, [it.address], b"") for it in found if isinstance(it, Near)]
    return [node for node in made if node is not None][:TOLD]


def _adverts(cluster: str, environ: Mapping[str, str]) -> Adverts:
    """Return the reader of announcements. Raises: MeshError, if keys or the cookie cannot be read."""
    state = state_dir(environ)
    file = read_mesh(state, cluster)
    if file is None:
        return Adverts(cluster, cookie(state), None, verify)
    secret = derived(file.secret, cluster, ADVERTS) if file.role == "node" else b""
    return Adverts(cluster, secret, _never, verify)


def _never(text: bytes) -> bytes:
    raise MeshError("A client signs no announcement.")
