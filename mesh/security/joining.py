"""Creation of a mesh's keys, and transfer to other users and machines by tokens."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec

from mesh.errors import KeysRefused
from mesh.names import node_name
from mesh.security.derive import ADMIN, RELAY, SECRET_BYTES, SERVER, derived, relay_secret, role_secret
from mesh.security.keyfiles import (
    SITE_CLIENTS,
    MeshFile,
    admin_path,
    clusters,
    mesh_path,
    put_aside,
    read_admin,
    read_mesh,
    read_site,
    site_path,
    write_admin,
    write_mesh,
    write_site,
)
from mesh.security.signing import curve_pair, public_key
from mesh.security.token import Token

ELSEWHERE = "If they are in another directory, set MESH_STATE_DIR."


def new_mesh(state: Path, cluster: str) -> MeshFile:
    """Create the keys of a mesh, and those of its admin.

    Raises: KeysRefused, if this user has keys of that name.
    """
    known = read_mesh(state, cluster)
    if known is not None:
        others = "`mesh token` prints a token for others; for" if known.role == "node" else "For"
        raise KeysRefused(
            f"The keys for {cluster!r} exist already, in {mesh_path(state, cluster)}.",
            hint=f"{others} one more mesh: mesh init --cluster NAME",
            code="KEYS_EXIST",
        )
    seed = secrets.token_bytes(SECRET_BYTES)
    file = _file(Token(cluster, "node", secrets.token_bytes(SECRET_BYTES), admin=public_key(seed)), "")
    write_admin(state, cluster, seed)
    write_mesh(state, file)
    return file


def new_admin(state: Path, cluster: str) -> MeshFile:
    """Create an admin for a mesh without one.

    Raises: KeysRefused, without a node's keys, or if the mesh has an admin.
    """
    file = read_mesh(state, cluster)
    if file is None or file.role != "node":
        what = f"This user has no node keys of mesh {cluster!r}."
        hint = "Run `mesh init --admin` on a machine with a node's keys; for a new mesh, run `mesh init`."
        raise KeysRefused(what, hint=hint)
    if file.admin:
        what = f"The mesh {cluster!r} has an admin already."
        hint = (
            "`mesh token --role admin`, on the machine with the key of the admin, prints a token for others."
        )
        raise KeysRefused(what, hint=hint, code="KEYS_EXIST")
    seed = secrets.token_bytes(SECRET_BYTES)
    file = msgspec.structs.replace(file, admin=public_key(seed))
    write_admin(state, cluster, seed)
    write_mesh(state, file)
    return file


def admin_token(state: Path, file: MeshFile, expires: int) -> Token:
    """Return a token with the admin's key. Raises: KeysRefused, if this user does not have it."""
    return Token(file.cluster, ADMIN, admin_seed(state, file), expires=expires, admin=file.admin)


def admin_seed(state: Path, file: MeshFile) -> bytes:
    """Return the admin's key. Raises: KeysRefused, if there is no admin or this user lacks the key."""
    if not file.admin:
        what = f"The mesh {file.cluster!r} has no admin."
        hint = "Create one: `mesh init --admin`; then join all nodes again and restart them."
        raise KeysRefused(what, hint=hint, code="NO_ADMIN")
    seed = read_admin(state, file.cluster)
    if not seed or public_key(seed) != file.admin:
        what = f"The key of the admin of mesh {file.cluster!r} is required, and is not in"
        hint = "Where `mesh init` was run, `mesh token --role admin` prints a token for `mesh join` here."
        raise KeysRefused(f"{what} {admin_path(state, file.cluster)}.", hint=hint, code="NOT_ADMIN")
    return seed


def join_admin(state: Path, token: Token) -> tuple[Path, bool]:
    """Store the admin's key. Return its path, and whether it is new.

    Raises: KeysRefused, if this user's keys for that mesh are missing or name another admin.
    """
    file = read_mesh(state, token.cluster)
    if file is None:
        what = f"This user has no keys for mesh {token.cluster!r}, which this admin token is for."
        raise KeysRefused(what, hint="Join the mesh first, with a token for a node or client.", code="TOKEN")
    if file.admin != token.admin or public_key(token.secret) != token.admin:
        what = f"The token does not match the admin in this user's keys of mesh {token.cluster!r}."
        hint = (
            "If the keys name no admin, join again with a newer token for a node or client. Otherwise run "
            "`mesh token --role admin` with the admin's key in this mesh."
        )
        raise KeysRefused(what, hint=hint, code="TOKEN")
    path, known = admin_path(state, token.cluster), read_admin(state, token.cluster)
    if known != token.secret:
        write_admin(state, token.cluster, token.secret)
    return path, known != token.secret


