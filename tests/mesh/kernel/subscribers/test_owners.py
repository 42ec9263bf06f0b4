"""The owners of inboxes, sessions and names: clients with different keys at one node."""

from typing import Any

import pytest

from mesh.kernel.context.conn import CLIENT
from mesh.routing.interest import CLIENTS
from mesh.wire import commands as c
from tests.mesh.kernel.keyed_client import Keyed
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import Got, SimClient
from tests.simulation import SimNetwork, SimNode

LINGER = 5.0
DEAD = "__sys__deadMessage/#"


def node(**settings: Any) -> SimNode:
    return SimNetwork().node("a", linger=LINGER, **settings)


def unnamed(node: SimNode, user: str, name: str = "pi", session: int = 0) -> Keyed:
    made = Keyed.__new__(Keyed)
    made.is_named = False
    made.__init__(node, user, name, session=session)  # type: ignore[misc]
    return made


def hello(name: str, session: int) -> c.Hello:
    return c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client=name, session=session, stream=b"m" * 16)


def letters(client: SimClient) -> list[Got]:
    return client.get(pattern=DEAD)


@pytest.mark.parametrize("session", [0, 1, 2])
def test_trial_A5_what_waits_for_a_client_is_not_given_to_another_key(session: int) -> None:
    a = node()
    joe = Keyed(a, "joe's key", "joe")
    joe.inbox()
    joe.close()
    sender = Keyed(a, "another", "ann")
    sender.send("client/joe", b"secret", force=True, persistent=True)
    sender.settled()
    a.restart()
    a.net.run(3 * LINGER)
    mallory = Keyed(a, "mallory's key", "joe", session=session)
    assert mallory.opens() == "INBOX_TAKEN"
    again = Keyed(a, "joe's key", "joe")
    inbox = again.inbox()
    a.net.until(lambda: inbox.contents == [b"secret"])


def test_trial_A5_a_session_of_another_key_gets_no_copy_of_what_is_sent_to_the_client() -> None:
    a = node()
    joe, mallory = Keyed(a, "joe's key", "joe"), Keyed(a, "mallory's key", "joe")
    inbox = joe.inbox()
    sender = Keyed(a, "another", "ann")
    sender.send("client/joe", b"1")
    sender.send(mallory.session_name, b"2")
    sender.settled()
    a.net.until(lambda: inbox.contents == [b"1"])
    assert (sender.answers["", 1].matched, sender.state(2)) == (1, "NOT_CONNECTED")
    assert mallory.opens() == "INBOX_TAKEN"


def test_trial_A5_an_inbox_that_holds_and_awaits_nothing_is_free_after_a_while() -> None:
    a = node()
    joe = Keyed(a, "joe's key", "joe")
    joe.inbox()
    a.net.run(5 * LINGER)
    heir = Keyed(a, "another key", "joe")
    assert heir.opens() == "INBOX_TAKEN", "its session is there, and awaits letters"
    joe.close()
    assert heir.opens() == "INBOX_TAKEN", "it may come back at once"
    a.net.run(LINGER + 2)
    assert heir.opens() == ""
    a.net.run(2)
    rows = a.disk.store.load().tables["inbox"]
    assert rows.pop(b"/node/a/client/joe") == b"another key"
    assert rows == {f"{heir.session_name}\n".encode(): heir.core.stream}


def test_trial_A5_an_inbox_is_released_by_whoever_runs_the_node() -> None:
    a = node()
    joe = Keyed(a, "joe's key", "joe", session=1)
    joe.inbox()
    joe.close()
    mallory, owner = Keyed(a, "mallory's key", "joe"), SimClient(a.net, a.ipc, "owner").connected()
    call = mallory.ask(lambda request: c.Call(request, "inbox", {"release": "joe"}))
    a.net.until(lambda: call.reply)
    assert call.reply is not None and call.reply.code == "NOT_ALLOWED"
    assert owner.call("inbox", release="nobody") == {"released": []}
    assert owner.call("inbox", release="joe") == {"released": ["/node/a/client/joe"]}
    assert mallory.opens() == ""


