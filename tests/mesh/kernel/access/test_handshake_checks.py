"""The refusals of an invalid HELLO or WELCOME; a valid one gets none."""

import pytest
from msgspec.structs import replace

from mesh.kernel.access.connection_proofs import NONCE, ConnectionProofs
from mesh.kernel.access.handshake_checks import HandshakeChecks
from mesh.kernel.context.conn import NODE, Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import Settings
from mesh.proof import PROOF_BYTES, stream_of
from mesh.wire import commands as c

PLACE, KEY = "tcp://127.0.0.1:7710", b"k" * 32
ME = c.Introduction(b"g" * 16, "gull", 1, PLACE)
CLIENT = c.Hello((1, 1), c.CLIENT, "", b"n" * NONCE, client="joe", stream=stream_of(KEY), key=KEY)
PEER = replace(CLIENT, role=c.NODE_CONTROL, node=replace(ME, uuid=b"h" * 16, name="heron"))


def checks(is_signed: bool = True) -> tuple[HandshakeChecks, ConnectionProofs]:
    settings = Settings(me=ME, secret=b"c" * 32, cluster="default", verify=lambda *_: is_signed)
    context = NodeContext(settings, lambda n: b"r" * n, lambda: 0.5)
    proofs = ConnectionProofs(context)
    return HandshakeChecks(context, proofs), proofs


def conn(is_trusted: bool = False, dialled: bool = False) -> Conn:
    made = Conn("peer", dialled, is_trusted, PLACE, 0.0, 0.0)
    made.nonce = b"n" * NONCE if dialled else b"l" * NONCE
    return made


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        (CLIENT, None),
        (PEER, None),
        (replace(PEER, cluster="default"), None),
        (replace(CLIENT, versions=(9_000, 9_001)), "VERSION"),
        (replace(CLIENT, proof=b"p" * (PROOF_BYTES - 1)), "VERSION"),
        (replace(CLIENT, role="king"), "ROLE"),
        (replace(CLIENT, role=c.RELAY), "ROLE"),
        (replace(PEER, cluster="other"), "CLUSTER"),
        (replace(CLIENT, stream=b"s" * 16), "FORGED_STREAM"),
        (replace(CLIENT, key=KEY[:-1]), "FORGED_STREAM"),
    ],
)
def test_what_hello_says_is_checked_before_anything_is_proven(hello: c.Hello, code: str | None) -> None:
    refusal = checks()[0].unfit(conn(), hello)
    assert (refusal.code if refusal else None) == code


def test_without_a_proof_a_stranger_is_refused_and_a_trusted_end_is_not() -> None:
    it, trusted = checks()[0], conn(is_trusted=True)
    refusal = it.unproven(conn(), PEER)
    assert refusal is not None and refusal.code == "BAD_COOKIE"
    assert it.unproven(trusted, PEER) is None and trusted.grant == NODE


@pytest.mark.parametrize(("is_signed", "code"), [(True, None), (False, "FORGED_STREAM")])
def test_a_client_must_sign_with_the_key_of_its_stream(is_signed: bool, code: str | None) -> None:
    it, proofs = checks(is_signed)
    hello = proofs.prove_hello(conn(dialled=True), CLIENT, b"l" * NONCE)
    refusal = it.unproven(conn(), hello)
    assert (refusal.code if refusal else None) == code


@pytest.mark.parametrize(
    ("is_trusted", "is_proven", "version", "code"),
    [
        (False, True, 1, None),
        (True, False, 1, None),
        (False, False, 1, "BAD_COOKIE"),
        (False, True, 9_000, "VERSION"),
        (True, False, 9_000, "VERSION"),
    ],
)
def test_a_welcome_must_prove_the_cookie_and_choose_an_offered_version(
    is_trusted: bool, is_proven: bool, version: int, code: str | None
) -> None:
    it, proofs = checks()
    here, there = conn(is_trusted, dialled=True), conn()
    hello = proofs.prove_hello(here, PEER, there.nonce)
    there.grant = NODE
    welcome = proofs.prove_welcome(there, hello, c.Welcome(version, ME, "default"))
    refusal = it.unfit_welcome(here, welcome if is_proven else replace(welcome, proof=b"?" * PROOF_BYTES))
    assert (refusal.code if refusal else None) == code
