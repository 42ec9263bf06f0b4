"""Key files of users and nodes, which only their owner may read."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import TypeVar

import msgspec

from mesh.errors import BadName, DataDirRefused, KeysRefused
from mesh.local.private import private_directory, read_private, refused, sync_directory, write_private
from mesh.names import node_name
from mesh.printable import typed
from mesh.security.derive import RELAY, ROLES, SECRET_BYTES, SERVER, derived
from mesh.security.keys import KEY_BYTES, unz85
from mesh.security.signing import curve_pair
from mesh.shortening import shown

_LONGEST = 4096  # bytes of a key file
_LENGTHS = (SECRET_BYTES, 40, 40, 40)  # of the secret, and of keys in Z85
SITE_CLIENTS = ("client", "monitor")  # roles of clients in another site
_OTHERS = "Set MESH_STATE_DIR to a directory that you own."


File = TypeVar("File", bound=msgspec.Struct)


class MeshFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The keys of this user for one mesh: a JSON object in `keys/CLUSTER.json`, with bytes in base64.

    The keys for another site have the same form: of gateways, with the role relay, in `keys/sites/SITE.json`;
    of clients in `keys/sites/clients/SITE.json`.

    Attributes:
        cluster: Name of the mesh.
        role: `"node"`, `"client"`, `"monitor"`, or `"relay"`.
        secret: 32 bytes: the secret of the role; for `"node"` the secret of the mesh.
        server: Public CURVE key of all nodes, in Z85: `ZMQ_CURVE_SERVERKEY`.
        public: Public CURVE key of the user, in Z85: `ZMQ_CURVE_PUBLICKEY`.
        private: Secret CURVE key of the user, in Z85: `ZMQ_CURVE_SECRETKEY`.
        passwd: Password for HELLO, where required.
        admin: Public Ed25519 key of the admin, if the mesh has one.
    """

    cluster: str
    role: str
    secret: bytes
    server: str
    public: str
    private: str
    passwd: str = msgspec.field(default_factory=str)  # always written, unlike a default
    admin: bytes = b""

    def __repr__(self) -> str:
        return f"MeshFile({self.cluster!r}, {self.role!r})"  # keeps secrets out of tracebacks


class AdminFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The key of a mesh's admin, an Ed25519 seed: `<state>/keys/<cluster>.admin`."""

    cluster: str
    seed: bytes

    def __repr__(self) -> str:
        return f"AdminFile({self.cluster!r})"


class RulesSeen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Timestamp of the newest rules by an admin that were seen here: `<state>/keys/<cluster>.rules`."""

    admin: bytes
    stamp: int


class NodeKeys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a node, its `keys.json`: the secret CURVE key for dialing, and its Ed25519 seed."""

    curve: bytes
    seed: bytes

    def __repr__(self) -> str:
        return "NodeKeys()"


def mesh_path(state: Path, cluster: str, folder: str = "keys") -> Path:
    """Return the path of a mesh's keys, or of its file in another folder. Raises: BadName."""
    try:
        name = node_name(cluster)
    except BadName as error:
        raise BadName(f"{shown(cluster)} cannot be the name of a mesh.", hint=error.hint) from error
    if name in (".", ".."):
        what = f"{cluster!r} cannot be the name of a mesh, because it is also the name of a directory."
        raise BadName(what, hint="Choose another name.")
    return state / folder / f"{cluster}.json"


def clusters(state: Path, folder: str = "keys") -> list[str]:
    """Return the names of the meshes for which this user has keys, or another file in `folder`."""
    return sorted(path.stem for path in (state / folder).glob("*.json") if not path.name.startswith("."))


def read_mesh(state: Path, cluster: str) -> MeshFile | None:
    """Return this user's keys for the mesh, or None. Raises: KeysRefused, DataDirRefused."""
    path = mesh_path(state, cluster)
    hint = f"Restore it from a copy, or move it away and join again: {_move_away(path)}; mesh join"
    found = _read(path, MeshFile, hint)
    if found is None:
        return None
    if found.cluster != cluster or found.role not in ROLES or found.role == RELAY:
        what = f"it has the role {found.role!r:.40} of mesh {found.cluster!r:.80}"
        raise KeysRefused(f"{path} is damaged, or belongs elsewhere: {what}.", hint=hint)
    if not _fits(found):
        raise KeysRefused(f"{path} is damaged: its keys do not belong together.", hint=hint)
    return found


def site_path(state: Path, site: str, is_client: bool = False) -> Path:
    """Return the path of the keys of gateways or clients for another site, whose name may be that of a mesh.

    Raises: BadName.
    """
    if node_name(site) in (".", ".."):
        what = f"{site!r} cannot be the name of a site, because it is also the name of a directory."
        raise BadName(what, hint="Choose another name.")
    folder = state / "keys" / "sites"
    return (folder / "clients" if is_client else folder) / f"{site}.json"


def read_site(state: Path, site: str, is_client: bool = False) -> MeshFile | None:
    """Return the keys of this user's gateways or clients for that site, or None.

    Raises: KeysRefused, as `read_mesh`.
    """
    path, roles = site_path(state, site, is_client), SITE_CLIENTS if is_client else (RELAY,)
    move = _move_away(path)
    hint = f"Restore it from a copy, or move it away and join again: {move}; mesh join --site {site}"
    found = _read(path, MeshFile, hint)
    if found is not None and found.role not in roles:
        what = f"{path} is damaged, or belongs elsewhere: its role is {found.role!r:.40}, not {roles[0]!r}."
        raise KeysRefused(what, hint=hint)
    if found is not None and not _fits(found):
        raise KeysRefused(f"{path} is damaged: its keys do not belong together.", hint=hint)
    return found