def token_of(file: MeshFile, role: str, expires: int, site: str = "") -> Token:
    """Return a token with which another user or machine joins the mesh in `role`.

    `site` is only for the role relay: the other site, whose gateways may use the token. Raises: KeysRefused,
    unless `file` has the keys of a node.
    """
    if file.role != "node":
        raise KeysRefused(
            f"This user has only {file.role} keys of mesh {file.cluster!r}, which cannot create tokens.",
            hint="Run `mesh token` on a machine with a node's keys.",
        )
    if role == "node":
        return Token(file.cluster, role, file.secret, expires=expires, admin=file.admin)
    if role == RELAY:
        secret = relay_secret(file.secret, file.cluster, node_name(site))
    else:
        secret = role_secret(file.secret, file.cluster, role)
    return Token(file.cluster, role, secret, file.server, expires, b"" if role == RELAY else file.admin)


def join(state: Path, token: Token, passwd: str, replace: bool = False) -> tuple[MeshFile, bool, Path | None]:
    """Store the keys of a token. Return the user's keys, whether any are new, and the path of replaced keys.

    The path is None if no keys were replaced. A token of another role never replaces a node's keys of the
    same mesh. Raises KeysRefused for a token with the role relay. If this user has keys of another mesh with
    that name, they are moved aside if `replace` is set; otherwise raises KeysRefused.
    """
    if token.role == RELAY:
        what = f"This token is only for gateways: it links another site to the mesh {token.cluster!r}."
        hint = "At that site: mesh join --site NAME, with the NAME of [sites.NAME] in the mesh.toml there."
        raise KeysRefused(what, hint=hint, code="TOKEN")
    given, found, left = _file(token, passwd), read_mesh(state, token.cluster), None
    if found is not None and found.server != given.server:
        if not replace:
            path = mesh_path(state, token.cluster)
            raise KeysRefused(
                f"The keys in {path} belong to another mesh with the name {token.cluster!r}.",
                hint="To leave that mesh, keep its keys aside, and join this one: mesh join --replace",
                code="KEYS_EXIST",
            )
        left, found = put_aside(mesh_path(state, token.cluster)), None
    if found is not None:
        better = given if found.role != "node" else found
        # Keep the own key: other nodes may know it.
        given = msgspec.structs.replace(
            better,
            public=found.public,
            private=found.private,
            passwd=passwd or found.passwd,
            admin=found.admin or given.admin,
        )
    if given != found:
        write_mesh(state, given)
    return given, given != found, left


def join_site(state: Path, site: str, token: Token, replace: bool = False) -> tuple[Path, bool]:
    """Store the keys for another site. Return the path, and whether any are new.

    Raises KeysRefused for a token of another role or of this user's own mesh, and if there are other keys for
    that site, unless `replace` is set.
    """
    is_client = token.role in SITE_CLIENTS
    if token.role != RELAY and not is_client:
        what = f"This token of mesh {token.cluster!r} is for the role {token.role}, not for another site."
        hint = "Run at that site: mesh token --role relay --site NAME, or mesh token --role client"
        raise KeysRefused(what, hint=hint, code="TOKEN")
    mine = read_mesh(state, token.cluster)
    if mine is not None and mine.server == token.server:
        what = f"This token is for another site: the mesh {token.cluster!r}, of which this user has keys."
        hint = (
            "Use a token that the other site created. If this user runs nodes of both sites, set another "
            "MESH_STATE_DIR for each."
        )
        raise KeysRefused(what, hint=hint, code="TOKEN")
    path, found = site_path(state, site, is_client), read_site(state, site, is_client)
    if found is not None and (found.server, found.secret) == (token.server, token.secret):
        return path, False
    if found is not None and not replace:
        what = (
            f"{path} has other keys for the site {site!r}: from another token, or for another "
            "site with that name."
        )
        raise KeysRefused(
            what, hint=f"To use the new keys: mesh join --site {site} --replace", code="KEYS_EXIST"
        )
    if found is not None:
        put_aside(path)
    return write_site(state, site, _file(token, "")), True


def leave(state: Path, cluster: str) -> Path:
    """Move the keys of the mesh aside, and return the new path. Raises: KeysRefused, if there are none."""
    if not mesh_path(state, cluster).exists():
        what, names = f"{state} has no keys for mesh {cluster!r}", clusters(state)
        if not names:
            raise KeysRefused(f"{what} or any other mesh.", hint=ELSEWHERE)
        raise KeysRefused(f"{what}, only for: {', '.join(names)}.", hint="Choose one with --cluster NAME.")
    kept = put_aside(mesh_path(state, cluster))
    mesh_path(state, cluster).unlink(missing_ok=True)
    return kept


def _file(token: Token, passwd: str) -> MeshFile:
    server = token.server or curve_pair(derived(token.secret, token.cluster, SERVER)).public
    own = curve_pair(secrets.token_bytes(SECRET_BYTES))
    return MeshFile(
        cluster=token.cluster,
        role=token.role,
        secret=token.secret,
        server=server,
        public=own.public,
        private=own.secret,
        passwd=passwd,
        admin=token.admin,
    )
