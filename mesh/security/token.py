"""What does somebody type to join? All that it needs to know of a mesh, in one word that survives a chat."""

import base64
import hashlib
from dataclasses import dataclass, field

import msgspec

from mesh.errors import BadName, KeysRefused
from mesh.names import node_name
from mesh.security.derive import ADMIN, ROLES, SECRET_BYTES

PREFIX = "HERON1"  # 1: how the rest is written
CHECK_BYTES = 5  # with them the usual token is a multiple of what base32 pads to
LONGEST = 1024  # letters
AGAIN = "Copy it whole, or make another one with `mesh token`."


@dataclass(frozen=True, slots=True)
class Token:
    """A token. `secret` is the mesh's for a node, else its role's. `server`: public CURVE key; "" for a node.

    `expires` in seconds since 1970; 0 = never. `admin`: the public key of the mesh's admin, if it has one;
    that of the admin himself holds the seed of that key as its secret.
    """

    cluster: str
    role: str
    secret: bytes = field(repr=False)
    server: str = ""
    expires: int = 0
    admin: bytes = b""


class _Fields(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The fields of a token in their order."""

    cluster: str
    role: str
    secret: bytes
    server: str
    expires: int
    admin: bytes = b""

    def token(self) -> Token:
        return Token(*msgspec.structs.astuple(self))


def write_token(token: Token) -> str:
    """Letters and digits only."""
    fields: tuple[object, ...] = (token.cluster, token.role, token.secret, token.server, token.expires)
    if token.admin:  # else as earlier releases write it, and read it
        fields = (*fields, token.admin)
    content = msgspec.msgpack.encode(fields)
    return PREFIX + base64.b32encode(content + _check(content)).decode().rstrip("=")


def read_token(text: str, now: float) -> Token:
    """The token; `now` in seconds since 1970. Blanks, line ends, hyphens and small letters do no harm.

    KeysRefused: TOKEN when it is none, TOKEN_DAMAGED, TOKEN_EXPIRED.
    """
    word = "".join(text.split()).replace("-", "").upper()
    if not word.startswith(PREFIX) or len(word) > LONGEST:
        what = f"This is no token: one begins with {PREFIX}."  # perhaps it is another secret
        raise KeysRefused(what, hint="`mesh token`, on a node of that mesh, prints one.", code="TOKEN")
    token = _decoded(word.removeprefix(PREFIX))
    if token.expires and now >= token.expires:
        hint = "Ask for another one: `mesh token`, on a node of that mesh."
        raise KeysRefused(f"This token for {token.cluster!r} has expired.", hint=hint, code="TOKEN_EXPIRED")
    return token


def _decoded(letters: str) -> Token:
    what = "This token is damaged: letters are missing or wrong."
    damaged = KeysRefused(what, hint=AGAIN, code="TOKEN_DAMAGED")
    try:
        data = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except ValueError:
        raise damaged from None
    content, check = data[:-CHECK_BYTES], data[-CHECK_BYTES:]
    if check != _check(content):
        raise damaged
    try:
        token = msgspec.msgpack.decode(content, type=_Fields).token()
        node_name(token.cluster)
    except (msgspec.MsgspecError, UnicodeDecodeError, BadName):
        raise damaged from None
    server = 0 if token.role in ("node", ADMIN) else 40
    lengths = len(token.secret), len(token.server)
    has_admin = len(token.admin) == SECRET_BYTES or (not token.admin and token.role != ADMIN)
    if token.role not in (*ROLES, ADMIN) or lengths != (SECRET_BYTES, server) or not has_admin:
        raise damaged
    return token


def _check(content: bytes) -> bytes:
    return hashlib.sha256(b"heronry token\0" + content).digest()[:CHECK_BYTES]
