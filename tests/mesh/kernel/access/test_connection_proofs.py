"""A proof holds for one connection and one side only."""

import pytest
from msgspec.structs import replace

from mesh.kernel.access.connection_proofs import NONCE, ConnectionProofs
from mesh.kernel.context.conn import NODE, Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import Settings
from mesh.proof import stream_of
from mesh.wire import commands as c

COOKIE, PLACE, KEY = b"c" * 32, "tcp://127.0.0.1:7710", b"k" * 32
CLIENT = c.Hello((1, 1), c.CLIENT, "", b"n" * NONCE, client="joe", stream=stream_of(KEY), key=KEY)
OTHER = b"o" * NONCE


def proofs(name: str = "heron", secret: bytes = COOKIE) -> ConnectionProofs:
    me = c.Introduction(name[:1].encode() * 16, name, 1, PLACE)
    settings = Settings(me=me, secret=secret, seal=b"s" * 32, verify=lambda *_: True)
    return ConnectionProofs(NodeContext(settings, lambda n: b"r" * n, lambda: 0.5))


def dialing() -> Conn:
    conn = Conn("out", True, False, PLACE, 0.0, 0.0)
    conn.nonce = b"n" * NONCE
    return conn


def listening(endpoint: str = PLACE, nonce: bytes = b"l" * NONCE) -> Conn:
    conn = Conn("in", False, False, endpoint, 0.0, 0.0)
    conn.nonce = nonce
    return conn


def test_a_hello_proves_the_cookie_and_nothing_of_another_connection_does() -> None:
    hello = proofs().prove_hello(dialing(), CLIENT, b"l" * NONCE)
    listener = proofs("gull")
    assert listener.granted(listening(), hello) == NODE
    assert listener.granted(listening(endpoint="tcp://127.0.0.1:7711"), hello) is None
    assert listener.granted(listening(nonce=OTHER), hello) is None
    unasked = proofs().prove_hello(dialing(), CLIENT, b"")
    assert listener.granted(listening(nonce=b""), unasked) is None
    assert listener.granted(listening(), replace(hello, nonce=OTHER)) is None
    assert proofs("gull", b"x" * 32).granted(listening(), hello) is None


def test_a_repeated_challenge_is_answered_with_its_own_nonce() -> None:
    conn, mine = dialing(), proofs()
    mine.prove_hello(conn, CLIENT, OTHER)
    again = mine.prove_hello(conn, CLIENT, b"l" * NONCE)
    assert conn.nonce == b"n" * NONCE + b"l" * NONCE
    assert proofs("gull").granted(listening(), again) == NODE


@pytest.mark.parametrize(("secret", "knows"), [(COOKIE, True), (b"x" * 32, False)])
def test_a_welcome_proves_the_cookie_of_the_listener(secret: bytes, knows: bool) -> None:
    conn, end = dialing(), listening()
    hello = proofs().prove_hello(conn, CLIENT, end.nonce)
    end.grant = NODE
    me = c.Introduction(b"g" * 16, "gull", 1, PLACE)
    welcome = proofs("gull", secret).prove_welcome(end, hello, c.Welcome(1, me, "default"))
    assert proofs().knows_secret(conn, welcome) is knows
    assert not proofs().knows_secret(dialing(), welcome), "nothing was asked for"


def test_a_refusal_is_proven_by_the_cookie_and_is_ours_only_with_our_signature() -> None:
    conn, end = dialing(), listening()
    hello = proofs().prove_hello(conn, CLIENT, end.nonce)
    refusal = proofs().prove_refusal(end, hello, c.Refuse("SAME_UUID", "a copy", process=b"p" * 16))
    assert proofs().is_refusal_proven(conn, refusal) and proofs().is_our_refusal(conn, refusal)
    unsigned = replace(refusal, signature=b"")
    assert proofs().is_refusal_proven(conn, unsigned) and not proofs().is_our_refusal(conn, unsigned)
    assert not proofs(secret=b"x" * 32).is_our_refusal(conn, refusal)
    end.nonce = b""
    assert proofs().prove_refusal(end, hello, refusal) is refusal, "no proof was asked for"
