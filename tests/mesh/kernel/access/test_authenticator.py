"""The handshake on a socket that other users can open: admissions and refusals."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from mesh.kernel.access.authenticator import PENDING, Authenticator, is_too_long
from mesh.kernel.context.conn import NODE, Conn
from mesh.kernel.context.effects import HangUp, Send
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import Settings
from mesh.proof import prove, stream_of
from mesh.wire import commands as c
from mesh.wire.frames import read

COOKIE, PLACE = b"c" * 32, "tcp://127.0.0.1:7710"
KEY = b"k" * 32
CLIENT = c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client="joe", stream=stream_of(KEY), key=KEY)


class Side:
    """One end of a connection: its authenticator, and the outcomes."""

    def __init__(self, name: str, dialled: bool, secret: bytes = COOKIE, endpoint: str = PLACE) -> None:
        self.me = c.Introduction(name[:1].encode() * 16, name, 1, endpoint)
        settings = Settings(me=self.me, secret=secret, verify=lambda *_: True)
        self.context = NodeContext(settings, lambda n: name[:1].encode() * n, lambda: 0.5)
        self.conn = Conn(name, dialled, False, endpoint, 0.0, 0.0)
        self.hello = replace(CLIENT, role=c.NODE_CONTROL, node=self.me)
        self.news: list[str] = []
        self.door = Authenticator(
            self.context,
            lambda conn: replace(self.hello, nonce=conn.nonce[:16]),
            self.admit,
            lambda conn, welcome: self.news.append("entered"),
            lambda conn, refusal, is_proven: self.news.append(f"{refusal.code} {is_proven}"),
            lambda conn, refusal: self.news.append(refusal.code),
            lambda conn, process, address: self.news.append("mirrored"),
        )

    def admit(self, conn: Conn, hello: c.Hello) -> c.Welcome:
        self.news.append("admitted")
        return c.Welcome(conn.version, self.me, "default")

    def take(self, said: c.Command) -> None:
        match said:
            case c.Hello():
                self.door.hello(self.conn, said)
            case c.Challenge():
                self.door.challenge(self.conn, said)
            case c.Welcome():
                self.door.welcome(self.conn, said)
            case c.Refuse():
                self.door.turn_away(self.conn, said)

    def said(self) -> list[c.Command]:
        effects, self.context.out.effects = self.context.out.effects, []
        return [read(effect.frames)[0] for effect in effects if isinstance(effect, Send)]


def unchanged(said: c.Command) -> c.Command:
    return said


def meet(dialler: Side, listener: Side, between: Callable[[c.Command], c.Command] = unchanged) -> None:
    """Let both ends exchange commands until none is left. `between` changes what passes."""
    dialler.door.knock(dialler.conn)
    for _ in range(4):
        for one, other in ((dialler, listener), (listener, dialler)):
            for said in one.said():
                other.take(between(said))


def test_two_that_know_the_cookie_let_each_other_in() -> None:
    dialler, listener = Side("bilbo", True), Side("heron", False)
    meet(dialler, listener)
    assert (dialler.news, listener.news) == (["entered"], ["admitted"])
    assert dialler.conn.is_open and listener.conn.is_open and listener.conn.grant == NODE


def test_without_the_cookie_nobody_comes_in() -> None:
    dialler, listener = Side("bilbo", True, b"x" * 32), Side("heron", False)
    meet(dialler, listener)
    assert dialler.news == ["BAD_COOKIE False"], "the refusal proves nothing to one with another cookie"
    assert listener.news == [] and listener.conn.closed and not listener.conn.is_open
    assert (
        listener.context.counters.values["wrong_cookie"]
        == listener.context.counters.values["hello_refused"]
        == 1
    )


def test_a_listener_that_does_not_know_the_cookie_is_left() -> None:
    dialler, listener = Side("bilbo", True), Side("heron", False)

    def forged(said: c.Command) -> c.Command:
        return replace(said, proof=b"x" * 32) if isinstance(said, c.Welcome) else said

    meet(dialler, listener, forged)
    assert dialler.news == ["BAD_COOKIE"] and dialler.conn.closed


def test_a_proof_is_not_given_to_another_place_than_was_dialled() -> None:
    dialler, elsewhere = Side("bilbo", True), Side("heron", False, endpoint="tcp://127.0.0.1:1")
    meet(dialler, elsewhere)
    assert dialler.news == ["ENDPOINT"] and dialler.conn.closed
    assert elsewhere.news == []


def test_a_proof_of_another_connection_is_worth_nothing() -> None:
    listener = Side("heron", False)
    listener.take(CLIENT)
    (challenge,) = listener.said()
    assert isinstance(challenge, c.Challenge)
    replayed = replace(CLIENT, proof=prove(COOKIE, "dialler", CLIENT.nonce, b"another" * 2, PLACE, b""))
    listener.take(replayed)
    assert not listener.conn.is_open and listener.news == []
    right = Side("heron", False)
    right.take(CLIENT)
    right.take(replace(CLIENT, proof=prove(COOKIE, "dialler", CLIENT.nonce, right.conn.nonce, PLACE, b"")))
    assert right.conn.is_open


def test_a_proof_that_nobody_asked_for_is_asked_for_anew() -> None:
    """The node may have forgotten the connection between its challenge and the proof."""
    dialler, listener = Side("bilbo", True), Side("heron", False)
    again = [True]

    def forgotten(said: c.Command) -> c.Command:
        if isinstance(said, c.Hello) and said.proof and again:
            again.clear()
            listener.conn.nonce = b""
        return said

    meet(dialler, listener, forgotten)
    assert not again and (dialler.news, listener.news) == (["entered"], ["admitted"])
    assert "hello_refused" not in listener.context.counters.values


def test_a_proof_of_another_kind_is_that_of_another_release() -> None:
    listener = Side("heron", False)
    listener.take(CLIENT)
    listener.take(replace(CLIENT, proof=b"p" * 48))
    refusal = listener.said()[-1]
    assert isinstance(refusal, c.Refuse)
    assert (refusal.code, refusal.final) == ("VERSION", True) and "48 bytes" in refusal.reason
    assert "wrong_cookie" not in listener.context.counters.values


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        (replace(CLIENT, versions=(99, 99)), "VERSION"),
        (replace(CLIENT, role="emperor"), "ROLE"),
        (replace(CLIENT, role=c.RELAY), "ROLE"),
        (replace(CLIENT, cluster="another"), "CLUSTER"),
        (replace(CLIENT, stream=b"s" * 16), "FORGED_STREAM"),
        (replace(CLIENT, key=b""), "FORGED_STREAM"),
    ],
)
def test_who_does_not_fit_is_refused_before_anything_is_proven(hello: c.Hello, code: str) -> None:
    listener = Side("heron", False)
    listener.take(hello)
    (refusal,) = listener.said()
    assert isinstance(refusal, c.Refuse) and (refusal.code, refusal.final) == (code, True)
    assert listener.news == [] and listener.conn.closed


def test_a_trusted_socket_wants_no_proof() -> None:
    listener = Side("heron", False)
    listener.conn.trusted = True
    listener.take(CLIENT)
    (welcome,) = listener.said()
    assert isinstance(welcome, c.Welcome) and listener.conn.grant == NODE


def test_a_refused_stranger_is_reported_once_and_always_hung_up_on() -> None:
    listener = Side("heron", False)
    for number in range(3):
        listener.conn = Conn(number, False, False, PLACE, 0.0, 0.0)
        listener.take(replace(CLIENT, cluster="another"))
    assert sum(isinstance(effect, HangUp) for effect in listener.context.out.effects) == 3
    assert len(listener.context.facts.queue) == 1


def test_who_is_not_in_yet_may_say_little() -> None:
    conn = Side("heron", False).conn
    assert not is_too_long(conn, [bytes(PENDING)]) and is_too_long(conn, [bytes(PENDING), b"x"])
    conn.is_open = True
    assert not is_too_long(conn, [bytes(2 * PENDING)])
