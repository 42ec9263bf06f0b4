"""The owners of sessions: clients that return, and clients that claim a session of another one."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from mesh.kernel.subscribers.sessions import Sessions
from mesh.wire import commands as c
from mesh.wire.envelope import INITIAL, RESENT, Envelope
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.stranger import STREAM, Stranger
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode


def node() -> SimNode:
    return SimNetwork().node("a")


def test_a_generated_session_keeps_its_name_although_its_node_forgot_it() -> None:
    a = node()
    client = client_of(a)
    name = client.session_name
    a.restart()
    other = client_of(a, "other")
    client.connected()
    assert client.session_name == name != other.session_name
    client.publish("k")
    assert client.settled().state(1) == "OK"


def test_a_client_that_missed_the_welcome_is_let_in_when_it_asks_again() -> None:
    a = node()
    client = SimClient(a.net, a.ipc)
    a.net.until(lambda: a.metric("sessions") == 1)
    a.net.break_all(client.name)
    assert not client.is_up
    client.connected()
    assert (client.refusals, a.metric("sessions")) == ([], 1)


def test_a_session_is_not_given_to_somebody_without_its_token() -> None:
    a = node()
    client = client_of(a)
    client.publish("k")
    client.settled()
    thief = Stranger(a)
    thief.as_client(client.key.public)
    assert thief.refusal == "BAD_TOKEN"
    thief = Stranger(a)
    thief.as_client(client.key.public, token=b"t" * 32)
    assert thief.refusal == "BAD_TOKEN"
    assert client.is_up


def test_after_a_restart_a_session_is_still_not_given_to_somebody_without_its_token() -> None:
    a = node()
    client = client_of(a)
    client.subscribed("k")
    a.net.cut(client.name, "a")
    a.restart()
    thief = Stranger(a)
    thief.as_client(client.key.public)
    assert thief.refusal == "BAD_TOKEN"
    a.net.heal()
    a.net.run(10)
    assert client.is_up


def test_the_newest_connection_holds_the_session() -> None:
    a = node()
    client = client_of(a)
    old = client.pipe
    client.lose()  # only the client notices
    client.connected()
    assert client.pipe is not old
    assert a.metric("connected_sessions") == 1


def test_a_session_whose_name_was_taken_meanwhile_waits_until_it_is_free() -> None:
    a = SimNetwork().node("a", linger=5.0)
    client = SimClient(a.net, a.ipc, "joe", session=1).connected()
    a.net.cut(client.name, "a")
    a.net.run(30)
    assert a.metric("sessions") == 0
    other = SimClient(a.net, a.ipc, "joe", session=1).connected()
    a.net.heal()
    a.net.run(5)
    assert {r.code for r in client.refusals} == {"SESSION_IN_USE"}
    other.close()
    client.connected()
    a.net.run(10)
    assert client.is_up


def test_session_numbers_that_the_node_gives_cannot_be_taken() -> None:
    stranger = Stranger(node())
    stranger.as_client(session=-5)
    assert stranger.refusal == "BAD_NAME"


@pytest.mark.parametrize("name", ["", "x" * 65, "a/b", "joe/session/1", "j\n"])
def test_a_client_whose_name_breaks_the_grammar_stays_out(name: str) -> None:
    stranger = Stranger(node())
    stranger.as_client(name=name)
    assert stranger.refusal == "BAD_NAME"


@pytest.mark.parametrize(
    "forged",
    [
        envelope("k", stream=b"v" * 16),
        envelope("k a", stream=STREAM).cut([1]),
        envelope("k", stream=STREAM, flags=INITIAL),
    ],
    ids=["stream", "numbers", "flags"],
)
def test_nobody_publishes_in_the_name_of_another(forged: Envelope) -> None:
    a = node()
    subscription = client_of(a).subscribed("k")
    stranger = Stranger(a)
    stranger.as_client()
    stranger.say(c.Publish((1,)), forged)
    assert stranger.refusal == "FORGED_SENDER"
    assert (subscription.got, a.metric("malformed")) == ([], 1)


def test_only_what_may_have_come_before_may_have_gone_on_before() -> None:
    a = node()
    client = client_of(a)
    client.publish("k k k", domain="D")
    client.settled()
    session = a.core.parts.sessions.by_stream[client.stream]
    e = envelope("k k", stream=client.stream, domain="D")
    assert not session.is_again(e), "its first connection brings nothing again"
    for _ in range(2):
        a.net.break_all(client.name)
        a.net.run(3)
    assert session.is_again(e) and session.is_again(replace(e, first=3, last=3, count=1))
    assert not session.is_again(replace(e, first=4, last=5)), "its earlier connections brought no such number"
    assert not session.is_again(replace(e, domain=""))
    assert session.is_again(replace(e, first=4, last=5, flags=RESENT)), "another node may have sent it"


def test_of_what_an_older_client_brings_that_has_come_back_nothing_is_known() -> None:
    a = node()
    client = client_of(a)
    session = a.core.parts.sessions.by_stream[client.stream]
    conn = session.conn
    assert conn is not None
    session.attach(conn, says_again=False)
    assert session.is_again(envelope("k", stream=client.stream))


def test_a_subscription_number_that_is_in_use_is_refused() -> None:
    a = node()
    stranger = Stranger(a)
    stranger.as_client()
    stranger.say(c.Subscribe(1, 7, c.Query("exact", "k")))
    stranger.say(c.Subscribe(2, 7, c.Query("exact", "other")))
    assert stranger.refusal == "PROTOCOL"


@pytest.mark.parametrize("query", [c.Query("exact", "a/+"), c.Query("sql", "x"), c.Query("pattern", "#/a")])
def test_a_query_that_makes_no_sense_is_answered_to_a_client_and_ends_a_node_s_connection(
    query: c.Query,
) -> None:
    a = node()
    client = Stranger(a)
    client.as_client()
    client.say(c.Subscribe(1, 1, query))
    (reply,) = [command for command in client.heard if isinstance(command, c.Reply)]
    assert reply.code in ("BAD_KEY", "BAD_QUERY")
    peer = Stranger(a)
    peer.as_node()
    peer.say(c.Interest(1, True, add=(query,)))
    assert peer.refusal == reply.code
    assert client_of(a).call("info")["name"] == "a", "the node goes on"


def test_acknowledgements_of_what_was_never_sent_end_the_connection() -> None:
    for ack in (c.Ack(1), c.Ack(0, ((1, 1),))):
        stranger = Stranger(node())
        stranger.as_client()
        stranger.say(c.Subscribe(1, 1, c.Query("exact", "k")))
        stranger.say(ack)
        assert stranger.refusal == "FORGED_ACK"


def test_what_a_node_sends_from_the_log_of_another_goes_to_nobody() -> None:
    a = node()
    subscription = client_of(a).subscribed("k")
    peer = Stranger(a)
    peer.as_node()
    peer.say(c.Items(1, (c.ItemHead(1, 5, b"v" * 16),)), envelope("k", persistent=True))
    assert (peer.refusal, subscription.got, a.metric("unasked")) == ("", [], 1)


def test_a_message_that_was_at_too_many_nodes_is_dropped_and_counted() -> None:
    a = node()
    subscription = client_of(a).subscribed("k")
    peer = Stranger(a)
    peer.as_node()
    for n, hops in ((1, 16), (2, 15)):
        route = tuple(a.core.parts.context.hop(stratum) for stratum in range(hops))
        peer.say(
            c.Items(n, (c.ItemHead(1),)),
            replace(envelope("k", first=n), route=route, sender="/node/stranger/client/joe/session/1"),
        )
    assert [message.id[2] for message in subscription.got] == [2]
    assert a.metric("too_many_hops") == 1


def test_an_earlier_boot_of_a_node_is_not_heard() -> None:
    a = node()
    now, before = Stranger(a), Stranger(a)
    now.as_node(c.NODE_CONTROL, boot=2)
    before.as_node(boot=1)
    assert (now.refusal, before.refusal) == ("", "OLD_BOOT")
    assert a.metric("data_links") == 0


def test_a_gap_in_the_items_of_a_node_ends_the_connection() -> None:
    a = node()
    peer = Stranger(a)
    peer.as_node()
    peer.say(c.Items(2, (c.ItemHead(1),)), envelope("k"))
    assert peer.refusal == "GAP"


def test_who_speaks_before_the_handshake_is_asked_who_it_is() -> None:
    a = node()
    stranger = Stranger(a)
    stranger.say(c.Ping(1))
    assert stranger.heard == [c.Who()]
    stranger.put([b"\xc1nonsense"])
    assert stranger.refusal == "MALFORMED"


@pytest.mark.parametrize(
    ("user", "same"), [("key 1", {"a", "b"}), ("key 2", {"c"}), ("", {"d", "e"}), (None, {"d", "e"})]
)
def test_sessions_with_a_key_are_one_client_by_it_and_others_by_their_name(
    user: str | None, same: set[str]
) -> None:
    """Programs of one user have one name by default, and may have different keys."""

    def session(name: str, user: str | None) -> Any:
        return SimpleNamespace(user=user, name=SimpleNamespace(client=name))

    every = {
        "a": session("root", "key 1"), "b": session("joe", "key 1"), "c": session("root", "key 2"),
        "d": session("root", ""), "e": session("root", None), "f": session("joe", ""),
    }  # fmt: skip
    sessions = Sessions(cast(Any, None))
    sessions.by_stream = {name.encode(): each for name, each in every.items()}
    asked = next(each for each in every.values() if each.user == user)
    found = [*sessions.of_same_client(asked)]
    assert {name for name, each in every.items() if each in found} == same