def write_site(state: Path, site: str, file: MeshFile) -> Path:
    path = site_path(state, site, file.role in SITE_CLIENTS)
    for folder in reversed(path.relative_to(state).parents[:-1]):
        private_directory(state / folder, _OTHERS)
    _write(path, file)
    return path


def _fits(file: MeshFile) -> bool:
    """Return whether the keys belong together. ZeroMQ would report wrong keys only as a missing answer."""
    if tuple(map(len, (file.secret, file.server, file.public, file.private))) != _LENGTHS:
        return False
    if len(file.admin) not in (0, KEY_BYTES):
        return False
    try:
        unz85(file.server)
        mine = curve_pair(unz85(file.private))
        server = curve_pair(derived(file.secret, file.cluster, SERVER)).public
    except ValueError:
        return False
    return mine.public == file.public and (file.role != "node" or server == file.server)


def write_mesh(state: Path, file: MeshFile) -> Path:
    path = mesh_path(state, file.cluster)
    private_directory(path.parent, _OTHERS)
    _write(path, file)
    return path


def admin_path(state: Path, cluster: str) -> Path:
    return mesh_path(state, cluster).with_suffix(".admin")


def read_admin(state: Path, cluster: str) -> bytes:
    """Return the seed of the admin's key, or b"". Raises: KeysRefused, if the file is damaged."""
    path = admin_path(state, cluster)
    hint = f"Restore it from a copy, or from a token of role admin: {_move_away(path)}; mesh join"
    found = _read(path, AdminFile, hint)
    if found is None:
        return b""
    if found.cluster != cluster:
        what = (
            f"{path} is damaged, or belongs elsewhere: it has the admin's key of mesh {found.cluster!r:.80}."
        )
        raise KeysRefused(what, hint=hint)
    if len(found.seed) != KEY_BYTES:
        what = f"{path} is damaged: its key has {len(found.seed)} bytes instead of {KEY_BYTES}."
        raise KeysRefused(what, hint=hint)
    return found.seed


def write_admin(state: Path, cluster: str, seed: bytes) -> Path:
    """Store the admin's key. A different key is moved aside."""
    path = admin_path(state, cluster)
    private_directory(path.parent, _OTHERS)
    if path.exists() and read_admin(state, cluster) != seed:
        put_aside(path)
    _write(path, AdminFile(cluster=cluster, seed=seed))
    return path


def rules_path(state: Path, cluster: str) -> Path:
    return mesh_path(state, cluster).with_suffix(".rules")


def rules_seen(state: Path, cluster: str, admin: bytes) -> int:
    """Return the timestamp of the newest rules by this admin that this user has seen, or 0.

    Raises: KeysRefused.
    """
    path = rules_path(state, cluster)
    found = _read(path, RulesSeen, f"Remove it: rm {typed(path)}")
    return found.stamp if found is not None and found.admin == admin else 0


def write_rules_seen(state: Path, cluster: str, admin: bytes, stamp: int) -> None:
    """Store the timestamp if it is newer. Write errors are ignored: the rules are in effect already."""
    if stamp > rules_seen(state, cluster, admin):
        with suppress(DataDirRefused):
            _write(rules_path(state, cluster), RulesSeen(admin=admin, stamp=stamp))


def put_aside(path: Path) -> Path:
    """Keep a key file under a second name, and return the new path.

    The content may be the only copy of the keys. The first name stays until the caller replaces it.
    """
    endings = chain(("",), (f"-{number}" for number in count(2)))
    kept = next(to for end in endings if not (to := path.with_name(f"{path.name}.left{end}")).exists())
    try:
        os.link(path, kept)
        sync_directory(path.parent)
    except OSError as error:
        raise refused(path, error, _OTHERS) from error
    return kept


def node_keys(data: Path) -> NodeKeys:
    """Return this node's keys, created at the first call. Raises: KeysRefused, if they are damaged."""
    path = data / "keys.json"
    # Damaged keys are not replaced, because other nodes have pinned them to this node's uuid.
    move = f"mv {typed(data)} {typed(f'{data}.old')}"
    hint = f"Restore it from a copy, or start as a new node: {move}"
    found = _read(path, NodeKeys, hint)
    if found is None:
        found = NodeKeys(curve=secrets.token_bytes(KEY_BYTES), seed=secrets.token_bytes(KEY_BYTES))
        _write(path, found)
    if {len(found.curve), len(found.seed)} != {KEY_BYTES}:
        what = f"{path} is damaged: its two keys do not have {KEY_BYTES} bytes each."
        raise KeysRefused(what, hint=hint)
    return found


def _move_away(path: Path) -> str:
    return f"mv {typed(path)} {typed(f'{path}.damaged')}"


def _read(path: Path, kind: type[File], hint: str) -> File | None:
    try:
        return msgspec.json.decode(read_private(path, _LONGEST, _OTHERS), type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:  # such as no descriptors: the keys are fine
        raise refused(path, error, _OTHERS) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise KeysRefused(f"{path} is damaged, or of another release: {error}.", hint=hint) from error


def _write(path: Path, file: msgspec.Struct) -> None:
    try:
        write_private(path, msgspec.json.encode(file), durable=True)
    except OSError as error:
        raise refused(path, error, _OTHERS) from error
