"""Limits of sessions and subscriptions: what a node refuses beyond them, and what others keep."""

import pytest

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.turnedaway import LATELY
from mesh.kernel.subscribers import clients
from mesh.kernel.subscribers.clients import Clients
from mesh.wire import commands as c
from mesh.wire.limits import OPERATOR
from tests.mesh.kernel.causes import reasons
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode


def node(**settings: int) -> SimNode:
    return SimNetwork().node("a", **settings)


def outcome(client: SimClient, key: str) -> str:
    """Subscribe; return the code of the refusal, or "" when it is confirmed."""
    s = client.subscribe(key)
    call = client.calls[max(client.calls)]
    client.net.until(lambda: call.reply)
    assert call.reply is not None
    if call.reply.code:
        client.subscriptions.pop(s.number)
    return call.reply.code


def ask(stranger: Stranger, number: int, key: str = "") -> str:
    """Subscribe on the wire; return the code of the refusal, or ""."""
    stranger.say(c.Subscribe(number, number, c.Query("exact", key or f"k{number}")))
    replies = [reply for reply in stranger.heard if isinstance(reply, c.Reply) and reply.request == number]
    assert len(replies) == 1
    return replies[0].code


def client(a: SimNode, key: bytes) -> Stranger:
    stranger = Stranger(a)
    stranger.as_client(key * 32)
    return stranger


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


def test_trial_A3_one_key_has_so_many_sessions_and_another_is_not_kept_out() -> None:
    a = node(max_key_sessions=2)
    clients: Clients = a.core.parts.clients
    users = ["key", "key", "key", "another", "another"]
    found = []
    for n, user in enumerate(users):
        conn = connection(a, f"conn {n}", user)
        hello = c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client="joe", stream=bytes([n]) * 16)
        answer = clients.admit_client(conn, hello)
        found.append(answer.code if isinstance(answer, c.Refuse) else "")
    assert found == ["", "", "TOO_MANY_SESSIONS", "", ""]
    assert [client(a, bytes([n])).refusal for n in range(50, 54)] == [""] * 4, "over the file nobody has one"


def connection(a: SimNode, key: str, user: str, trusted: bool = True) -> Conn:
    """Let a connection with this key of CURVE come in, and return it."""
    a.core.add_inbound(key, "tcp://127.0.0.1:1", trusted, user)
    return a.core._conns[key]


def test_trial_D_a_session_has_so_many_subscriptions_and_not_one_more() -> None:
    a = node(max_subscriptions=3)
    joe, ann = client_of(a), client_of(a, "ann")
    assert [outcome(joe, f"k{n}") for n in range(5)] == ["", "", "", "TOO_MANY", "TOO_MANY"]
    assert outcome(ann, "k") == "", "each has its own"
    joe.publish("k0 k3", b"wanted", b"refused")
    joe.settled()
    a.net.run(1)
    assert [len(joe.subscriptions[n].got) for n in (1, 2, 3)] == [1, 0, 0]
    joe.unsubscribe(joe.subscriptions[3])
    a.net.run(1)
    assert outcome(joe, "k9") == "", "there is room for another now"


def test_trial_D_the_subscriptions_of_a_session_are_counted_over_a_restart() -> None:
    a = node(max_subscriptions=2)
    joe = client_of(a)
    assert [outcome(joe, f"k{n}") for n in range(2)] == ["", ""]
    a.net.run(2)
    a.restart()
    a.net.run(5)
    assert outcome(joe, "k2") == "TOO_MANY"


def test_trial_D_a_node_has_so_many_sessions_and_whoever_has_one_keeps_it() -> None:
    a = node(max_sessions=2)
    joe, ann = client_of(a), client_of(a, "ann")
    a.net.until(lambda: joe.is_up and ann.is_up)
    third = Stranger(a)
    third.as_client()
    assert third.refusal == "TOO_MANY_SESSIONS"
    refusal = next(said for said in third.heard if isinstance(said, c.Refuse))
    assert not refusal.final, "there may be room later"
    joe.lose()
    a.net.until(lambda: joe.is_up)
    assert joe.refusals == [], "it comes back to its own"
    ann.close()
    a.net.run(1)
    later = Stranger(a)
    later.as_client(b"t" * 32)
    assert later.refusal == "" and isinstance(later.heard[-1], c.Welcome)


