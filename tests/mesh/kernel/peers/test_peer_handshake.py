"""How nodes meet, part and stay apart: the whole core in a simulated network."""

from collections import Counter
from collections.abc import Hashable
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.kernel.context.conn import Conn
from mesh.wire.commands import Ping
from mesh.wire.frames import read
from tests.seeds import scenarios
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode


def links(node: SimNode) -> dict[str, tuple[bool, bool]]:
    """Return whether each peer has a control and a data connection."""
    peers = node.core.parts.neighbours.peers.values()
    return {p.node.name: (p.control is not None, p.data is not None) for p in peers}


def open_pipes(net: SimNetwork, one: SimNode, other: SimNode) -> int:
    return sum(pipe.is_open and {one, other} == set(pipe.ends) for pipe in net.pipes)


def test_one_seed_introduces_everybody_to_everybody() -> None:
    net = SimNetwork()
    nodes = net.mesh("a", "b", "c", "d")
    net.run(5)
    for node in nodes:
        assert {name: link[0] for name, link in links(node).items()} == {
            other.name: True for other in nodes if other is not node
        }


@pytest.mark.parametrize("seed", scenarios(range(20), 5))
def test_of_two_that_dial_each_other_at_once_one_connection_of_a_kind_stays(seed: int) -> None:
    net = SimNetwork(seed)
    a = net.node("a")
    b = net.node("b", "a")
    a._seeds = (b.address,)
    a.restart()
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    one, two = client_of(a).connected(), client_of(b).connected()
    one.subscribe("k")
    two.subscribe("k")
    net.run(10)
    assert links(a) == {"b": (True, True)} and links(b) == {"a": (True, True)}
    assert open_pipes(net, a, b) == 2


def test_logins_are_lazy_and_no_more_than_needed() -> None:
    net = SimNetwork()
    nodes = net.mesh("a", "b", "c", "d", "e")
    net.run(3)
    client = client_of(nodes[1]).connected()
    client.call("ls")
    client.call("info")
    assert [node.metric("data_links") for node in nodes] == [0] * 5
    client.subscribed("k")
    assert [node.metric("data_links") for node in nodes] == [1, 4, 1, 1, 1]
    client.call("ls")
    net.run(20)
    assert [node.metric("data_links") for node in nodes] == [1, 4, 1, 1, 1]


def test_a_silent_peer_is_suspect_then_dead_and_comes_back() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    net.run(3)
    net.cut("a", "b")
    net.run(3)
    assert a.alive == {"b"}
    assert [m.state for m in a.core.parts.neighbours.membership.all() if m.name == "b"] == ["suspect"]
    net.run(6)
    assert a.alive == b.alive == set()
    net.heal()
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})


def test_a_goodbye_is_heard_at_once() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    b.close()
    net.run(0.5)
    assert a.alive == set()
    assert [m.state for m in a.core.parts.neighbours.membership.all() if m.name == "b"] == ["left"]


def test_a_restarted_node_is_known_by_its_higher_boot() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    b.restart()
    net.until(lambda: any(m.boot == 2 for m in a.core.parts.neighbours.membership.alive()))
    assert a.alive == {"b"}


def test_a_second_live_node_of_a_name_gives_up() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    twin = net.node("b", "a")
    net.until(lambda: twin.stop is not None)
    assert twin.stop is not None and twin.stop.code == "NAME_IN_USE" and "--id" in twin.stop.error
    assert a.alive == {"b"} and b.is_up


def test_the_name_of_a_dead_node_is_free() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    b.kill()
    net.until(lambda: a.alive == set())
    heir = net.node("b", "a")
    net.until(lambda: a.alive == {"b"} and heir.alive == {"a"})
    assert heir.stop is None


def test_the_name_of_a_node_that_was_just_killed_is_waited_for() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    net.run(3)
    b.kill()
    net.run(1)
    heir = net.node("b", "a")
    net.until(lambda: heir.alive == {"a"})
    assert net.now > 4 and heir.stop is None
    b.start()
    net.until(lambda: b.stop is not None)
    assert b.stop is not None and b.stop.code == "NAME_IN_USE"
    assert a.alive == {"b"} and heir.is_up


def test_a_copied_identity_is_refused() -> None:
    net = SimNetwork()
    a = net.node("a")
    copy = net.node("c", "a", uuid=a.uuid)
    net.run(5)
    assert a.alive == copy.alive == set()
    assert any("SAME_UUID" in note for note in a.notes)


@pytest.mark.parametrize(
    ("settings", "code"), [({"cluster": "other"}, "CLUSTER"), ({"secret": b"x" * 32}, "BAD_COOKIE")]
)
def test_who_does_not_belong_here_stays_out(settings: dict[str, object], code: str) -> None:
    net = SimNetwork()
    a = net.node("a")
    stranger = net.node("s", "a", **settings)
    net.run(5)
    assert a.alive == stranger.alive == set()
    assert any(code in note for note in (*a.notes, *stranger.notes))


def test_a_peer_that_refuses_us_is_shown_as_such_until_it_does_not() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    link = b.core.parts.neighbours.peers[a.uuid].link
    a._settings["cluster"] = "other"
    a.restart()
    net.until(lambda: link.describe(net.now) == "not allowed by peer: CLUSTER")
    net.run(100)
    assert link.describe(net.now) == "not allowed by peer: CLUSTER"
    for node in (a, b):
        told = [
            event for event in node.core.parts.context.events.events_after(0)[0] if event.kind == "refused"
        ]
        assert 1 <= len(told) <= 8  # fewer than there were refusals
    assert b.alive == set()
    del a._settings["cluster"]
    a.restart()
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    assert link.describe(net.now) == "polling (idle)"
    writer, reader = client_of(a).connected(), client_of(b).connected()
    subscription = reader.subscribed("k")
    writer.publish("k", b"1")
    net.until(lambda: subscription.contents == [b"1"])


