"""The node of each session: the last node that its client visited, as certificates prove."""

# Law 1: the certificate with the highest attach number counts. An older one changes nothing.
# Law 2: a certificate counts only if the key of the session's stream has signed it.
# Law 3: an older certificate still proves that the session was at its node, which may send what it accepted.
#        A message of the session may have any route over such a node.

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from mesh.errors import BadName, RemoteError
from mesh.flow.bounded import Bounded
from mesh.names import SessionName
from mesh.proof import STREAM_KEY, erasing_stream
from mesh.wire.sessions import Certificate

MOST = 100_000  # sessions with a certificate
NODE, SIGNATURE = 16, 64  # bytes

Verify = Callable[[bytes, bytes, bytes], bool]  # of (public key, signature, text)


class Standing(Enum):
    """The relation of a certificate to the previous one."""

    NEWER = "newer"
    SAME = "same"
    OUTDATED = "outdated"


def compare(attach: int, known: int) -> Standing:
    """Return how an attach number compares to `known`, the highest one so far; 0: none."""
    if attach > known:
        return Standing.NEWER
    return Standing.SAME if attach == known else Standing.OUTDATED


class Visits:
    """The certificate that counts for each session, by stream."""

    def __init__(self, verify: Verify, most: int = MOST) -> None:
        self._verify = verify
        self._known = Bounded[bytes, Certificate](most)
        self._guests = Bounded[tuple[str, bytes], Certificate](most)  # by session and node; any attach
        self._streams = Bounded[str, bytes](most)  # by session

    def __len__(self) -> int:
        return len(self._known)

    def find(self, stream: bytes) -> Certificate | None:
        """Return the certificate that counts for a session, or `None` if the session never moved."""
        return self._known.get(stream)

    def is_at(self, stream: bytes, node: bytes) -> bool:
        """Return whether a certificate proves that the session is at the node."""
        known = self._known.get(stream)
        return known is not None and known.node == node

    def of_session(self, session: str) -> Certificate | None:
        """Return the certificate that counts for a session, by its name."""
        known = self._known.get(self._streams.get(session, b""))
        return known if known is not None and known.session == session else None

    def vouch(self, stream: bytes, sender: str, node: bytes) -> bool:
        """Return whether the node may send messages or erasures of this stream as this session."""
        known = self._guests.get((sender, node))
        return known is not None and _is_of(stream, known)

    def was_guest(self, session: str, node: bytes) -> bool:
        """Return whether a certificate proves that the session is or was at the node."""
        return (session, node) in self._guests

    def proof_of_route(self, stream: bytes, sender: str, nodes: Sequence[bytes | None]) -> Certificate | None:
        """Return a certificate that lets a message have this route, although it avoids the sender's home.

        The session is or was at one of `nodes`, the ids of the route, or at a node that is unknown here: then
        its first node is `None`.
        """
        if len(nodes) and nodes[0] is None:
            known = self.of_session(sender)
            if known is not None and _is_of(stream, known):
                return known
        found = (self._guests.get((sender, node)) for node in nodes if node is not None)
        return next((each for each in found if each is not None and _is_of(stream, each)), None)

    def guests(self, node: bytes) -> list[Certificate]:
        """Return the certificates of all sessions that are or were at the node."""
        return [certificate for (_, at), certificate in self._guests.items() if at == node]

    def has_left(self, stream: bytes, node: bytes) -> bool:
        """Return whether a certificate proves that the session is at another node."""
        known = self._known.get(stream)
        return known is not None and known.node != node

    def observe(self, certificate: Certificate) -> Standing:
        """Record a certificate if it is newer, and return how it compares.

        Raises: RemoteError FORGED_VISIT or MALFORMED.
        """
        stream = certificate.stream
        known = self._known.get(stream)
        if known == certificate:
            return Standing.SAME
        check(certificate)
        if not self._verify(certificate.key, certificate.signature, certificate.text):
            text = f"the certificate of {certificate.session[:200]!r} has an invalid signature"
            raise RemoteError(text, code="FORGED_VISIT")
        self._guests.keep((certificate.session, certificate.node), certificate)
        if compare(certificate.attach, known.attach if known is not None else 0) is not Standing.NEWER:
            return Standing.OUTDATED  # also another certificate with the same number
        self._known.keep(stream, certificate)
        self._streams.keep(certificate.session, stream)
        return Standing.NEWER


def _is_of(stream: bytes, certificate: Certificate) -> bool:
    """Return whether a stream is the one of the session's messages or of its erasures."""
    return stream in (certificate.stream, erasing_stream(certificate.stream))


def check(certificate: Certificate) -> None:
    """Raise RemoteError MALFORMED for a certificate that no client makes."""
    sizes = len(certificate.key), len(certificate.node), len(certificate.signature)
    try:
        name = SessionName.parse(certificate.session)
        is_sound = name.node is not None and name.session is not None and str(name) == certificate.session
    except BadName:
        is_sound = False
    if not is_sound or certificate.attach < 1 or sizes != (STREAM_KEY, NODE, SIGNATURE):
        raise RemoteError("a certificate of a session is malformed", code="MALFORMED")
