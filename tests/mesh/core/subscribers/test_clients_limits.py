"""How much of everything may there be? What a client is refused beyond it, and what others keep."""

import pytest
from msgspec.structs import replace

from mesh.core.asking.lookup import LastValue
from mesh.core.desk.conn import Conn
from mesh.core.desk.settings import CONNECT, Settings
from mesh.core.subscribers.clients import Clients
from mesh.core.subscribers.lastvalues import _fit
from mesh.transport.unfinished import MESSAGE
from mesh.wire import commands as c
from mesh.wire.limits import MAX_CONTENT_EVER, MIB
from tests.mesh.core.stranger import Stranger
from tests.mesh.envelopes import envelope
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def node(**settings: int) -> SimNode:
    return SimNetwork().node("a", **settings)


def ask(stranger: Stranger, number: int, key: str = "") -> str:
    """Subscribe; the code of the refusal, "" for none."""
    stranger.say(c.Subscribe(number, number, c.Query("exact", key or f"k{number}")))
    replies = [reply for reply in stranger.heard if isinstance(reply, c.Reply) and reply.request == number]
    assert len(replies) == 1
    return replies[0].code


def client(a: SimNode, key: bytes) -> Stranger:
    stranger = Stranger(a)
    stranger.as_client(key * 32)
    return stranger


def test_trial_A3_a_session_has_so_many_subscriptions_and_keeps_them() -> None:
    a = node(max_subscriptions=2)
    first, second = client(a, b"1"), client(a, b"2")
    assert [ask(first, n) for n in (1, 2, 3)] == ["", "", "TOO_MANY"]
    assert ask(second, 1) == ""
    first.say(c.Unsubscribe(9, 1))
    assert ask(first, 4) == ""


def test_trial_A3_all_sessions_together_have_so_many_subscriptions() -> None:
    a = node(max_all_subscriptions=3)
    first, second = client(a, b"1"), client(a, b"2")
    assert [ask(first, n) for n in (1, 2)] == ["", ""]
    assert [ask(second, n) for n in (1, 2)] == ["", "TOO_MANY"]
    first.say(c.Unsubscribe(9, 1))
    assert ask(second, 3) == ""
    first.say(c.Bye("done"))
    assert ask(second, 4) == ""
    assert ask(second, 5) == "TOO_MANY"


def test_trial_A3_a_node_has_so_many_sessions_and_those_that_are_there_go_on() -> None:
    a = node(max_sessions=2)
    first, second, third = (client(a, stream) for stream in (b"1", b"2", b"3"))
    assert [s.refusal for s in (first, second, third)] == ["", "", "TOO_MANY_SESSIONS"]
    assert ask(first, 1) == ""
    second.say(c.Bye("done"))
    assert client(a, b"4").refusal == ""


def test_trial_A3_one_key_has_so_many_sessions_and_another_is_not_kept_out() -> None:
    a = node(max_key_sessions=2)
    clients: Clients = a.core.parts.clients
    users = ["key", "key", "key", "another", "another"]
    found = []
    for n, user in enumerate(users):
        conn = connection(a, f"conn {n}", user)
        hello = c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client="joe", stream=bytes([n]) * 16)
        answer = clients.admit(conn, hello)
        found.append(answer.code if isinstance(answer, c.Refuse) else "")
    assert found == ["", "", "TOO_MANY_SESSIONS", "", ""]
    assert [client(a, bytes([n])).refusal for n in range(50, 54)] == [""] * 4, "over the file nobody has one"


def connection(a: SimNode, key: str, user: str) -> Conn:
    """One that came in with this key of CURVE."""
    a.core.accept(key, "tcp://127.0.0.1:1", True, user)
    return a.core._conns[key]


def test_trial_A3_who_says_something_but_no_good_hello_is_hung_up_on_and_forgotten() -> None:
    a = node()
    friend = client_of(a)
    strangers = [Stranger(a) for _ in range(3)]
    for stranger in strangers:
        stranger.put([b"what is this?"])
        stranger.say(c.Ping(1))
    before = len(a.core._conns)
    a.net.run(2 * CONNECT)
    assert len(a.core._conns) <= before - 3
    assert friend.is_up
    friend.publish("k")
    assert friend.settled().state(1) == "OK"


def test_trial_A3_the_defaults_are_those_of_the_page() -> None:
    s = Settings(me=c.Introduction(b"u" * 16, "a", 1, ""))
    assert (s.max_sessions, s.max_key_sessions) == (16_384, 1_024)
    assert (s.max_subscriptions, s.max_all_subscriptions) == (1_000, 100_000)


@pytest.mark.parametrize("size", [MIB, 20 * MIB, 32 * MIB, 40 * MIB, MAX_CONTENT_EVER])
def test_trial_A3_no_reply_of_ours_is_longer_than_a_node_may_send_without_being_cut(size: int) -> None:
    body = bytes(size)  # one for all: only its length matters
    values = [LastValue(b"m" * 16, replace(envelope("k"), body=body), "here") for _ in range(70)]
    parts = []
    while values:
        parts.append(sum(len(value.envelope.body) for value in values[: _fit(values)]))
        values = values[_fit(values) :]
    assert sum(parts) == 70 * size
    assert max(parts) + MIB < MESSAGE
    assert len(parts) <= 2 * 70 * size // MAX_CONTENT_EVER + 1, "and no more of them than needed"
