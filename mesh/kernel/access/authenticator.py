"""The handshake of every connection, from both ends."""

# Law 1: the dialing end sends HELLO first; a command that does not fit the handshake is not handled.
# Law 2: this module only decides whether to admit the other end; `admit` does the rest.

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from mesh.kernel.access.connection_proofs import NONCE, ConnectionProofs
from mesh.kernel.access.handshake_checks import COPIED, HandshakeChecks, who_of
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.loglevels import ACCESS
from mesh.printable import harmless
from mesh.wire.commands import CLIENT, RELAY, Challenge, Hello, Refuse, Welcome
from mesh.wire.limits import KIB, VERSION_MIN

LONGEST = 300  # characters of a reason
PENDING = 4 * KIB  # bytes of a message before admission
SOFTWARE = "heronry 0.1.0"


def hello_of(context: NodeContext, conn: Conn, role: str) -> Hello:
    """Return the HELLO of this node for a dialed connection, with the fields that all roles have."""
    return Hello(
        (VERSION_MIN, context.settings.wire_version),
        role,
        context.settings.cluster,
        conn.nonce,
        node=context.me,
        software=SOFTWARE,
        process=context.process,
        speaks=context.face.features,
        wall=context.clock.believed,
    )


class Authenticator:
    """The handshakes of a node.

    `greet` returns our HELLO. `admit` answers a proven HELLO, or returns `None` to answer later. `entered`
    handles a valid WELCOME to our HELLO. `rejected` handles a REFUSE, and receives whether the REFUSE is
    proven. `denied` handles our own refusal of the end that we dialed. `mirrored` receives the process and
    address of an end that has proven our own key.
    """

    def __init__(
        self,
        context: NodeContext,
        greet: Callable[[Conn], Hello],
        admit: Callable[[Conn, Hello], Welcome | Refuse | None],
        entered: Callable[[Conn, Welcome], None],
        rejected: Callable[[Conn, Refuse, bool], None],
        denied: Callable[[Conn, Refuse], None],
        mirrored: Callable[[Conn, bytes, str], None],
    ) -> None:
        self._context = context
        self._greet = greet
        self._admit = admit
        self._entered = entered
        self._rejected = rejected
        self._denied = denied
        self._mirrored = mirrored
        self._proofs = ConnectionProofs(context)
        self._checks = HandshakeChecks(context, self._proofs)

    def knock(self, conn: Conn) -> None:
        """Send HELLO on a connection that this node dialed."""
        conn.nonce = self._context.ids(NONCE)
        self._context.out.send(conn, self._greet(conn))

    def challenge(self, conn: Conn, c: Challenge) -> None:
        """Answer a CHALLENGE with a HELLO that contains the proofs.

        Without keys, an end that names another endpoint than the dialed one is refused instead.
        """
        hello, keyring = self._greet(conn), self._proofs.keyring
        if keyring is not None and not conn.site:
            # CURVE excludes relays, so the field has the name of the node, to choose its password.
            passwds = keyring.passwds
            hello = replace(hello, passwd=hello.passwd or passwds.get(c.endpoint) or passwds.get("", ""))
        elif keyring is None and c.endpoint != conn.endpoint:
            # A relay between the ends could pass our proof to another listener.
            there = plain(c.endpoint)
            text = f"{conn.endpoint} identifies itself as {there}, which is not the dialed address"
            self._context.out.hang_up(conn)
            self._denied(conn, Refuse("ENDPOINT", text))
            return
        self._context.out.send(conn, self._proofs.prove_hello(conn, hello, c.nonce))

    def hello(self, conn: Conn, h: Hello) -> None:
        """Answer a HELLO with CHALLENGE, WELCOME or REFUSE, unless `admit` answers later."""
        refusal = self._checks.unfit(conn, h)
        if refusal is None and not conn.trusted and not (h.proof and conn.nonce):
            # This includes a proof that was asked for on a connection that is no longer known.
            conn.nonce = self._context.ids(NONCE)
            endpoint = conn.endpoint if self._proofs.keyring is None else self._context.me.name
            self._context.out.send(conn, Challenge(conn.nonce, endpoint, self._context.me.uuid))
            return
        refusal = refusal or self._checks.unproven(conn, h) or self._ourselves(conn, h)
        answer = refusal or self._admit(conn, h)
        if isinstance(answer, Refuse):
            self.refuse_hello(conn, h, answer)
        elif answer is not None:
            self._let_in(conn, h, answer)

    def _ourselves(self, conn: Conn, h: Hello) -> Refuse | None:
        """Return the refusal of an end that has the identity of this node, proven or not."""
        if h.node is None or h.node.uuid != self._context.me.uuid or h.role in (CLIENT, RELAY):
            return None
        if h.process and not conn.trusted and self._proofs.is_our_hello(conn, h, h.node.key):
            self._mirrored(conn, h.process, h.node.address)
        text = f"{h.node.name} has the identity of {self._context.me.name}"
        return Refuse("SAME_UUID", text, COPIED, final=True)

    def _let_in(self, conn: Conn, h: Hello, answer: Welcome) -> None:
        conn.is_open, conn.role = True, h.role
        answer = replace(answer, wall=self._context.clock.believed)
        if not conn.trusted:
            answer = replace(self._proofs.prove_welcome(conn, h, answer), passwd=self._passwd_for(h))
        self._context.out.send(conn, answer)

    def _passwd_for(self, h: Hello) -> str:
        """Return our password for the node that dialed us; clients require none."""
        keyring = self._proofs.keyring
        if keyring is None or h.node is None or h.role == RELAY:
            return ""
        return keyring.passwds.get(h.node.name) or keyring.passwds.get("", "")

    def welcome(self, conn: Conn, w: Welcome) -> None:
        """Handle WELCOME: open the connection if proof, password and version fit, otherwise close it."""
        refusal = self._checks.unfit_welcome(conn, w)
        if refusal is not None:
            self._context.out.hang_up(conn)
            self._report_refusal(w.node.name[:64], f"{refusal.reason} [{refusal.code}]", refusal.reason)
            self._denied(conn, refusal)
            return
        conn.is_open = True
        self._entered(conn, w)

    def turn_away(self, conn: Conn, r: Refuse) -> None:
        """Handle REFUSE on a connection that this node dialed."""
        self._context.out.hang_up(conn)
        if r.code == "SAME_UUID" and r.process and self._proofs.is_our_refusal(conn, r):
            self._mirrored(conn, r.process, conn.endpoint)
        # A process that took over the port of a node must not be able to stop this one.
        has_keys = self._proofs.keyring is not None
        is_proven = conn.trusted or has_keys or self._proofs.is_refusal_proven(conn, r)
        self._rejected(conn, replace(r, reason=plain(r.reason), hint=plain(r.hint)), is_proven)

    def refuse_hello(self, conn: Conn, h: Hello, answer: Refuse) -> None:
        """Refuse the dialing end, report the refusal, and hang up."""
        who = who_of(h)
        self._context.counters.add_count("hello_refused")
        if h.role == CLIENT:
            self._context.refused_clients.add(h.client, answer.code, answer.reason, self._context.clock.now)
        key = f" with key {conn.user[:8]}…" if conn.user else ""
        text = f"{h.role[:20]} {who}{key}: {answer.reason} [{answer.code}]"
        if answer.code == "DUEL":  # both dialed; not an error
            if self._is_news(conn.user or who, answer.code):
                self._context.out.log_line("info", f"refused {text}", ACCESS)
        else:
            self._report_refusal(conn.user or who, text, answer.reason)
        if answer.code == "SAME_UUID":
            answer = replace(answer, process=self._context.process, key=self._context.me.key)
        self._context.out.send(conn, self._proofs.prove_refusal(conn, h, answer))
        self._context.out.hang_up(conn)

    def _report_refusal(self, who: str, text: str, why: str) -> None:
        if self._is_news(who, why):
            self._context.event("refused", text, level="warning")

    def _is_news(self, who: str, why: str) -> bool:
        """Return whether to report a refusal: repetitions must not fill the events or the disk."""
        return self._context.refusals.is_news(who, why, self._context.clock.now)


def plain(text: str) -> str:
    """Return another node's text, shortened and safe for a terminal and a log."""
    return harmless(text[:LONGEST])


def is_too_long(conn: Conn, frames: list[bytes]) -> bool:
    """Return whether a message on an inbound connection is larger than allowed before admission."""
    return not (conn.is_open or conn.dialled) and sum(map(len, frames)) > PENDING