@pytest.mark.parametrize("text", ["", "a/b", "joe/session/1", "x" * 80])
def test_trial_A5_who_releases_what_cannot_be_a_name_is_told_so(text: str) -> None:
    a = node()
    owner = SimClient(a.net, a.ipc, "owner").connected()
    call = owner.ask(lambda request: c.Call(request, "inbox", {"release": text}))
    a.net.until(lambda: call.reply)
    assert call.reply is not None and call.reply.code == "BAD_NAME"


def test_trial_A5_two_machines_whose_user_has_the_same_name_both_work() -> None:
    a = node()
    one, two = unnamed(a, "key one"), unnamed(a, "key two")
    inboxes = [one.inbox(), two.inbox()]
    sender = Keyed(a, "another", "ann")
    sender.send(one.session_name, b"1")
    sender.send(two.session_name, b"2")
    sender.send("client/pi", b"for whom?")
    sender.settled()
    a.net.until(lambda: [inbox.contents for inbox in inboxes] == [[b"1"], [b"2"]])
    assert sender.state(3) == "NOT_CONNECTED"
    for client in (one, two):
        client.publish("k", b"")
        assert client.settled().state(1) == "OK"


def test_trial_A5_a_numbered_session_without_a_chosen_name_keeps_its_own_inbox() -> None:
    a = node()
    one = unnamed(a, "key one", session=1)
    one.inbox()
    name = one.session_name
    one.close()
    sender = Keyed(a, "another", "ann")
    sender.send(name, b"1", force=True)
    sender.settled()
    assert unnamed(a, "key two", session=2).opens() == ""
    other = unnamed(a, "key two", session=1)
    assert other.opens() == "INBOX_TAKEN"
    other.close()
    inbox = unnamed(a, "key one", session=1).inbox()
    a.net.until(lambda: inbox.contents == [b"1"])


@pytest.mark.parametrize("name", ["__sys__", "__sys__x", "a", "b"])
def test_trial_A5_nobody_takes_the_name_of_the_mesh_or_of_a_node(name: str) -> None:
    net = SimNetwork()
    a = net.node("a")
    net.node("b", "a")
    net.run(3)
    stranger = Stranger(a)
    stranger.as_client(name=name)
    assert stranger.refusal == "BAD_NAME"


def test_trial_A5_a_user_may_be_called_as_the_machine_is() -> None:
    a = node()
    stranger = Stranger(a)
    stranger.as_client(name="a", named=False)
    assert not stranger.refusal
    stranger = Stranger(a)
    stranger.as_client(b"y" * 32, name="__sys__", named=False)
    assert stranger.refusal == "BAD_NAME"


def test_trial_A5_the_session_of_another_key_that_is_away_is_kept_for_it() -> None:
    a = node()
    joe = Keyed(a, "joe's key", "joe", session=1)
    subscription = joe.subscribed("k")
    a.net.cut(joe.name, "a")
    a.net.run(1)
    mallory = Stranger(a)
    mallory.say(c.Who())
    (conn,) = [conn for conn in a.core._conns.values() if not conn.is_open]
    conn.user, conn.trusted, conn.grant = "mallory's key", True, CLIENT
    refused = a.core.parts.clients.admit_client(conn, hello("joe", 1))
    assert isinstance(refused, c.Refuse) and (refused.code, refused.final) == ("SESSION_IN_USE", True)
    a.net.heal()
    SimClient(a.net, a.ipc, "ann").connected().publish("k", b"1")
    a.net.until(lambda: subscription.contents == [b"1"])


def test_trial_A5_nobody_else_is_asked_for_what_a_node_tells_its_own_clients() -> None:
    net = SimNetwork()
    a = net.node("a")
    net.node("b", "a")
    net.run(3)
    for key, is_asked in (("__sys__cluster.node.state[a]", False), (DEAD, True), ("k", True)):
        kind = "pattern" if "#" in key else "exact"
        query = c.Query(kind, key)
        assert bool(a.core.parts.demand.targets(query, {CLIENTS})) is is_asked
