"""Proofs by which each end of a connection shows its identity and its knowledge of a secret."""

# Law 1: a proof holds for one connection: it covers both nonces, and both CURVE keys or the endpoint.
# Law 2: with keys the secret is that of a role, and nodes sign, too; without keys it is the user's cookie.
# Law 3: a gateway proves the secret that was given to its site.

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from mesh.kernel.context.conn import CLIENTS, NODE, Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import Keyring
from mesh.proof import curve_place, hello_text, prove, same, stream_text
from mesh.wire.commands import CLIENT, RELAY, Hello, Refuse, Welcome

NONCE = 16


class ConnectionProofs:
    """The proofs of a node: it makes its own, and checks those of the other ends."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context

    @property
    def keyring(self) -> Keyring | None:
        """The current keys, which change with the keys of other sites; `None` in a mesh without keys."""
        return self._context.settings.keyring

    def _where(self, conn: Conn) -> str:
        """Return the text that binds proofs to this connection, so no relay in between can reuse them."""
        keyring = self.keyring
        if keyring is None:
            return conn.endpoint
        if not conn.dialled:
            return curve_place(conn.user, keyring.server)
        return curve_place(keyring.mine, keyring.sites[conn.site].server if conn.site else keyring.server)

    def _dialed_secret(self, conn: Conn) -> bytes:
        """Return the secret that both ends of a dialed connection prove."""
        if self.keyring is None:
            return self._context.settings.secret
        return self.keyring.sites[conn.site].secret if conn.site else self.keyring.secrets[NODE]

    def _secrets(self, h: Hello) -> Mapping[str, bytes]:
        """Return the secrets that may prove this HELLO, by the grants that they give."""
        if self.keyring is None:
            return {NODE: self._context.settings.secret}
        if h.role == RELAY:
            return {RELAY: self.keyring.relays[h.site]}
        known = self.keyring.secrets
        return {grant: known[grant] for grant in (CLIENTS if h.role == CLIENT else (NODE,)) if grant in known}

    def _sign(self, side: str, asker: bytes, answerer: bytes, where: str, process: bytes = b"") -> bytes:
        return self._context.settings.sign(hello_text(side, asker, answerer, where, process))

    # --- own proofs -------------------------------------------------------------------------------------

    def prove_hello(self, conn: Conn, hello: Hello, nonce: bytes) -> Hello:
        """Return HELLO with the proofs that a CHALLENGE with `nonce` asks for."""
        mine = conn.nonce[:NONCE]  # an earlier challenge's nonce may follow
        place = (mine, nonce, self._where(conn), hello.process)
        conn.nonce = mine + nonce  # both, to check the answer
        proof = prove(self._dialed_secret(conn), "dialler", *place)
        return replace(hello, proof=proof, signature=self._sign("dialler", *place))

    def prove_welcome(self, conn: Conn, h: Hello, answer: Welcome) -> Welcome:
        place = (h.nonce, conn.nonce, self._where(conn))
        proof = prove(self._secrets(h)[conn.grant], "listener", *place)
        return replace(answer, proof=proof, signature=self._sign("listener", *place))

    def prove_refusal(self, conn: Conn, h: Hello, answer: Refuse) -> Refuse:
        if not conn.nonce:
            return answer
        place = (h.nonce, conn.nonce, self._where(conn), answer.process)
        if self.keyring is None:  # over CURVE only a node could have sent it
            answer = replace(answer, proof=prove(self._context.settings.secret, "refuser", *place))
        if answer.code == "SAME_UUID":
            answer = replace(answer, signature=self._sign("refuser", *place))
        return answer

    # --- proofs of the other end ------------------------------------------------------------------------

    def granted(self, conn: Conn, h: Hello) -> str | None:
        """Return the grant of the secret that HELLO proves, or `None` if it proves none."""
        place = (h.nonce, conn.nonce, self._where(conn), h.process)
        found = (
            grant
            for grant, secret in self._secrets(h).items()
            if same(h.proof, prove(secret, "dialler", *place))
        )
        is_bound = conn.nonce and (self.keyring is None or conn.user)
        return next(found, None) if is_bound else None

    def is_node_signed(self, conn: Conn, h: Hello) -> bool:
        """Return whether the node that dialed signed HELLO with its key; true without keys."""
        if self.keyring is None:
            return True
        return h.node is not None and self.keyring.verify(h.node.key, h.signature, self._hello_text(conn, h))

    def is_stream_signed(self, conn: Conn, h: Hello) -> bool:
        """Return whether a client signed HELLO with the key of its stream."""
        text = stream_text(h.nonce, conn.nonce, self._where(conn), self._context.me.uuid)
        return self._context.settings.verify(h.key, h.signature, text)

    def knows_secret(self, conn: Conn, w: Welcome) -> bool:
        """Return whether WELCOME proves that the dialed end knows the secret."""
        mine, theirs = conn.nonce[:NONCE], conn.nonce[NONCE:]
        proof = prove(self._dialed_secret(conn), "listener", mine, theirs, self._where(conn))
        return bool(theirs) and same(w.proof, proof)

    def is_welcome_signed(self, conn: Conn, w: Welcome) -> bool:
        """Return whether the dialed node signed WELCOME with its key; true without keys."""
        text = hello_text("listener", conn.nonce[:NONCE], conn.nonce[NONCE:], self._where(conn))
        return self.keyring is None or self.keyring.verify(w.node.key, w.signature, text)

    def is_refusal_proven(self, conn: Conn, r: Refuse) -> bool:
        """Return whether REFUSE proves that the dialed end knows the cookie."""
        return same(r.proof, prove(self._context.settings.secret, "refuser", *self._refusal(conn, r)))

    def is_our_refusal(self, conn: Conn, r: Refuse) -> bool:
        """Return whether the refusing end has proven our own key."""
        text = hello_text("refuser", *self._refusal(conn, r))
        if self.keyring is None:
            return self.is_refusal_proven(conn, r) and self._is_sealed(r.signature, text)
        return r.key == self._context.me.key and self.keyring.verify(r.key, r.signature, text)

    def is_our_hello(self, conn: Conn, h: Hello, key: bytes) -> bool:
        """Return whether the dialing end has proven our own key.

        With keys, the caller has checked the signature of HELLO.
        """
        if self.keyring is not None:
            return key == self._context.me.key
        return self._is_sealed(h.signature, self._hello_text(conn, h))

    def _hello_text(self, conn: Conn, h: Hello) -> bytes:
        return hello_text("dialler", h.nonce, conn.nonce, self._where(conn), h.process)

    def _refusal(self, conn: Conn, r: Refuse) -> tuple[bytes, bytes, str, bytes]:
        return conn.nonce[:NONCE], conn.nonce[NONCE:], self._where(conn), r.process

    def _is_sealed(self, signature: bytes, text: bytes) -> bool:
        """Return whether this node or a copy of it signed the text."""
        return signature != b"" and same(signature, self._context.settings.sign(text))