def test_hearsay_changes_no_key_that_a_node_had_when_it_was_met() -> None:
    net = SimNetwork()
    a, b = net.node("a"), net.node("b", "a")
    me = replace(b.core.parts.context.me, key=b"k" * 32)
    a.core.parts.neighbours.acquaintances.met(me)
    a.core.advertised(replace(me, key=b"x" * 32, boot=2, address="tcp://10.0.0.9:1"), net.now, net.wall)
    a.core.advertised(replace(me, key=b"", boot=3), net.now, net.wall)
    net.run(5)
    assert a.alive == set()
    assert any("WRONG_IDENTITY" in note for note in b.notes)


def test_over_tcp_a_client_without_the_cookie_is_refused_and_one_with_it_is_not() -> None:
    net = SimNetwork()
    a = net.node("a")
    good = SimClient(net, a.address, "good").connected()
    bad = SimClient(net, a.address, "bad", secret=b"y" * 32)
    net.run(3)
    assert good.is_up and not bad.is_up
    assert {refusal.code for refusal in bad.refusals} == {"BAD_COOKIE"}
    assert a.metric("wrong_cookie") >= 1


def test_a_well_known_session_has_one_holder() -> None:
    net = SimNetwork()
    a = net.node("a")
    first = SimClient(net, a.ipc, "joe", session=1).connected()
    second = SimClient(net, a.ipc, "joe", session=1)
    net.run(2)
    assert first.session_name == "/node/a/client/joe/session/1"
    assert not second.is_up and {r.code for r in second.refusals} == {"SESSION_IN_USE"}
    first.close()
    net.until(lambda: second.is_up)


def test_A37_a_setting_for_one_node_wins_over_the_setting_for_all() -> None:
    net = SimNetwork()
    a = net.node("a", ping=2.0, of_nodes={"b": {"ping": 0.5}})
    for name in ("b", "c"):
        net.node(name, "a", ping=100.0)
    net.until(lambda: a.alive == {"b", "c"})
    net.run(1)
    pings = {"b": 0, "c": 0}
    hear = SimNode.hear

    def counted(self: SimNode, key: Hashable, frames: list[bytes]) -> None:
        if isinstance(read(frames)[0], Ping) and self.name in pings:
            pings[self.name] += 1
        hear(self, key, frames)

    SimNode.hear = counted  # type: ignore[method-assign]
    try:
        net.run(20)
    finally:
        SimNode.hear = hear  # type: ignore[method-assign]
    assert pings["b"] == pytest.approx(40, abs=2)
    assert pings["c"] == pytest.approx(10, abs=2)


def test_who_was_called_dead_in_a_cut_denies_that_at_once_and_the_next_one_is_noticed_as_soon() -> None:
    # The node learns it on the connection on which it returns, which is not there yet at its HELLO.
    net = SimNetwork(1)
    *others, d = [net.node("a"), *(net.node(name, "a") for name in "bcd")]
    net.until(lambda: all(len(node.alive) == 3 for node in (*others, d)))
    for turn in (1, 2, 3):
        for node in others:
            net.cut(node.name, "d")
        net.until(lambda: not any("d" in node.alive for node in others), 9.0)
        net.heal()
        net.until(lambda: all("d" in node.alive for node in others))
        net.run(3.0)
        of_d = [node.core.parts.neighbours.membership.member_of(d.uuid) for node in (*others, d)]
        assert [member and member.incarnation for member in of_d] == [turn] * 4


def test_A37_a_node_with_its_own_delays_is_dialed_by_them_before_and_after_it_is_known() -> None:
    net = SimNetwork()
    short = {"backoff_min": 0.2, "backoff_max": 0.4}
    b, c = net.node("b"), net.node("c")
    a = net.node("a", "b", "c", backoff_min=5.0, of_nodes={"b": short})
    net.until(lambda: a.alive == {"b", "c"})
    b.kill()
    c.kill()
    net.run(10)
    dialled = Counter[str]()
    dialler = a.core.parts.dialler
    dial = dialler.dial

    def counted(address: str, *how: Any, **more: Any) -> Conn:
        dialled[address] += 1
        return dial(address, *how, **more)

    dialler.dial = counted  # type: ignore[method-assign]
    net.run(60)
    assert dialled[b.core.parts.context.me.address] > 4 * dialled[c.core.parts.context.me.address] > 0


def test_A37_the_address_of_a_configured_node_is_dialed_by_its_delays() -> None:
    net = SimNetwork()
    b, c = (net.node(name) for name in "bc")
    places = {node.name: node.core.parts.context.me.address for node in (b, c)}
    b.kill()
    c.kill()
    a = net.node(
        "a", "b", "c", backoff_min=5.0, seed_names={place: name for name, place in places.items()},
        of_nodes={"b": {"backoff_min": 0.2, "backoff_max": 0.4}},
    )  # fmt: skip
    net.run(30)
    seeds = a.core.parts.neighbours.acquaintances._seeds
    assert seeds[places["b"]].attempt > 4 * seeds[places["c"]].attempt > 0
