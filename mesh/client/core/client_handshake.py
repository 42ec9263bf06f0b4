"""The client's side of a handshake: its identity, its proofs, and its checks of the node."""

# Law 1: a proof and a signature answer one challenge; each connection has a new nonce.
# Law 2: over TCP, a WELCOME counts only from the node that requested the proof, and only if that node proves
#        that it knows the secret and, in a mesh with keys, that it has its own key.
# Law 3: the session number and token of the last WELCOME from a site are presented again in that site only.

from __future__ import annotations

from dataclasses import dataclass

from mesh.client.access import Access
from mesh.client.core.framing import SPEAKS
from mesh.client.core.places import Place, Source
from mesh.client.operating import marks
from mesh.errors import BadName, RemoteError
from mesh.names import SessionName
from mesh.proof import stream_text
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c
from mesh.wire.limits import VERSION_MAX, VERSION_MIN, VISITS
from mesh.wire.spoken import agreed


@dataclass(slots=True)
class SiteSession:
    """The session of a client in one site: its number, requested or assigned, and its last node there."""

    number: int
    home: str = ""  # the node in the name of the session
    token: bytes = b""
    node: bytes = b""  # uuid
    boot: int = 0
    attach: int = 0  # number of the last visit
    can_move: bool = False  # the node supports sessions that move


class ClientHandshake:
    """The identity of a client across its connections, and the state of the current handshake.

    `name` contains the client, the requested session number, and whether the user named the client.
    `has_others` means that the user named several nodes.
    """

    def __init__(self, name: tuple[str, int, bool], stream: StreamKey, has_others: bool = False) -> None:
        self.access: Access = Access("")
        self.site: str = ""  # of the last node; "" is the first one
        self._client, self._number, self._named = name
        self._session = SiteSession(self._number)
        self._sessions: dict[str, SiteSession] = {"": self._session}  # by site
        self._stream = stream
        self._dialed = ""  # site of the node that was dialed last
        self._nonces = (b"", b"")
        self._asked_by = b""  # uuid of the node that wants proof
        self._is_visit = False  # the node dialed is another one than the last
        self._has_others = has_others

    @property
    def session(self) -> SiteSession:
        """The session in the site of the last node."""
        return self._session

    def restore_session(self, session: SiteSession) -> None:
        """Present a session that an earlier client with the same key had, on the first connection."""
        self._session = self._sessions[""] = session

    @property
    def node(self) -> bytes:
        """The uuid of the last node, or empty bytes."""
        return self._session.node

    @property
    def boot(self) -> int:
        """The boot of the last node."""
        return self._session.boot

    def may_visit(self, place: Place) -> bool:
        """Return whether the client may go to another node than its last one.

        A client without a session may. One with a session may if its user named several nodes, or if a node
        forwards the client. In another site it begins a new session.
        """
        if place.site != self.site:
            return self._has_others
        is_allowed = self._has_others or place.source is Source.FORWARD
        return not self._session.token or (self._session.can_move and is_allowed)

    def record_visit(self, attach: int) -> None:
        """Present the number of the last visit, so that a node can detect an outdated HELLO."""
        self._session.attach = attach

    def begin_handshake(self, access: Access, nonce: bytes, is_visit: bool = False, site: str = "") -> None:
        """Begin the handshake of a new connection; on a visit, the session moves to another node."""
        self.access, self._nonces, self._dialed = access, (nonce, b""), site
        self._is_visit = is_visit and bool(self._session.token)

    def _presented(self) -> SiteSession:
        """Return the session in the site of the dialed node, which may be a new one."""
        return self._sessions.get(self._dialed) or SiteSession(self._number)

    def hello(self, have: int, proof: bytes = b"", signature: bytes = b"") -> c.Hello:
        """Return HELLO; `have` is the number of the last command received over the link."""
        is_visit, session = self._is_visit, self._presented()
        return c.Hello(
            (VERSION_MIN, VERSION_MAX),
            c.CLIENT,
            "",
            self._nonces[0],
            proof,
            client=self._client,
            session=session.number,
            stream=self._stream.id,
            token=session.token,
            boot_seen=0 if is_visit else session.boot,
            have=0 if is_visit else have,
            passwd=self.access.passwd,
            key=self._stream.public,
            signature=signature,
            speaks=(*SPEAKS, *marks()),
            named=self._named,
            home=session.home,
            attach=session.attach,
        )

    def prove(self, challenge: c.Challenge, have: int) -> c.Hello:
        """Return HELLO with the proofs that a challenge asks for.

        Raises: RemoteError if a client without keys dialed another address than the challenge names.
        """
        it = self.access
        if it.curve is None and challenge.endpoint != it.address:
            what = f"{it.address} identifies itself as {challenge.endpoint}, which is not the dialed address"
            raise RemoteError(what)
        self._nonces, self._asked_by = (self._nonces[0], challenge.nonce), challenge.uuid
        signature = self._stream.sign(stream_text(*self._nonces, it.where, challenge.uuid))
        return self.hello(have, it.proof(*self._nonces), signature)

    def check_welcome(self, w: c.Welcome) -> c.Refuse | None:
        """Return a refusal if the node is not the expected one or has no common wire version, else None."""
        is_other = bool(self._nonces[1]) and w.node.uuid != self._asked_by  # a man in the middle
        if is_other or not self.access.is_proven(w.proof, *self._nonces):
            return c.Refuse(*self.access.impostor, final=True)
        code, reason, hint = self.access.check_node(w.node, w.signature, *self._nonces)
        if code:
            return c.Refuse(code, reason, hint, final=True)
        if not agreed(w.version, w.version):
            text = f"{w.node.name} uses wire version {w.version}, which this client does not support"
            return c.Refuse("VERSION", text, "Upgrade both to the same release.", final=True)
        return None

    def adopt_session(self, w: c.Welcome) -> bool:
        """Adopt the session that WELCOME assigns, and return whether the site, node or boot is another one.

        Raises: RemoteError for an invalid session name.
        """
        # A node that was killed may assign another number; the token is valid for that one.
        name = _parsed(w.session)
        session = self._sessions.setdefault(self._dialed, self._presented())
        is_new = self.site != self._dialed or (w.node.uuid, w.node.boot) != (session.node, session.boot)
        session.number, session.home = name.session or 0, name.node or ""
        session.token, session.node, session.boot = w.token, w.node.uuid, w.node.boot
        session.can_move = VISITS in w.speaks
        self._session, self.site = session, self._dialed
        return is_new


def _parsed(session: str) -> SessionName:
    """Return the name of a session. Raises: RemoteError."""
    try:
        return SessionName.parse(session)
    except BadName as error:
        raise RemoteError(f"the node assigned an invalid session name: {error.what.rstrip('.')}") from None