def test_beyond_all_sessions_the_operator_on_this_machine_has_a_reserve_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients, "RESERVE", 1)
    a = node(max_sessions=2)
    assert [client(a, key).refusal for key in (b"1", b"2", b"3")] == ["", "", "TOO_MANY_SESSIONS"]
    operators: Clients = a.core.parts.clients

    def admitted(n: int, trusted: bool, *speaks: str) -> str:
        conn = connection(a, f"conn {n}", "", trusted)
        hello = c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client="joe", stream=bytes([n]) * 16, speaks=speaks)
        answer = operators.admit_client(conn, hello)
        return answer.code if isinstance(answer, c.Refuse) else ""

    assert admitted(5, False, OPERATOR) == "TOO_MANY_SESSIONS", "from elsewhere anybody could say it"
    assert admitted(6, True) == "TOO_MANY_SESSIONS"
    assert admitted(7, True, OPERATOR) == ""
    assert admitted(8, True, OPERATOR) == "TOO_MANY_SESSIONS", "it has an end, too"


def test_why_client_tells_why_one_was_refused_and_that_only_for_a_while() -> None:
    a = node(max_sessions=2)
    ann = client_of(a, "ann")
    assert client(a, b"1").refusal == ""
    refused = Stranger(a)
    refused.as_client(b"2" * 32)
    assert refused.refusal == "TOO_MANY_SESSIONS"
    (found,) = [each for each in reasons(ann, "client", "stranger") if each["code"] == "CLIENT_REFUSED"]
    assert "this node has 2 sessions, and the limit is 2 [TOO_MANY_SESSIONS]" in str(found)
    elsewhere = reasons(ann, "client", "/node/b/client/stranger")
    assert all(each["code"] != "CLIENT_REFUSED" for each in elsewhere), "another node did not refuse it"
    a.net.run(LATELY + 1)
    assert all(each["code"] != "CLIENT_REFUSED" for each in reasons(ann, "client", "stranger"))


def test_why_client_names_the_release_that_does_not_match() -> None:
    a = node()
    ann = client_of(a, "ann")
    refused = Stranger(a)
    refused.say(c.Hello((98, 99), c.CLIENT, "", b"n" * 16, client="joe", stream=b"j" * 16))
    assert refused.refusal == "VERSION"
    (found,) = [each for each in reasons(ann, "client", "joe") if each["code"] == "CLIENT_REFUSED"]
    assert "98 to 99" in str(found) and "[VERSION]" in str(found)


def test_why_client_tells_of_a_connection_that_was_ended_before_it_gave_a_name() -> None:
    a = node()
    ann = client_of(a, "ann")
    text = "a connection from 127.0.0.1:5 was closed: 3 connections are here, and no more are allowed"
    a.core.report_event("refused", text, a.net.now, 0, "warning")
    (found,) = [each for each in reasons(ann, "client", "joe") if each["code"] == "STRANGER_REFUSED"]
    assert text in str(found) and found["rank"] == "perhaps"
    assert all(each["code"] != "STRANGER_REFUSED" for each in reasons(ann, "client", "ann")), "she is here"
    a.core.report_event("clock", "something else", a.net.now, 0)
    a.net.run(LATELY + 1)
    assert all(each["code"] != "STRANGER_REFUSED" for each in reasons(ann, "client", "joe"))


def test_one_key_has_so_many_connections_and_is_told_so() -> None:
    a = node(max_key_connections=2)
    for n in range(2):
        connection(a, f"conn {n}", "key").is_open = True
    hello = c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client="joe", stream=b"s" * 16)
    answer = a.core.parts.admission._admit(connection(a, "third", "key"), hello)
    assert isinstance(answer, c.Refuse) and answer.code == "TOO_MANY_CONNECTIONS"
    assert "limits.key_connections" in answer.hint and not answer.final
    assert isinstance(a.core.parts.admission._admit(connection(a, "4", "other"), hello), c.Welcome)
