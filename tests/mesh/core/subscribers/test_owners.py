"""Whose is an inbox, a dead letter, a name? Several keys at one node, in the simulated mesh."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.core.desk.conn import CLIENT, MONITOR
from mesh.core.forwarding.deadletters import LetterContents
from mesh.core.subscribers.ingress import Ingress
from mesh.core.subscribers.privacy import as_seen_by
from mesh.routing.interest import CLIENTS
from mesh.values import Headers, Hop
from mesh.wire import commands as c
from mesh.wire.envelope import FORCE_QUEUING, decode
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.core.stranger import STREAM, Stranger
from tests.mesh.envelopes import envelope
from tests.simulated_client import Got, SimClient
from tests.simulation import SimNetwork, SimNode

LINGER = 5.0
DEAD = "__sys__deadMessage/#"


def node(**settings: Any) -> SimNode:
    return SimNetwork().node("a", linger=LINGER, **settings)


class Keyed(SimClient):
    """Comes in with a public CURVE key, as ZeroMQ would vouch for it, and as what its token says."""

    def __init__(self, node: SimNode, user: str, name: str, grant: str = CLIENT, **options: Any) -> None:
        self.node, self.user, self.grant = node, user, grant
        super().__init__(node.net, node.ipc, name, **options)
        self.connected()

    def enter(self, w: c.Welcome) -> None:
        core = self.node.core
        conn = core.parts.clients.sessions[self.stream].conn
        assert conn is not None
        conn.user, conn.grant = self.user, self.grant
        core.parts.clients.sessions[self.stream].user = self.user
        super().enter(w)

    def opens(self) -> str:
        """The code of the refusal, or ""."""
        call = self.ask(lambda request: c.Subscribe(request, 0, c.Query("inbox", "")))
        self.net.until(lambda: call.reply)
        assert call.reply is not None
        return call.reply.code


def unnamed(node: SimNode, user: str, name: str = "pi", session: int = 0) -> Keyed:
    made = Keyed.__new__(Keyed)
    made.is_named = False
    made.__init__(node, user, name, session=session)  # type: ignore[misc]
    return made


def hello(name: str, session: int) -> c.Hello:
    return c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client=name, session=session, stream=b"m" * 16)


def letters(client: SimClient) -> list[Got]:
    return client.get(pattern=DEAD)


# --- inboxes ----------------------------------------------------------------------------------------------


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
    assert a.disk.store.load().tables["inbox"] == {b"/node/a/client/joe": b"another key"}


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


# --- names ------------------------------------------------------------------------------------------------


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


# --- topics of the mesh's own -----------------------------------------------------------------------------

OWN = ["__sys__deadMessage/x", "__sys__cluster.node.state[a]", "__sys__", "__sys__x/y"]


@pytest.mark.parametrize("key", OWN)
def test_trial_A5_topics_of_the_mesh_are_written_by_nodes_only(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for check in ("check_free", "check_domain_free"):
        monkeypatch.setattr(f"mesh.client.core.publisher.{check}", lambda text: None)
    net = SimNetwork()
    a = net.node("a")
    b = net.node("b", "a")
    net.run(3)
    reader = SimClient(net, b.ipc, "reader").connected().subscribed(key)
    client = SimClient(net, a.ipc, "joe").connected()
    client.publish(key, b"forged", persistent=True)
    client.publish(f"k {key}", b"1", b"2")
    client.publish("k", b"", domain=key)
    client.settled()
    assert [client.state(n) for n in (1, 2, 3)] == ["RESERVED"] * 3
    assert client.state(1, key) == "RESERVED"
    assert client.erase("k") == []
    client.publish("k", b"free")
    assert client.settled().state(4) == "OK"
    net.run(1)
    assert reader.contents == []


@pytest.mark.parametrize("key", OWN)
def test_trial_A5_the_node_of_the_client_refuses_them_whoever_is_master(key: str) -> None:
    a = node()
    joe = SimClient(a.net, a.ipc, "joe").connected()
    ingress = Ingress(a.core.parts.desk)
    session = a.core.parts.clients.sessions[joe.stream]
    for n, (words, domain) in enumerate([(key, ""), (f"k {key}", ""), ("k", key)]):
        refused = ingress.refuses(session, envelope(words, first=10 * n + 1, domain=domain))
        assert refused is not None and refused.code == "RESERVED"
    assert ingress.refuses(session, envelope("k")) is None


@pytest.mark.parametrize("key", OWN[1:])
def test_trial_A5_topics_of_the_mesh_are_not_erased(key: str) -> None:
    a = node()
    assert SimClient(a.net, a.ipc, "joe").connected().erase(key) == "RESERVED"


# --- dead letters -----------------------------------------------------------------------------------------


def dead_letter(a: SimNode, to: str = "client/joe", text: bytes = b"secret") -> Keyed:
    """Its sender, when it is dead."""
    sender = Keyed(a, "ann's key", "ann")
    sender.send(to, text, force=True, expires=a.wall + 1_000_000_000)
    sender.settled()
    before = a.metric("dead")
    a.net.until(lambda: a.metric("dead") > before)
    return sender


def test_trial_A5_a_dead_letter_is_read_by_its_sender_its_receiver_and_nodes_only() -> None:
    a = node()
    joe = Keyed(a, "joe's key", "joe")
    joe.inbox()
    joe.close()
    mallory = Keyed(a, "mallory's key", "mallory")
    following = mallory.subscribed(pattern=DEAD)
    sender = dead_letter(a)
    a.net.run(3 * LINGER)  # the inbox is anybody's now, what died in it is not
    heir = Keyed(a, "mallory's key", "joe")
    assert heir.opens() == ""
    receiver = Keyed(a, "joe's key", "other")
    local = SimClient(a.net, a.ipc, "owner").connected()
    assert [[m.content for m in letters(who)] for who in (sender, receiver)] == [[b"secret"]] * 2
    monitor = Keyed(a, "monitor's key", "m", grant=MONITOR)
    for who in (mallory, heir, monitor):
        (letter,) = letters(who)
        assert letter.content == b""
    a.net.until(lambda: following.got)
    assert following.contents == [b""]
    local.connected()
    (whole,) = local.subscribed(pattern=DEAD).got or letters(local)
    assert whole.content == b"secret"


@pytest.mark.parametrize("words", ["__sys__deadMessage/x", "__sys__deadMessage/x __sys__deadMessage/y"])
def test_trial_A5_a_dead_letter_that_does_not_say_whose_it_was_is_shown_to_nodes_only(words: str) -> None:
    a = node()
    mallory, owner = Keyed(a, "mallory's key", "m"), SimClient(a.net, a.ipc, "owner").connected()
    letter = envelope(words, [b"secret"] * len(words.split()))
    closed = as_seen_by(a.core.parts.clients.sessions[mallory.stream], letter)
    assert b"secret" not in closed.body and closed.count == letter.count
    assert decode(closed.header(), closed.body) == closed
    assert as_seen_by(a.core.parts.clients.sessions[owner.stream], letter) is letter


@pytest.mark.parametrize(("to", "is_whole"), [("queue/jobs", True), ("jobs", False), ("client/joe", False)])
def test_a_dead_letter_of_a_queue_is_for_all_as_its_messages_are(to: str, is_whole: bool) -> None:
    mallory = Keyed(node(), "mallory's key", "m")
    headers = Headers([("dead-code", "REJECTED"), ("dead-to", to)])
    said = LetterContents("x", "k", encode_properties(Properties(headers)), b"job", 0, ())
    letter = said.envelope(STREAM, 1, "__sys__deadMessage/x", "", "a")
    seen = as_seen_by(mallory.node.core.parts.clients.sessions[mallory.stream], letter)
    assert (seen is letter, seen.message(0)[1]) == ((True, b"job") if is_whole else (False, b""))


def test_trial_A5_a_dead_letter_is_erased_by_those_who_may_read_it() -> None:
    a = node()
    mallory = Keyed(a, "mallory's key", "mallory")
    sender = dead_letter(a)
    (letter,) = letters(sender)
    assert mallory.erase(letter.key) == "NOT_ALLOWED"
    assert len(letters(sender)) == 1
    assert sender.erase(letter.key) == [letter.key]
    assert letters(sender) == []


# --- sessions ---------------------------------------------------------------------------------------------


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
    refused = a.core.parts.clients.admit(conn, hello("joe", 1))
    assert isinstance(refused, c.Refuse) and (refused.code, refused.final) == ("SESSION_IN_USE", True)
    a.net.heal()
    SimClient(a.net, a.ipc, "ann").connected().publish("k", b"1")
    a.net.until(lambda: subscription.contents == [b"1"])


def test_trial_A5_the_same_key_takes_it_at_once() -> None:
    a = node()
    joe = Keyed(a, "", "joe", session=1)
    joe.die()
    again = SimClient(a.net, a.ipc, "joe", session=1).connected()
    assert not again.refusals


# --- what nodes say ---------------------------------------------------------------------------------------


def peer_of(a: SimNode) -> Stranger:
    """A node that lies."""
    peer = Stranger(a)
    peer.as_node(name="liar")
    return peer


@pytest.mark.parametrize(("key", "domain"), [("__sys__deadMessage/x", ""), ("k", "__sys__x")])
def test_trial_A5_what_a_node_hands_on_is_not_the_mesh_s_own_either(key: str, domain: str) -> None:
    a = node()
    reader = SimClient(a.net, a.ipc, "reader").connected()
    subscription = reader.subscribed(key, domain=domain)
    peer = peer_of(a)
    e = envelope(key, [b"forged"], domain=domain, persistent=True)
    e = replace(e, sender="/node/liar/client/__sys__", route=(Hop("liar", 0, a.wall),))
    peer.say(c.Forward((1,)), e)
    peer.say(c.Call(1, "erase", {"key": "__sys__cluster.node.state[a]", "domain": ""}))
    a.net.run(1)
    assert reader.get(key) == [] == subscription.got
    outcomes = [o.answer.state for told in peer.heard if isinstance(told, c.Outcomes) for o in told.outcomes]
    assert outcomes and "OK" not in outcomes
    (reply,) = [told for told in peer.heard if isinstance(told, c.Reply)]
    assert reply.code == "RESERVED"


def test_trial_A5_nobody_else_is_asked_for_what_a_node_tells_its_own_clients() -> None:
    net = SimNetwork()
    a = net.node("a")
    net.node("b", "a")
    net.run(3)
    for key, is_asked in (("__sys__cluster.node.state[a]", False), (DEAD, True), ("k", True)):
        kind = "pattern" if "#" in key else "exact"
        query = c.Query(kind, key)
        assert bool(a.core.parts.demand.targets(query, {CLIENTS})) is is_asked


@pytest.mark.parametrize("key", ["__sys__x", "__sys__deadMessage/1"])
def test_trial_A5_letters_carry_no_key_of_the_mesh_s_own(key: str) -> None:
    a = node()
    stranger = Stranger(a)
    stranger.as_client()
    letter = replace(envelope(key, stream=STREAM), to="client/joe", flags=FORCE_QUEUING)
    stranger.say(c.Publish((1,)), letter)
    (answers,) = [told for told in stranger.heard if isinstance(told, c.Answers)]
    assert [answer.state for answer in answers.answers] == ["RESERVED"]
