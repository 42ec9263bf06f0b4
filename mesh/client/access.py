"""With what does a client come in at an address? Its keys and their secret, or the user's cookie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mesh.local.private import cookie, state_dir
from mesh.proof import curve_place, hello_text, prove, same
from mesh.security.clientkeys import client_keys
from mesh.security.keys import Keys
from mesh.security.pins import Pins
from mesh.security.signing import verify
from mesh.wire.commands import Introduction

OTHERS = "{} does not know this user's cookie"
IMPOSTOR = "{} does not know the secret of this mesh"


@dataclass(frozen=True, slots=True)
class Access:
    """The keys and secrets of a client at an address. `curve`: None without keys.

    Over a file that only this user can open nothing is proven.
    """

    address: str
    curve: Keys | None = None
    secret: bytes = field(default=b"", repr=False)
    passwd: str = field(default="", repr=False)
    pins: Pins | None = None
    cluster: str = ""  # the mesh whose keys these are

    @property
    def where(self) -> str:
        """The place where both ends meet."""
        if self.curve is None:
            return self.address
        return curve_place(self.curve.mine.public, self.curve.server.public)

    def proof(self, mine: bytes, theirs: bytes) -> bytes:
        return prove(self.secret, "dialler", mine, theirs, self.where)

    def is_proven(self, proof: bytes, mine: bytes, theirs: bytes) -> bool:
        """Also where it asked for no proof of ours: whoever listens there must know the secret."""
        if not self.address.startswith("tcp:"):
            return True
        return theirs != b"" and same(proof, prove(self.secret, "listener", mine, theirs, self.where))

    def doubt(self, node: Introduction, signature: bytes, mine: bytes, theirs: bytes) -> tuple[str, str, str]:
        """(code, reason, hint) when a node of a mesh with keys does not sign, or not with the key that it
        had; else all "".
        """
        if self.pins is None:
            return "", "", ""
        text = hello_text("listener", mine, theirs, self.where)
        if not verify(node.key, signature, text):
            return "WRONG_SIGNATURE", f"{self.address} did not sign with its key", ""
        what, hint = self.pins.doubt(node.name, node.key)
        return ("OTHER_KEY", what, hint) if what else ("", "", "")

    @property
    def impostor(self) -> tuple[str, str]:
        """(code, reason) when it is not."""
        if self.curve is None:
            return "BAD_COOKIE", OTHERS.format(self.address)
        return "WRONG_SECRET", IMPOSTOR.format(self.address)


def access(address: str, cluster: str | None, environ: Mapping[str, str]) -> Access:
    """The way to come in there. KeysRefused, DataDirRefused."""
    if not address.startswith("tcp:"):
        return Access(address)
    keys = client_keys(environ, cluster, address)
    if keys is None:
        return Access(address, secret=cookie(state_dir(environ)))
    return Access(address, keys.curve, keys.secret, keys.passwd, keys.pins, keys.cluster)
