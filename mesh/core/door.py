"""Who may come in? The handshake of every connection, from both ends."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from mesh.core.conn import Conn
from mesh.core.desk import Desk
from mesh.core.proof import PROOF_BYTES, prove, same
from mesh.wire.commands import CLIENT, NODE_CONTROL, NODE_DATA, Challenge, Hello, Refuse, Welcome
from mesh.wire.limits import VERSION_MAX, VERSION_MIN

NONCE = 16
SOFTWARE = "heronry 0.1.0"

# Rule 1: whoever dials says HELLO first; nothing else is listened to before.
# Rule 2: on a socket that others than this user could open, HELLO must prove the cookie, both ways.
# Rule 3: here it is decided whether somebody may come in; what then follows is the business of `admit`.


class Door:
    """`admit` answers a proven HELLO; `entered` is told of a WELCOME to our own HELLO."""

    def __init__(
        self,
        desk: Desk,
        greet: Callable[[Conn], Hello],
        admit: Callable[[Conn, Hello], Welcome | Refuse],
        entered: Callable[[Conn, Welcome], None],
        rejected: Callable[[Conn, Refuse], None],
    ) -> None:
        self._desk = desk
        self._greet = greet
        self._admit = admit
        self._entered = entered
        self._rejected = rejected

    def knock(self, conn: Conn) -> None:
        """First words on a connection that we dialled."""
        conn.nonce = self._desk.ids(NONCE)
        self._desk.send(conn, self._greet(conn))

    def challenge(self, conn: Conn, c: Challenge) -> None:
        """The other side wants proof."""
        if c.endpoint != conn.endpoint:
            # Somebody between us could pass our proof on to a listener elsewhere.
            text = f"{conn.endpoint} says that it is {c.endpoint}: not who was dialled"
            self.turn_away(conn, Refuse("ENDPOINT", text))
            return
        hello = self._greet(conn)
        proof = prove(self._desk.settings.secret, "dialler", conn.nonce, c.nonce, c.endpoint)
        conn.nonce += c.nonce  # both, to check the answer
        self._desk.send(conn, _with(hello, proof=proof))

    def hello(self, conn: Conn, h: Hello) -> None:
        """Somebody dialled us."""
        refusal = self._unfit(conn, h)
        if refusal is None and not conn.trusted and not h.proof:
            conn.nonce = self._desk.ids(NONCE)
            self._desk.send(conn, Challenge(conn.nonce, conn.endpoint))
            return
        if refusal is None and not conn.trusted:
            refusal = self._unproven(conn, h)
        answer = refusal or self._admit(conn, h)
        if isinstance(answer, Refuse):
            self._desk.count("hello_refused")
            level = "info" if answer.code == "DUEL" else "warning"  # both dialled: nothing is wrong
            self._desk.note(level, f"refused {h.role} {_who(h)}: {answer.reason} [{answer.code}]")
            self._desk.send(conn, answer)
            self._desk.hang_up(conn)
            return
        conn.is_open, conn.role = True, h.role
        proof = b"" if conn.trusted else self._prove_back(conn, h)
        self._desk.send(conn, _with(answer, proof=proof))

    def welcome(self, conn: Conn, w: Welcome) -> None:
        """We are in, if the other side is who it should be."""
        secret = self._desk.settings.secret
        mine, theirs = conn.nonce[:NONCE], conn.nonce[NONCE:]
        # Also where it asked for no proof of ours: whoever listens there must know the cookie.
        proof = prove(secret, "listener", mine, theirs, conn.endpoint)
        if not conn.trusted and not same(w.proof, proof):
            self.turn_away(
                conn, Refuse("BAD_COOKIE", f"{conn.endpoint} does not know this user's cookie", final=True)
            )
            return
        conn.is_open = True
        self._entered(conn, w)

    def turn_away(self, conn: Conn, r: Refuse) -> None:
        """We, or they, say no to a connection that we dialled."""
        self._desk.hang_up(conn)
        self._rejected(conn, r)

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

    def _unproven(self, conn: Conn, h: Hello) -> Refuse | None:
        wanted = prove(self._desk.settings.secret, "dialler", h.nonce, conn.nonce, conn.endpoint)
        if conn.nonce and len(h.proof) == PROOF_BYTES and same(h.proof, wanted):
            return None
        self._desk.count("wrong_cookie")
        hint = "Both must run as the same user, with the same state directory (MESH_STATE_DIR)."
        return Refuse("BAD_COOKIE", f"{_who(h)} does not know this user's cookie", hint, final=True)

    def _prove_back(self, conn: Conn, h: Hello) -> bytes:
        return prove(self._desk.settings.secret, "listener", h.nonce, conn.nonce, conn.endpoint)


def _who(h: Hello) -> str:
    return repr(h.node.name if h.node else h.client or "a client")[:80]


def _with(command: Hello | Welcome, **changes: object) -> Hello | Welcome:
    return replace(command, **changes)
