"""Tokens: the data needed to join a mesh, as one word that survives being pasted into a chat."""

import base64
import hashlib
from dataclasses import dataclass, field

import msgspec

from mesh.errors import BadName, KeysRefused
from mesh.names import node_name
from mesh.security.derive import ADMIN, RELAY, ROLES, SECRET_BYTES

PREFIX = "HERON1"  # 1: version of the format
CHECK_BYTES = 5  # makes usual tokens need no base32 padding
LONGEST = 1024  # letters
AGAIN = "Copy all of it, or create another one with `mesh token`."


@dataclass(frozen=True, slots=True)
class Token:
    """The data with which a user, a gateway or an admin joins a mesh.

    `secret` is that of the mesh for a node, else that of the role. `server` is the public CURVE key of all
    nodes, "" for the roles node and admin. `expires` is in seconds since 1970; 0 = never. `admin` is the
    public key of the mesh's admin, if there is one; in a token of the role admin, `secret` is the seed of
    that key.
    """

    cluster: str
    role: str
    secret: bytes = field(repr=False)
    server: str = ""
    expires: int = 0
    admin: bytes = b""


class _Fields(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The fields of a token in wire order."""

    cluster: str
    role: str
    secret: bytes
    server: str
    expires: int
    admin: bytes = b""

    def token(self) -> Token:
        return Token(*msgspec.structs.astuple(self))


def write_token(token: Token) -> str:
    """Return the token as letters and digits."""
    fields: tuple[object, ...] = (token.cluster, token.role, token.secret, token.server, token.expires)
    if token.admin:  # otherwise the format of earlier releases
        fields = (*fields, token.admin)
    content = msgspec.msgpack.encode(fields)
    return PREFIX + base64.b32encode(content + _check(content)).decode().rstrip("=")


def read_token(text: str, now: float) -> Token:
    """Return the token in `text`. Blanks, line ends, hyphens and small letters are accepted.

    `now` is in seconds since 1970. Raises KeysRefused with the code TOKEN, TOKEN_DAMAGED or TOKEN_EXPIRED.
    """
    word = "".join(text.split()).replace("-", "").upper()
    if word.startswith(PREFIX) and len(word) > LONGEST:
        what = f"The text has {len(word):,} characters, too many for a token."
        raise KeysRefused(what, hint="Give exactly one token.", code="TOKEN")
    if not word.startswith(PREFIX):
        what = f"The text is not a token: a token begins with {PREFIX}."  # not quoted: perhaps another secret
        what = what if word else "The token is empty."
        raise KeysRefused(what, hint="Create a token with `mesh token`, on a node of the mesh.", code="TOKEN")
    token = _decoded(word.removeprefix(PREFIX))
    if token.expires and now >= token.expires:
        role = f"{token.role} --site NAME" if token.role == RELAY else token.role
        hint = f"Create another one where this one was created: mesh token --role {role}"
        raise KeysRefused(f"This token for {token.cluster!r} has expired.", hint=hint, code="TOKEN_EXPIRED")
    return token


def _decoded(letters: str) -> Token:
    what = "This token is damaged: characters are missing or wrong."
    damaged = KeysRefused(what, hint=AGAIN, code="TOKEN_DAMAGED")
    try:
        data = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except ValueError:
        raise damaged from None
    content, check = data[:-CHECK_BYTES], data[-CHECK_BYTES:]
    if check != _check(content):
        raise damaged
    # The checksum is right, so no character is missing or wrong.
    what = "This token is not valid in this release."
    hint = "Use the same release here and there, or create another token with `mesh token`."
    unknown = KeysRefused(what, hint=hint, code="TOKEN_DAMAGED")
    try:
        token = msgspec.msgpack.decode(content, type=_Fields).token()
        node_name(token.cluster)
    except (msgspec.MsgspecError, UnicodeDecodeError, BadName):
        raise unknown from None
    server = 0 if token.role in ("node", ADMIN) else 40
    lengths = len(token.secret), len(token.server)
    has_admin = len(token.admin) == SECRET_BYTES or (not token.admin and token.role != ADMIN)
    if token.role not in (*ROLES, ADMIN) or lengths != (SECRET_BYTES, server) or not has_admin:
        raise unknown
    return token


def _check(content: bytes) -> bytes:
    return hashlib.sha256(b"heronry token\0" + content).digest()[:CHECK_BYTES]
