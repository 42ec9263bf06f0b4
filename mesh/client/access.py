"""The credentials of a client at an address: keys with their secret, the user's cookie, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mesh.local.private import cookie, state_dir
from mesh.proof import curve_place, hello_text, prove, same
from mesh.security.clientkeys import ClientKeys, client_keys, site_keys
from mesh.security.keys import Keys
from mesh.security.pins import Pins
from mesh.security.signing import verify
from mesh.wire.commands import Introduction

OTHERS = "{} does not know this user's cookie"
IMPOSTOR = "{} does not know the secret of this mesh"


@dataclass(frozen=True, slots=True)
class Access:
    """The credentials of a client at one address; `curve` is None for a client without keys.

    A local socket needs no credentials, because only this user can open it.
    """

    address: str
    curve: Keys | None = None
    secret: bytes = field(default=b"", repr=False)
    passwd: str = field(default="", repr=False)
    pins: Pins | None = None
    cluster: str = ""  # the mesh that the keys belong to

    @property
    def where(self) -> str:
        """The endpoint that both sides put into their proofs."""
        if self.curve is None:
            return self.address
        return curve_place(self.curve.mine.public, self.curve.server.public)

    def proof(self, mine: bytes, theirs: bytes) -> bytes:
        return prove(self.secret, "dialler", mine, theirs, self.where)

    def is_proven(self, proof: bytes, mine: bytes, theirs: bytes) -> bool:
        """Return whether the node has proved that it knows the secret; only nodes reached over TCP must.

        Over TCP, the result is False if `theirs` is empty, because such a node has sent no challenge.
        """
        if not self.address.startswith("tcp:"):
            return True
        return theirs != b"" and same(proof, prove(self.secret, "listener", mine, theirs, self.where))

    def check_node(
        self, node: Introduction, signature: bytes, mine: bytes, theirs: bytes
    ) -> tuple[str, str, str]:
        """Return the code, reason and hint for a wrong signature or key, or three empty texts.

        Nodes of a mesh with keys sign their greeting, and a node always has the same key.
        """
        if self.pins is None:
            return "", "", ""
        text = hello_text("listener", mine, theirs, self.where)
        if not verify(node.key, signature, text):
            return "WRONG_SIGNATURE", f"{self.address} did not sign with its key", ""
        what, hint = self.pins.pin_key(node.name, node.key)
        return ("OTHER_KEY", what, hint) if what else ("", "", "")

    @property
    def impostor(self) -> tuple[str, str]:
        """The code and reason for a node that did not prove that it knows the secret."""
        if self.curve is None:
            return "BAD_COOKIE", OTHERS.format(self.address)
        return "WRONG_SECRET", IMPOSTOR.format(self.address)


def access(address: str, cluster: str | None, environ: Mapping[str, str]) -> Access:
    """Return the credentials for an address. Raises: KeysRefused, DataDirRefused."""
    if not address.startswith("tcp:"):
        return Access(address)
    keys = client_keys(environ, cluster, address)
    if keys is None:
        return Access(address, secret=cookie(state_dir(environ)))
    return _with(address, keys)


def site_access(address: str, site: str, environ: Mapping[str, str]) -> Access:
    """Return the credentials for a node of another site. Raises: KeysRefused, DataDirRefused."""
    return _with(address, site_keys(environ, site))


def _with(address: str, keys: ClientKeys) -> Access:
    return Access(address, keys.curve, keys.secret, keys.passwd, keys.pins, keys.cluster)
