"""Who may come in? The handshake of every connection, from both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from mesh.core.conn import NODE, Conn
from mesh.core.desk import Desk
from mesh.core.password import Password
from mesh.core.proof import PROOF_BYTES, curve_place, hello_text, prove, same
from mesh.wire.commands import CLIENT, NODE_CONTROL, NODE_DATA, Challenge, Hello, Refuse, Welcome
from mesh.wire.limits import KIB, VERSION_MAX, VERSION_MIN

NONCE = 16
LONGEST = 300  # letters of what somebody gives as a reason
PENDING = 4 * KIB  # bytes of what somebody may say before it is in
SOFTWARE = "heronry 0.1.0"
TOLD, SAY_AGAIN = 256, 60.0  # refusals told as events, in so many s, and none of them twice
JOIN = "Type `mesh join TOKEN` there; `mesh token` on a node of this mesh prints one."
OTHER_USER = "Both must run as the same user, with the same state directory (MESH_STATE_DIR)."

# Rule 1: whoever dials says HELLO first; nothing else is listened to before.
# Rule 2: on a socket that others than this user could open, HELLO must prove a secret, both ways: in a mesh
#         with keys that of a role, and nodes sign it; without keys the user's cookie.
# Rule 3: what is proven holds for one connection only: nonces of both, and both CURVE keys or the endpoint.
# Rule 4: here it is decided whether somebody may come in; what then follows is the business of `admit`.


class Door:
    """`admit` answers a proven HELLO; `entered` is told of a WELCOME to our own HELLO, `rejected` of a
    REFUSE to it (and whether that is proven), and `denied` when we do not want whoever welcomes us."""

    def __init__(
        self,
        desk: Desk,
        greet: Callable[[Conn], Hello],
        admit: Callable[[Conn, Hello], Welcome | Refuse],
        entered: Callable[[Conn, Welcome], None],
        rejected: Callable[[Conn, Refuse, bool], None],
        denied: Callable[[Conn, Refuse], None],
    ) -> None:
        self._desk = desk
        self._greet = greet
        self._admit = admit
        self._entered = entered
        self._rejected = rejected
        self._denied = denied
        self._keyring = desk.settings.keyring
        passwd = self._keyring.passwd if self._keyring is not None else ""
        self._password = Password(passwd) if passwd else None
        self._told: dict[tuple[str, str], float] = {}  # (who, why) -> when

    def knock(self, conn: Conn) -> None:
        """First words on a connection that we dialled."""
        conn.nonce = self._desk.ids(NONCE)
        self._desk.send(conn, self._greet(conn))

    def challenge(self, conn: Conn, c: Challenge) -> None:
        """The other side wants proof."""
        hello = self._greet(conn)
        secret = self._desk.settings.secret
        if self._keyring is not None:
            # Over CURVE nobody is between us; so the field tells the name of the node, for its password.
            passwds, secret = self._keyring.passwds, self._keyring.secrets[NODE]
            hello = replace(hello, passwd=hello.passwd or passwds.get(c.endpoint) or passwds.get("", ""))
        elif c.endpoint != conn.endpoint:
            # Somebody between us could pass our proof on to a listener elsewhere.
            text = f"{conn.endpoint} says that it is {plain(c.endpoint)}: not who was dialled"
            self._desk.hang_up(conn)
            self._denied(conn, Refuse("ENDPOINT", text))
            return
        proof = prove(secret, "dialler", conn.nonce, c.nonce, self._where(conn))
        signature = self._sign(conn, "dialler", conn.nonce, c.nonce)
        conn.nonce += c.nonce  # both, to check the answer
        self._desk.send(conn, replace(hello, proof=proof, signature=signature))

    def hello(self, conn: Conn, h: Hello) -> None:
        """Somebody dialled us."""
        refusal = self._unfit(conn, h)
        if refusal is None and not conn.trusted and not h.proof:
            conn.nonce = self._desk.ids(NONCE)
            endpoint = conn.endpoint if self._keyring is None else self._desk.me.name
            self._desk.send(conn, Challenge(conn.nonce, endpoint))
            return
        refusal = refusal or self._unproven(conn, h) or self._unsigned(conn, h) or self._untold(conn, h)
        answer = refusal or self._admit(conn, h)
        if isinstance(answer, Refuse):
            self._refuse(conn, h, answer)
            return
        conn.is_open, conn.role = True, h.role
        if not conn.trusted:
            proof = prove(self._secrets(h)[conn.grant], "listener", h.nonce, conn.nonce, self._where(conn))
            signature = self._sign(conn, "listener", h.nonce, conn.nonce) if h.node is not None else b""
            answer = replace(answer, proof=proof, signature=signature, passwd=self._passwd_for(h))
        self._desk.send(conn, answer)

    def welcome(self, conn: Conn, w: Welcome) -> None:
        """We are in, if the other side is who it should be."""
        refusal = None if conn.trusted else self._impostor(conn, w) or self._untold_back(w)
        if refusal is not None:
            self._desk.hang_up(conn)
            self._tell(w.node.name[:64], f"{refusal.reason} [{refusal.code}]", refusal.reason)
            self._denied(conn, refusal)
            return
        conn.is_open = True
        self._entered(conn, w)

    def turn_away(self, conn: Conn, r: Refuse) -> None:
        """They say no to a connection that we dialled."""
        self._desk.hang_up(conn)
        mine, theirs = conn.nonce[:NONCE], conn.nonce[NONCE:]
        secret = self._desk.settings.secret
        is_theirs = same(r.proof, prove(secret, "refuser", mine, theirs, self._where(conn)))
        # Whoever got hold of a port where a node was shall not be able to end this one.
        is_proven = conn.trusted or self._keyring is not None or is_theirs
        self._rejected(conn, replace(r, reason=plain(r.reason), hint=plain(r.hint)), is_proven)

    def _unfit(self, conn: Conn, h: Hello) -> Refuse | None:
        oldest, newest = h.versions
        if oldest > VERSION_MAX or newest < VERSION_MIN:
            ours = f"this node {VERSION_MIN} to {VERSION_MAX}"
            text = f"{_who(h)} speaks wire version {oldest} to {newest}, {ours}"
            return Refuse("VERSION", text, "Bring both to the same release.", final=True)
        if h.role not in (CLIENT, NODE_CONTROL, NODE_DATA):
            return Refuse("ROLE", f"no role {h.role[:20]!r}", final=True)
        cluster = self._desk.settings.cluster
        if h.cluster not in ("", cluster):
            text = f"{_who(h)} belongs to cluster {h.cluster[:64]!r}, this node to {cluster!r}"
            return Refuse("CLUSTER", text, "Start both with the same node.cluster.", final=True)
        return None

    # --- what is proven -----------------------------------------------------------------------------

    def _where(self, conn: Conn) -> str:
        """Where the two ends meet, as both see it and nobody in between could."""
        if self._keyring is None:
            return conn.endpoint
        return curve_place(self._keyring.mine if conn.dialled else conn.user, self._keyring.server)

    def _secrets(self, h: Hello) -> Mapping[str, bytes]:
        """Those with which this HELLO may be proven, by what they grant."""
        if self._keyring is None:
            return {NODE: self._desk.settings.secret}
        return self._keyring.secrets if h.role == CLIENT else {NODE: self._keyring.secrets[NODE]}

    def _sign(self, conn: Conn, side: str, asker: bytes, answerer: bytes) -> bytes:
        if self._keyring is None:
            return b""
        return self._keyring.sign(hello_text(side, asker, answerer, self._where(conn)))

    # --- who comes in -------------------------------------------------------------------------------

    def _unproven(self, conn: Conn, h: Hello) -> Refuse | None:
        if conn.trusted:
            conn.grant = NODE
            return None
        nonce, where = conn.nonce, self._where(conn)
        fits = [
            grant
            for grant, secret in self._secrets(h).items()
            if same(h.proof, prove(secret, "dialler", h.nonce, nonce, where))
        ]
        if fits and nonce and len(h.proof) == PROOF_BYTES and (self._keyring is None or conn.user):
            conn.grant = fits[0]
            return None
        if self._keyring is not None:
            text = f"{_who(h)} does not know the secret of a {NODE if h.role != CLIENT else 'client'}"
            return Refuse("WRONG_SECRET", f"{text} of this mesh", JOIN, final=True)
        self._desk.count("wrong_cookie")
        return Refuse("BAD_COOKIE", f"{_who(h)} does not know this user's cookie", OTHER_USER, final=True)

    def _unsigned(self, conn: Conn, h: Hello) -> Refuse | None:
        if self._keyring is None or conn.trusted or h.role == CLIENT:
            return None
        text = hello_text("dialler", h.nonce, conn.nonce, self._where(conn))
        if h.node is not None and self._keyring.verify(h.node.key, h.signature, text):
            return None
        return Refuse("WRONG_SIGNATURE", f"{_who(h)} did not sign with its key", final=True)

    def _untold(self, conn: Conn, h: Hello) -> Refuse | None:
        """Has it not told the password, where this node wants one?"""
        if self._password is None or conn.trusted:
            return None
        why = self._password.refuse(conn.user, h.passwd, self._desk.now)
        hint = f"Clients: `mesh join TOKEN --passwd`. Nodes: passwd in [nodes.{self._desk.me.name}]."
        return Refuse("PASSWORD", f"{self._desk.me.name}: {why}", hint, final=True) if why else None

    def _refuse(self, conn: Conn, h: Hello, answer: Refuse) -> None:
        self._desk.count("hello_refused")
        key = f" with key {conn.user[:8]}…" if conn.user else ""
        text = f"{h.role[:20]} {_who(h)}{key}: {answer.reason} [{answer.code}]"
        if answer.code == "DUEL":  # both dialled, and nothing is wrong
            self._desk.note("info", f"refused {text}")
        else:
            self._tell(conn.user or _who(h), text, answer.reason)
        if conn.nonce and self._keyring is None:  # over CURVE nobody else could have said it
            proof = prove(self._desk.settings.secret, "refuser", h.nonce, conn.nonce, self._where(conn))
            answer = replace(answer, proof=proof)
        self._desk.send(conn, answer)
        self._desk.hang_up(conn)

    def _tell(self, who: str, text: str, why: str) -> None:
        if self._is_news(who, why):
            self._desk.event("refused", text, level="warning")
        else:  # it asks and asks
            self._desk.note("info", f"refused {text}")

    def _is_news(self, who: str, why: str) -> bool:
        """Nobody who asks all the time shall push all else out of the events."""
        now = self._desk.now
        self._told = {told: at for told, at in self._told.items() if now - at < SAY_AGAIN}
        if (who, why) in self._told or len(self._told) >= TOLD:
            return False
        self._told[who, why] = now
        return True

    # --- who let us in ------------------------------------------------------------------------------

    def _impostor(self, conn: Conn, w: Welcome) -> Refuse | None:
        """Also where it asked for no proof of ours: whoever listens there must know the secret."""
        keyring = self._keyring
        secret = self._desk.settings.secret if keyring is None else keyring.secrets[NODE]
        mine, theirs = conn.nonce[:NONCE], conn.nonce[NONCE:]
        where = self._where(conn)
        if not theirs or not same(w.proof, prove(secret, "listener", mine, theirs, where)):
            if keyring is None:
                text = f"{conn.endpoint} does not know this user's cookie"
                return Refuse("BAD_COOKIE", text, OTHER_USER, final=True)
            return Refuse("WRONG_SECRET", f"{conn.endpoint} does not know the secret of a node", final=True)
        text_signed = hello_text("listener", mine, theirs, where)
        if keyring is not None and not keyring.verify(w.node.key, w.signature, text_signed):
            return Refuse("WRONG_SIGNATURE", f"{conn.endpoint} did not sign with its key", final=True)
        return None

    def _passwd_for(self, h: Hello) -> str:
        """What a node that dialled us is told; clients ask for none."""
        if self._keyring is None or h.node is None:
            return ""
        return self._keyring.passwds.get(h.node.name) or self._keyring.passwds.get("", "")

    def _untold_back(self, w: Welcome) -> Refuse | None:
        """A password that this node wants is wanted from whom it dials, too."""
        if self._password is None:
            return None
        why = self._password.refuse(w.node.key.hex(), w.passwd, self._desk.now)
        return Refuse("PASSWORD", f"{w.node.name} did not tell our password: {why}") if why else None


def plain(text: str) -> str:
    """What somebody else says, fit for a terminal and for a log."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:LONGEST])


def is_too_long(conn: Conn, frames: list[bytes]) -> bool:
    """Is this more than somebody may say who is not in yet?"""
    return not (conn.is_open or conn.dialled) and sum(map(len, frames)) > PENDING


def _who(h: Hello) -> str:
    return repr(h.node.name if h.node else h.client or "a client")[:80]
