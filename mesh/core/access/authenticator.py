"""The handshake of every connection, from both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from mesh.core.context.conn import CLIENTS, NODE, Conn
from mesh.core.context.node_context import NodeContext
from mesh.core.context.settings import Keyring
from mesh.loglevels import ACCESS
from mesh.password import Password
from mesh.printable import harmless
from mesh.proof import PROOF_BYTES, STREAM_KEY, curve_place, hello_text, prove, same, stream_of, stream_text
from mesh.wire.commands import CLIENT, NODE_CONTROL, NODE_DATA, RELAY, Challenge, Hello, Refuse, Welcome
from mesh.wire.limits import KIB, VERSION_MIN
from mesh.wire.spoken import agreed, in_common

NONCE = 16
LONGEST = 300  # characters of a reason
PENDING = 4 * KIB  # bytes of a message before admission
SOFTWARE = "heronry 0.1.0"
JOIN = "The refused user runs `mesh join` with a token: `mesh token`, on a node of this mesh."
NEWER = "The client runs an earlier release and has no key: upgrade it to the node's release."
JOIN_SITE = (
    "Run `mesh token --role relay --site NAME` at the refusing site, and `mesh join --site NAME` "
    "at the other site."
)
OTHER_USER = "Both must run as the same user, with the same state directory (MESH_STATE_DIR)."

# Rule 1: the dialing end sends HELLO first; anything else before it is ignored.
# Rule 2: on a socket that other users could open, both ends prove a secret: in a mesh with keys that of a
#         role, signed by nodes; without keys the user's cookie.
# Rule 3: a client's stream is named after a key, which also signs HELLO where a secret must be proven.
# Rule 4: a proof holds for one connection: it covers both nonces, and both CURVE keys or the endpoint.
# Rule 5: a gateway proves the secret that was given to its site. Passwords are not exchanged with it.
# Rule 6: this module only decides whether to admit the other end; `admit` does the rest.


class Authenticator:
    """The handshakes of a node.

    `admit` answers a proven HELLO, with `None` to answer later. `entered` handles a WELCOME to our own HELLO,
    `rejected` a REFUSE (and whether that is proven), and `denied` our own refusal of the end that we dialed.
    `mirrored` is called when the other end has proven our own key, with its process and address.
    """

    def __init__(
        self,
        desk: NodeContext,
        greet: Callable[[Conn], Hello],
        admit: Callable[[Conn, Hello], Welcome | Refuse | None],
        entered: Callable[[Conn, Welcome], None],
        rejected: Callable[[Conn, Refuse, bool], None],
        denied: Callable[[Conn, Refuse], None],
        mirrored: Callable[[Conn, bytes, str], None],
    ) -> None:
        self._desk = desk
        self._greet = greet
        self._admit = admit
        self._entered = entered
        self._rejected = rejected
        self._denied = denied
        self._mirrored = mirrored
        passwd = self._keyring.passwd if self._keyring is not None else ""
        self._password = Password(passwd) if passwd else None

    @property
    def _keyring(self) -> Keyring | None:
        """The current keys, as the keys of other sites may change."""
        return self._desk.settings.keyring

    def knock(self, conn: Conn) -> None:
        """Send HELLO on a connection that this node dialed."""
        conn.nonce = self._desk.ids(NONCE)
        self._desk.out.send(conn, self._greet(conn))

    def challenge(self, conn: Conn, c: Challenge) -> None:
        """Answer a CHALLENGE with a HELLO that contains the proofs."""
        hello = self._greet(conn)
        secret = self._desk.settings.secret
        if self._keyring is not None and conn.site:
            secret = self._keyring.sites[conn.site].secret
        elif self._keyring is not None:
            # CURVE excludes relays, so the field has the name of the node, to choose its password.
            passwds, secret = self._keyring.passwds, self._keyring.secrets[NODE]
            hello = replace(hello, passwd=hello.passwd or passwds.get(c.endpoint) or passwds.get("", ""))
        elif c.endpoint != conn.endpoint:
            # A relay between the ends could pass our proof to another listener.
            text = (
                f"{conn.endpoint} identifies itself as {plain(c.endpoint)}, which is not the dialed address"
            )
            self._desk.out.hang_up(conn)
            self._denied(conn, Refuse("ENDPOINT", text))
            return
        mine = conn.nonce[:NONCE]  # an earlier challenge's nonce may follow
        place = (mine, c.nonce, self._where(conn), hello.process)
        proof, signature = prove(secret, "dialler", *place), self._sign("dialler", *place)
        conn.nonce = place[0] + c.nonce  # both, to check the answer
        self._desk.out.send(conn, replace(hello, proof=proof, signature=signature))

    def hello(self, conn: Conn, h: Hello) -> None:
        """Answer the HELLO of the dialing end: with a challenge, WELCOME or REFUSE, or not yet."""
        refusal = self._unfit(conn, h)
        if refusal is None and not conn.trusted and not (h.proof and conn.nonce):
            # This includes a proof that was asked for on a connection that is no longer known.
            conn.nonce = self._desk.ids(NONCE)
            endpoint = conn.endpoint if self._keyring is None else self._desk.me.name
            self._desk.out.send(conn, Challenge(conn.nonce, endpoint, self._desk.me.uuid))
            return
        refusal = refusal or self._unproven(conn, h) or self._unsigned(conn, h) or self._untold(conn, h)
        answer = refusal or self._ourselves(conn, h) or self._admit(conn, h)
        if isinstance(answer, Refuse):
            self.refuse(conn, h, answer)
        elif answer is not None:
            self._let_in(conn, h, answer)

    def _let_in(self, conn: Conn, h: Hello, answer: Welcome) -> None:
        conn.is_open, conn.role = True, h.role
        answer = replace(answer, wall=self._desk.clock.believed)
        if not conn.trusted:
            place = (h.nonce, conn.nonce, self._where(conn))
            proof = prove(self._secrets(h)[conn.grant], "listener", *place)
            signature = self._sign("listener", *place)
            answer = replace(answer, proof=proof, signature=signature, passwd=self._passwd_for(h))
        self._desk.out.send(conn, answer)

    def welcome(self, conn: Conn, w: Welcome) -> None:
        """Handle WELCOME: open the connection if proof, password and version fit, otherwise close it."""
        refusal = None if conn.trusted else self._impostor(conn, w) or self._untold_back(conn, w)
        refusal = refusal or self._misfit(conn, w)
        if refusal is not None:
            self._desk.out.hang_up(conn)
            self._report_refusal(w.node.name[:64], f"{refusal.reason} [{refusal.code}]", refusal.reason)
            self._denied(conn, refusal)
            return
        conn.is_open = True
        self._entered(conn, w)

    def turn_away(self, conn: Conn, r: Refuse) -> None:
        """Handle REFUSE on a connection that this node dialed."""
        self._desk.out.hang_up(conn)
        place = (conn.nonce[:NONCE], conn.nonce[NONCE:], self._where(conn), r.process)
        secret = self._desk.settings.secret
        is_theirs = same(r.proof, prove(secret, "refuser", *place))
        if r.code == "SAME_UUID" and r.process and self._is_ours(r, is_theirs, hello_text("refuser", *place)):
            self._mirrored(conn, r.process, conn.endpoint)
        # A process that took over the port of a node must not be able to stop this one.
        is_proven = conn.trusted or self._keyring is not None or is_theirs
        self._rejected(conn, replace(r, reason=plain(r.reason), hint=plain(r.hint)), is_proven)

    def _is_ours(self, r: Refuse, is_theirs: bool, text: bytes) -> bool:
        """Return whether the refusing end has proven our own key."""
        if self._keyring is None:
            return is_theirs and self._is_sealed(r.signature, text)
        return r.key == self._desk.me.key and self._keyring.verify(r.key, r.signature, text)

    def _unfit(self, conn: Conn, h: Hello) -> Refuse | None:
        oldest, newest = h.versions
        if not self._agree(conn, oldest, newest, h.speaks):
            ours = f"this node {VERSION_MIN} to {self._desk.settings.wire_version}"
            text = f"{_who(h)} supports wire versions {oldest} to {newest}, {ours}"
            return Refuse("VERSION", text, "Upgrade both to the same release.", final=True)
        if h.proof and not conn.trusted and len(h.proof) != PROOF_BYTES:
            text = f"{_who(h)} proves its secret with {len(h.proof)} bytes, this node requires {PROOF_BYTES}"
            return Refuse("VERSION", text, "Upgrade both to the same release.", final=True)
        if h.role not in (CLIENT, NODE_CONTROL, NODE_DATA, RELAY):
            return Refuse("ROLE", f"unknown role {h.role[:20]!r}", final=True)
        if h.role == RELAY and (refusal := self._no_gate(conn, h)) is not None:
            return refusal
        cluster = self._desk.settings.cluster
        if h.cluster not in (("", cluster) if h.role != RELAY else (cluster,)):
            text = f"{_who(h)} belongs to cluster {h.cluster[:64]!r}, this node to {cluster!r}"
            return Refuse("CLUSTER", text, "Start both with the same `node.cluster`.", final=True)
        if h.role == CLIENT and (len(h.key) != STREAM_KEY or h.stream != stream_of(h.key)):
            return Refuse(
                "FORGED_STREAM", f"the stream of {_who(h)} is not named after its key", NEWER, final=True
            )
        return None

    def _no_gate(self, conn: Conn, h: Hello) -> Refuse | None:
        """Return the refusal of a gateway of that site, or `None`."""
        settings, known = self._desk.settings, self._keyring.relays if self._keyring is not None else {}
        if not settings.is_relay or conn.trusted:
            text = f"{self._desk.me.name} is not a gateway to other sites"
            return Refuse("ROLE", text, "Dial a node that has `relay = true` in [site].", final=True)
        if h.site not in known or h.site not in settings.sites:
            text = f"{settings.site} does not know the site {h.site[:64]!r}"
            return Refuse(
                "SITE",
                text,
                f"Add [sites.NAME], with exactly that name, to mesh.toml at {settings.site}.",
                final=True,
            )
        if h.node is None or len(h.node.uuid) != 16 or h.node.uuid == self._desk.me.uuid:
            return Refuse("MALFORMED", "a gateway must introduce itself with its own uuid", final=True)
        return None

    def _agree(self, conn: Conn, oldest: int, newest: int, speaks: Sequence[str]) -> int:
        """Set the version and features of a connection, and return the version; 0 if there is none."""
        conn.version = agreed(oldest, newest, self._desk.settings.wire_version)
        conn.speaks = in_common(conn.version, speaks, self._desk.face.features)
        return conn.version

    # --- proofs -----------------------------------------------------------------------------------------

    def _where(self, conn: Conn) -> str:
        """Return the text that binds proofs to this connection, which no relay in between could fake."""
        if self._keyring is None:
            return conn.endpoint
        if not conn.dialled:
            return curve_place(conn.user, self._keyring.server)
        server = self._keyring.sites[conn.site].server if conn.site else self._keyring.server
        return curve_place(self._keyring.mine, server)

    def _secrets(self, h: Hello) -> Mapping[str, bytes]:
        """Return the secrets that may prove this HELLO, by the grants that they give."""
        if self._keyring is None:
            return {NODE: self._desk.settings.secret}
        if h.role == RELAY:
            return {RELAY: self._keyring.relays[h.site]}
        known = self._keyring.secrets
        return {grant: known[grant] for grant in (CLIENTS if h.role == CLIENT else (NODE,)) if grant in known}

    def _sign(self, side: str, asker: bytes, answerer: bytes, where: str, process: bytes = b"") -> bytes:
        return self._desk.settings.sign(hello_text(side, asker, answerer, where, process))

    # --- the dialing end --------------------------------------------------------------------------------

    def _unproven(self, conn: Conn, h: Hello) -> Refuse | None:
        if conn.trusted:
            conn.grant = NODE
            return None
        nonce, where = conn.nonce, self._where(conn)
        fits = [
            grant
            for grant, secret in self._secrets(h).items()
            if same(h.proof, prove(secret, "dialler", h.nonce, nonce, where, h.process))
        ]
        if fits and nonce and (self._keyring is None or conn.user):
            conn.grant = fits[0]
            return None
        if self._keyring is not None:
            if h.role == RELAY:
                text = f"{_who(h)} does not know the secret for gateways of {h.site}"
                return Refuse("WRONG_SECRET", text, JOIN_SITE, final=True)
            text = f"{_who(h)} does not know the secret of a {NODE if h.role != CLIENT else 'client'}"
            return Refuse("WRONG_SECRET", f"{text} of this mesh", JOIN, final=True)
        self._desk.counters.count("wrong_cookie")
        return Refuse("BAD_COOKIE", f"{_who(h)} does not know this user's cookie", OTHER_USER, final=True)

    def _unsigned(self, conn: Conn, h: Hello) -> Refuse | None:
        if h.role == CLIENT:
            return None if conn.trusted else self._stream_unsigned(conn, h)
        if self._keyring is None or conn.trusted:
            return None
        text = hello_text("dialler", h.nonce, conn.nonce, self._where(conn), h.process)
        if h.node is not None and self._keyring.verify(h.node.key, h.signature, text):
            return None
        return Refuse("WRONG_SIGNATURE", f"{_who(h)} did not sign with its key", final=True)

    def _stream_unsigned(self, conn: Conn, h: Hello) -> Refuse | None:
        text = stream_text(h.nonce, conn.nonce, self._where(conn), self._desk.me.uuid)
        if self._desk.settings.verify(h.key, h.signature, text):
            return None
        what = f"{_who(h)} did not sign with the key of its stream"
        return Refuse("FORGED_STREAM", what, final=True)

    def _untold(self, conn: Conn, h: Hello) -> Refuse | None:
        """Return the refusal if this node requires a password and HELLO lacks the right one."""
        if self._password is None or conn.trusted or h.role == RELAY:
            return None
        why = self._password.refuse(conn.user, h.passwd, self._desk.clock.now)
        hint = f"Clients: `mesh join --passwd`. Nodes: passwd in [nodes.{self._desk.me.name}]."
        return Refuse("PASSWORD", f"{self._desk.me.name}: {why}", hint, final=True) if why else None

    def _ourselves(self, conn: Conn, h: Hello) -> Refuse | None:
        """Return the refusal of an end that has the identity of this node, proven or not."""
        if h.node is None or h.node.uuid != self._desk.me.uuid or h.role in (CLIENT, RELAY):
            return None
        if h.process and not conn.trusted and self._is_our_hello(conn, h, h.node.key):
            self._mirrored(conn, h.process, h.node.address)
        text = f"{h.node.name} has the identity of this node"
        return Refuse(
            "SAME_UUID",
            text,
            "Its data directory may be a copy: start the copy with another `--data DIR`.",
            final=True,
        )

    def _is_our_hello(self, conn: Conn, h: Hello, key: bytes) -> bool:
        """Return whether the dialing end has proven our own key.

        The signature of HELLO was checked before.
        """
        if self._keyring is not None:
            return key == self._desk.me.key
        text = hello_text("dialler", h.nonce, conn.nonce, self._where(conn), h.process)
        return self._is_sealed(h.signature, text)

    def _is_sealed(self, signature: bytes, text: bytes) -> bool:
        """Return whether this node or a copy of it signed the text."""
        return signature != b"" and same(signature, self._desk.settings.sign(text))

    def refuse(self, conn: Conn, h: Hello, answer: Refuse) -> None:
        """Refuse an end, report it, and hang up."""
        self._desk.counters.count("hello_refused")
        if h.role == CLIENT:
            self._desk.refused_clients.add(h.client, answer.code, answer.reason, self._desk.clock.now)
        key = f" with key {conn.user[:8]}…" if conn.user else ""
        text = f"{h.role[:20]} {_who(h)}{key}: {answer.reason} [{answer.code}]"
        if answer.code == "DUEL":  # both dialed; not an error
            if self._is_news(conn.user or _who(h), answer.code):
                self._desk.out.note("info", f"refused {text}", ACCESS)
        else:
            self._report_refusal(conn.user or _who(h), text, answer.reason)
        if answer.code == "SAME_UUID":
            answer = replace(answer, process=self._desk.process, key=self._desk.me.key)
        if conn.nonce:
            place = (h.nonce, conn.nonce, self._where(conn), answer.process)
            if self._keyring is None:  # over CURVE only a node could have sent it
                answer = replace(answer, proof=prove(self._desk.settings.secret, "refuser", *place))
            if answer.code == "SAME_UUID":
                answer = replace(answer, signature=self._sign("refuser", *place))
        self._desk.out.send(conn, answer)
        self._desk.out.hang_up(conn)

    def _report_refusal(self, who: str, text: str, why: str) -> None:
        if self._is_news(who, why):
            self._desk.event("refused", text, level="warning")

    def _is_news(self, who: str, why: str) -> bool:
        """Return whether to report a refusal: repetitions must not fill the events or the disk."""
        return self._desk.refusals.is_news(who, why, self._desk.clock.now)

    # --- the listening end ------------------------------------------------------------------------------

    def _impostor(self, conn: Conn, w: Welcome) -> Refuse | None:
        """Return the refusal of a listener that does not prove the secret.

        The proof is required even if the listener asked for none of ours.
        """
        keyring = self._keyring
        secret = self._desk.settings.secret if keyring is None else keyring.secrets[NODE]
        if keyring is not None and conn.site:
            secret = keyring.sites[conn.site].secret
        mine, theirs = conn.nonce[:NONCE], conn.nonce[NONCE:]
        where = self._where(conn)
        if not theirs or not same(w.proof, prove(secret, "listener", mine, theirs, where)):
            if keyring is None:
                text = f"{conn.endpoint} does not know this user's cookie"
                return Refuse("BAD_COOKIE", text, OTHER_USER, final=True)
            what = "the secret for gateways" if conn.site else "the secret of a node"
            return Refuse("WRONG_SECRET", f"{conn.endpoint} does not know {what}", final=True)
        text_signed = hello_text("listener", mine, theirs, where)
        if keyring is not None and not keyring.verify(w.node.key, w.signature, text_signed):
            return Refuse("WRONG_SIGNATURE", f"{conn.endpoint} did not sign with its key", final=True)
        return None

    def _misfit(self, conn: Conn, w: Welcome) -> Refuse | None:
        """Return the refusal of a version that this node has not offered."""
        if self._agree(conn, w.version, w.version, w.speaks):
            return None
        return Refuse(
            "VERSION", f"{w.node.name} chose wire version {w.version}, which this node does not support"
        )

    def _passwd_for(self, h: Hello) -> str:
        """Return our password for a node that dialed us; clients require none."""
        if self._keyring is None or h.node is None or h.role == RELAY:
            return ""
        return self._keyring.passwds.get(h.node.name) or self._keyring.passwds.get("", "")

    def _untold_back(self, conn: Conn, w: Welcome) -> Refuse | None:
        """Return the refusal if a dialed node does not send the password that this node requires."""
        if self._password is None or conn.site:
            return None
        why = self._password.refuse(w.node.key.hex(), w.passwd, self._desk.clock.now)
        return (
            Refuse("PASSWORD", f"{w.node.name} did not send the password of this node: {why}")
            if why
            else None
        )


def plain(text: str) -> str:
    """Return another node's text, shortened and safe for a terminal and a log."""
    return harmless(text[:LONGEST])


def is_too_long(conn: Conn, frames: list[bytes]) -> bool:
    """Return whether a message is larger than allowed before admission."""
    return not (conn.is_open or conn.dialled) and sum(map(len, frames)) > PENDING


def _who(h: Hello) -> str:
    return repr(h.node.name if h.node else h.client or "a client")[:80]
