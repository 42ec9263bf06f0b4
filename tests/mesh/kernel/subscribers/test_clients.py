"""The owner of a stream: each node checks the key at HELLO, and then the order of the numbers."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from mesh.kernel.subscribers import ingress
from mesh.mapping.rules import Rule
from mesh.proof import prove, stream_of, stream_text
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.stranger import KEY, STREAM, Stranger
from tests.simulated_client import SimClient, client_of
from tests.simulation import SECRET, SimNetwork, SimNode


def nodes(*names: str) -> list[SimNode]:
    net = SimNetwork()
    made = [net.node(name, *names[:1]) for name in names]
    net.run(3)
    return made


def publish(stranger: Stranger, stream: bytes, first: int, domain: str = "", low: int = 1) -> None:
    stranger.say(c.Publish((1,)), envelope("k", stream=stream, first=first, domain=domain, low=low))


def last_words(stranger: Stranger) -> list[tuple[int, str]]:
    """Return (number, state) of all answers."""
    found = [a for command in stranger.heard if isinstance(command, c.Answers) for a in command.answers]
    return [(number, a.state) for a in found for number in range(a.first, a.last + 1)]


@pytest.mark.parametrize("key", [b"", KEY, b"short", b"x" * 33], ids=["none", "another", "short", "long"])
def test_trial_A1_a_stream_is_not_taken_by_whoever_knows_its_id(key: bytes) -> None:
    rules = (Rule("a", 0, ("D",)),)
    net = SimNetwork()
    a = net.node("a", rules=rules)
    b = net.node("b", "a", rules=rules, known=("a",))
    net.run(3)
    owner, reader = client_of(a, "owner"), client_of(a, "reader").subscribed(pattern="#", domain="D")
    owner.publish("k", b"1", domain="D")
    owner.settled()
    thief = Stranger(b)
    thief.as_client(key, "thief", stream=owner.stream)
    assert thief.refusal == "FORGED_STREAM"
    publish(thief, owner.stream, 1_000_000, "D", low=1_000_000)
    net.run(1)
    owner.publish("k", b"2", domain="D")  # else a repeat: answered OK, but not delivered
    owner.settled()
    net.run(1)
    assert (owner.state(2, "D"), reader.contents) == ("OK", [b"1", b"2"])


@pytest.mark.parametrize("when", ["at once", "after a restart"])
def test_trial_A1_the_id_is_worth_nothing_where_its_owner_was(when: str) -> None:
    (a,) = nodes("a")
    owner = client_of(a, "owner")
    owner.publish("k", b"1", persistent=True)
    owner.settled()
    owner.die()
    a.net.run(70)  # its session is forgotten, its stream is not
    if when == "after a restart":
        a.restart()
    thief = Stranger(a)
    thief.as_client(KEY, "owner", stream=owner.stream)
    assert thief.refusal == "FORGED_STREAM"


def test_trial_A1_its_owner_goes_on_at_another_node_and_after_restarts() -> None:
    a, b = nodes("a", "b")
    reader = client_of(b, "reader").subscribed("k")
    owner = client_of(a, "owner", others=[b.address])
    owner.publish("k", b"1", persistent=True)
    owner.settled()
    a.restart()
    owner.connected().publish("k", b"2", persistent=True)
    owner.settled()
    owner.move(b.address)  # over TCP, with a signature
    owner.connected().publish("k", b"3", persistent=True)
    owner.settled()
    b.restart()
    owner.connected().publish("k", b"4", persistent=True)
    owner.settled()
    a.net.until(lambda: reader.contents == [b"1", b"2", b"3", b"4"])


class Dialler(Stranger):
    """A stranger over TCP, which answers a challenge with the signature of `sign`."""

    def __init__(self, node: SimNode, stream: StreamKey, sign: Callable[[c.Challenge], bytes]) -> None:
        super().__init__(node)
        self._pipe = self.net.connect(self, 1, node.address)
        hello = c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client="eve", stream=stream.id, key=stream.public)
        self.say(hello)
        (challenge,) = self.heard
        assert isinstance(challenge, c.Challenge)
        proof = prove(SECRET, "dialler", b"n" * 16, challenge.nonce, node.address)
        self.say(replace(hello, proof=proof, signature=sign(challenge)))

    @property
    def is_in(self) -> bool:
        return isinstance(self.heard[-1], c.Welcome)


def test_trial_A1_where_a_node_asks_for_proof_the_key_itself_must_be_there() -> None:
    (a,) = nodes("a")
    own, other = StreamKey(b"o" * 32), StreamKey(b"p" * 32)

    def text(challenge: c.Challenge, **wrong: bytes) -> bytes:
        said = {"asker": b"n" * 16, "answerer": challenge.nonce, "uuid": challenge.uuid, **wrong}
        return stream_text(where=a.address, **said)

    assert Dialler(a, own, lambda challenge: own.sign(text(challenge))).is_in
    for sign in (
        lambda challenge: b"",
        lambda challenge: b"s" * 64,
        lambda challenge: other.sign(text(challenge)),
        lambda challenge: own.sign(text(challenge, uuid=b"u" * 16)),  # for another node
        lambda challenge: own.sign(text(challenge, answerer=b"o" * 16)),  # on another connection
        lambda challenge: own.sign(text(challenge, asker=b"o" * 16)),
    ):
        assert Dialler(a, own, sign).refusal == "FORGED_STREAM"


def test_trial_A1_a_stream_is_named_after_the_hash_of_its_key() -> None:
    key = StreamKey(b"s" * 32)
    assert key.id == stream_of(key.public) and len(key.id) == 16
    assert StreamKey(b"t" * 32).id != key.id


@pytest.mark.parametrize("number", [1, 2, 3])
def test_trial_A1_on_one_connection_numbers_only_rise(number: int) -> None:
    (a,) = nodes("a")
    stranger = Stranger(a)
    stranger.as_client()
    publish(stranger, STREAM, 3)
    publish(stranger, STREAM, 1, "other")
    publish(stranger, STREAM, number)
    assert stranger.refusal == "OUT_OF_ORDER"
    again = Stranger(a)
    again.as_client(token=next(w.token for w in stranger.heard if isinstance(w, c.Welcome)))
    publish(again, STREAM, number)  # a new connection may repeat it
    assert not again.refusal and last_words(again) == [(number, "OK")]


def test_trial_A1_numbers_far_ahead_are_no_fault_of_who_publishes_to_several_masters() -> None:
    (a,) = nodes("a")
    stranger = Stranger(a)
    stranger.as_client()
    publish(stranger, STREAM, 200_001, low=200_001)
    publish(stranger, STREAM, 2**62 - 1, low=200_001)
    assert last_words(stranger) == [(200_001, "OK"), (2**62 - 1, "OK")]


def test_trial_A5_a_key_has_no_more_streams_than_nodes_can_remember(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingress, "DOMAINS", 3)
    (a,) = nodes("a")
    client = client_of(a)
    for n in range(5):
        client.publish("k", b"", domain=f"d{n}")
        client.publish("k", b"", domain="d0")
    client.settled()
    assert [client.state(1, f"d{n}") for n in range(5)] == ["OK"] * 3 + ["TOO_MANY_DOMAINS"] * 2
    assert client.state(5, "d0") == "OK"
    client.lose()  # another connection of the session has the same domains
    client.connected().publish("k", b"", domain="d4")
    client.publish("k", b"", domain="d2")
    client.settled()
    assert (client.state(2, "d4"), client.state(2, "d2")) == ("TOO_MANY_DOMAINS", "OK")
    client.close()
    other = client_of(a, "other")
    other.publish("k", b"", domain="d4")
    assert other.settled().state(1, "d4") == "OK", "without keys each session is one for itself"


def test_trial_A5_domains_that_masters_have_forgotten_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingress, "DOMAINS", 1)
    monkeypatch.setattr(ingress, "KEPT", 100.0)
    (a,) = nodes("a")
    client = client_of(a)
    client.publish("k", b"", domain="d0")
    client.publish("k", b"", domain="d1")
    assert client.settled().state(1, "d1") == "TOO_MANY_DOMAINS"
    a.net.run(200)
    client.publish("k", b"", domain="d1")
    client.publish("k", b"", domain="d0")
    client.settled()
    assert (client.state(2, "d1"), client.state(2, "d0")) == ("OK", "TOO_MANY_DOMAINS")


# --- the holder of a session ------------------------------------------------------------------------------


def test_trial_B6_a_named_session_whose_program_is_gone_is_had_at_once() -> None:
    (a,) = nodes("a")
    holder = SimClient(a.net, a.ipc, "joe", session=1).connected()
    a.net.cut(holder.name, "a")  # the node does not notice
    asked = a.net.now
    heir = SimClient(a.net, a.ipc, "joe", session=1).connected()
    assert not heir.refusals and a.net.now - asked < 3
    heir.publish("k", b"")
    assert heir.settled().state(1) == "OK"
    assert a.metric("connected_sessions") == 1


def test_trial_B6_a_living_holder_keeps_its_session_and_all_it_has() -> None:
    (a,) = nodes("a")
    holder = SimClient(a.net, a.ipc, "joe", session=1).connected()
    subscription = holder.subscribed("k")
    others = [SimClient(a.net, a.ipc, "joe", session=1) for _ in range(3)]
    a.net.until(lambda: all(other.refusals for other in others))
    assert {r.code for other in others for r in other.refusals} == {"SESSION_IN_USE"}
    assert all(r.final for other in others for r in other.refusals)
    holder.publish("k", b"1")
    holder.settled()
    a.net.until(lambda: subscription.contents == [b"1"])
    assert holder.is_up and not holder.refusals


def test_trial_B6_words_from_before_its_end_are_no_sign_of_life() -> None:
    (a,) = nodes("a")
    holder = Stranger(a)
    holder.as_client(name="joe", session=1)
    heir = SimClient(a.net, a.ipc, "joe", session=1)
    a.net.until(lambda: any(isinstance(command, c.Ping) for command in holder.heard))
    holder.say(c.Ping(5))
    holder.say(c.Pong(12345))
    heir.connected()
    assert not heir.refusals


def test_trial_B6_who_waits_gets_it_when_the_holder_says_goodbye() -> None:
    (a,) = nodes("a")
    holder = Stranger(a)
    holder.as_client(name="joe", session=1)
    heir = SimClient(a.net, a.ipc, "joe", session=1)
    a.net.until(lambda: any(isinstance(command, c.Ping) for command in holder.heard))
    asked = a.net.now
    holder.say(c.Bye("done"))
    heir.connected()
    assert a.net.now - asked < 1 and not heir.refusals


def test_trial_B6_who_waited_in_vain_and_left_gets_nothing() -> None:
    (a,) = nodes("a")
    holder = SimClient(a.net, a.ipc, "joe", session=1).connected()
    a.net.cut(holder.name, "a")
    heir = SimClient(a.net, a.ipc, "joe", session=1)
    a.net.run(0.5)
    heir.die()
    a.net.run(1)
    a.net.heal()
    a.net.run(15)
    assert holder.is_up
