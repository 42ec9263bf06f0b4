"""The handshake of a client: its HELLO, its proofs, and the nodes that it accepts."""

import pytest
from msgspec.structs import replace

from mesh.client.access import Access
from mesh.client.core.client_handshake import ClientHandshake
from mesh.errors import RemoteError
from mesh.proof import prove, stream_text
from mesh.security.signing import verify
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c

PLACE, COOKIE, KEY = "tcp://127.0.0.1:7710", b"c" * 32, StreamKey(bytes(32))
MINE, THEIRS = b"m" * 16, b"t" * 16
NODE = c.Introduction(b"h" * 16, "heron", 3, PLACE)
CHALLENGE = c.Challenge(THEIRS, PLACE, NODE.uuid)
WELCOME = c.Welcome(1, NODE, "default", session="/node/heron/client/joe/session/4", token=b"token")


def begun() -> ClientHandshake:
    made = ClientHandshake(("joe", 0, True), KEY)
    made.begin_handshake(Access(PLACE, secret=COOKIE), MINE)
    return made


def proven(w: c.Welcome = WELCOME, nonces: tuple[bytes, bytes] = (MINE, THEIRS)) -> c.Welcome:
    return replace(w, proof=prove(COOKIE, "listener", *nonces, PLACE))


def test_a_challenge_is_answered_with_a_proof_and_a_signature_of_the_stream() -> None:
    hello = begun().prove(CHALLENGE, 5)
    assert (hello.client, hello.session, hello.token, hello.have) == ("joe", 0, b"", 5)
    assert hello.proof == prove(COOKIE, "dialler", MINE, THEIRS, PLACE)
    assert verify(KEY.public, hello.signature, stream_text(MINE, THEIRS, PLACE, NODE.uuid))


def test_a_listener_that_is_not_the_dialed_one_gets_no_proof() -> None:
    with pytest.raises(RemoteError, match="is not the dialed address"):
        begun().prove(replace(CHALLENGE, endpoint="tcp://127.0.0.1:7711"), 0)


@pytest.mark.parametrize(
    ("welcome", "is_believed"),
    [
        (proven(), True),
        (WELCOME, False),
        (proven(nonces=(THEIRS, MINE)), False),
        (proven(replace(WELCOME, node=replace(NODE, uuid=b"x" * 16))), False),
        (proven(replace(WELCOME, version=9_000)), False),
    ],
)
def test_a_node_is_believed_that_has_asked_and_proves_the_cookie(
    welcome: c.Welcome, is_believed: bool
) -> None:
    it = begun()
    it.prove(CHALLENGE, 0)
    refusal = it.check_welcome(welcome)
    assert (refusal is None) is is_believed and (refusal is None or refusal.final)


def test_a_node_that_asks_for_no_proof_is_not_believed_over_tcp() -> None:
    assert begun().check_welcome(proven(nonces=(MINE, b""))) is not None


def test_the_session_is_presented_again() -> None:
    it = begun()
    assert it.adopt_session(WELCOME), "a boot that was not seen before"
    assert not it.adopt_session(WELCOME)
    hello = it.hello(7)
    assert (hello.session, hello.token, hello.boot_seen) == (4, b"token", 3)
    with pytest.raises(RemoteError, match="invalid session name"):
        it.adopt_session(replace(WELCOME, session="?"))
    assert it.hello(0).session == 4
