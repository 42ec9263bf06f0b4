"""The keys that a node uses, in the form that its components need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from mesh.errors import KeysRefused
from mesh.kernel.context.settings import Keyring, SiteKeys
from mesh.password import check_hash
from mesh.security.derive import ADVERTS, GOSSIP, RELAY, ROLES, SERVER, derived, relay_secret, role_secret
from mesh.security.keyfiles import MeshFile, node_keys, read_mesh, read_site
from mesh.security.keys import Keys, Pair
from mesh.security.signing import curve_pair, public_key, sign, verify


@dataclass(frozen=True, slots=True)
class MeshKeys:
    """A node's keys in a mesh: for the core, for the sockets and for adverts."""

    ring: Keyring
    curve: Keys
    advert: bytes = field(repr=False)  # secret for the MAC of an advert
    identity: bytes  # public Ed25519 key of this node
    sites: Mapping[str, Keys] = field(default_factory=dict)  # for dialing other sites


def node_file(state: Path, cluster: str, passwd: str) -> MeshFile | None:
    """Return the keys of this user's nodes in the mesh, or None if there are none.

    Raises: KeysRefused, if the keys are not those of a node, or if a `passwd` is set without keys.
    """
    file = read_mesh(state, cluster)
    if file is None:
        if passwd:
            what = f"node.passwd would protect nothing, because this user has no keys for mesh {cluster!r}."
            hint = f"Run `mesh init --cluster {cluster}` or `mesh join`, or omit the setting."
            raise KeysRefused(what, hint=hint)
        return None
    if file.role != "node":
        raise KeysRefused(
            f"This user has only {file.role} keys of mesh {cluster!r}; a node needs node keys.",
            hint="Run `mesh token` on a node of that mesh, and `mesh join` here.",
        )
    return file


def keyring(
    state: Path,
    data: Path,
    cluster: str,
    passwd: str = "",
    passwds: Mapping[str, str] | None = None,
    sites: Iterable[str] = (),
) -> MeshKeys | None:
    """Return the keys of the node in `data`, or None if this user has no keys of the mesh.

    Missing keys of the node are created. `passwd` is the scrypt hash of the password that others must send.
    `passwds` are the passwords that the node sends to others, by name. `sites` are the known other sites.
    Raises KeysRefused as `node_file` does, and if any keys are damaged.
    """
    file = node_file(state, cluster, passwd)
    if file is None:
        return None
    own = node_keys(data)
    secret = file.secret
    mine = curve_pair(own.curve)
    server = curve_pair(derived(secret, cluster, SERVER))
    names = tuple(sites)
    beyond = {site: found for site in names if (found := read_site(state, site)) is not None}
    ring = Keyring(
        server=server.public,
        mine=mine.public,
        sign=partial(sign, own.seed),
        verify=verify,
        secrets={role: role_secret(secret, cluster, role) for role in ROLES if role != RELAY},
        passwd=passwd and check_hash(passwd),
        passwds={"": file.passwd, **(passwds or {})},
        admin=file.admin,
        relays={site: relay_secret(secret, cluster, site) for site in names},
        sites={site: SiteKeys(found.cluster, found.secret, found.server) for site, found in beyond.items()},
    )
    curve = Keys(mine, server, curve_pair(derived(secret, cluster, GOSSIP)))
    theirs = {site: Keys(mine, Pair(found.server)) for site, found in beyond.items()}
    return MeshKeys(ring, curve, derived(secret, cluster, ADVERTS), public_key(own.seed), theirs)
