"""Topics and keys that only nodes may write."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.kernel.subscribers.ingress import Ingress
from mesh.values import Hop
from mesh.wire import commands as c
from mesh.wire.envelope import FORCE_QUEUING
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.stranger import STREAM, Stranger
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode


def node(**settings: Any) -> SimNode:
    return SimNetwork().node("a", **settings)


OWN = ["__sys__deadMessage/x", "__sys__cluster.node.state[a]", "__sys__", "__sys__x/y"]


def test_trial_A5_topics_of_the_mesh_are_written_by_nodes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    key = OWN[0]
    for check in ("publisher.check_free", "accumulator.check_domain_free"):
        monkeypatch.setattr(f"mesh.client.core.{check}", lambda text: None)
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
    ingress = Ingress(a.core.parts.context)
    session = a.core.parts.clients.sessions[joe.stream]
    for n, (words, domain) in enumerate([(key, ""), (f"k {key}", ""), ("k", key)]):
        refused = ingress.refuses(session, envelope(words, first=10 * n + 1, domain=domain))
        assert refused is not None and refused.code == "RESERVED"
    assert ingress.refuses(session, envelope("k")) is None


def peer_of(a: SimNode) -> Stranger:
    """Return a peer that lies."""
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


@pytest.mark.parametrize("key", ["__sys__x", "__sys__deadMessage/1"])
def test_trial_A5_letters_carry_no_key_of_the_mesh_s_own(key: str) -> None:
    a = node()
    stranger = Stranger(a)
    stranger.as_client()
    letter = replace(envelope(key, stream=STREAM), to="client/joe", flags=FORCE_QUEUING)
    stranger.say(c.Publish((1,)), letter)
    (answers,) = [told for told in stranger.heard if isinstance(told, c.Answers)]
    assert [answer.state for answer in answers.answers] == ["RESERVED"]
