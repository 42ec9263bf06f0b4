"""Nodes whose clocks differ: the difference is reported, and no message is lost."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from mesh.kernel.states.clocks import APART, LOOK, TOGETHER, apart
from mesh.mapping.rules import Rule
from mesh.wire.commands import Hello
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode
from tools.simulator.world.keys import idle

S = 10**9  # ns
HOUR = 3600.0
SOON = 2 * LOOK + 3  # s until a wrong clock is reported


def clocks(node: SimNode) -> list[str]:
    return [e.text for e in node.core.parts.context.events.events_after(0)[0] if e.kind == "clock"]


def apart_by(node: SimNode) -> float:
    return float(node.core.parts.context.figures()["clock_apart"])


def three(rules: Sequence[Rule] = (), **leaps: float) -> tuple[SimNetwork, list[SimNode]]:
    """Return three nodes, some of which start with another clock."""
    net = SimNetwork(1)
    seeds = {"a": (), "b": ("a",), "c": ("a",)}
    nodes = [net.node(name, *seeds[name], sample=idle, rules=tuple(rules)) for name in "abc"]
    for node in nodes:
        node.leap(int(leaps.get(node.name, 0) * S))
        node.restart()
    net.until(lambda: all(len(node.alive) == 2 for node in nodes))
    return net, nodes


# --- reports ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "text"), [(HOUR, "3,600 s ahead of"), (-HOUR, "3,600 s behind")])
def test_a_clock_that_is_wrong_is_reported_once_and_once_when_it_is_right(seconds: float, text: str) -> None:
    net, (a, b, c) = three(b=seconds)
    net.run(SOON)
    for node in (a, c):
        [told] = clocks(node)
        assert told.startswith(f"the clock of b is {text} ours; ") and "date -u" in told
        assert apart_by(node) == pytest.approx(HOUR, abs=1)
    net.run(60)
    assert len(clocks(a)) == 1
    b.leap(-int(seconds * S))
    b.restart()
    net.until(lambda: "b" in a.alive)
    net.run(SOON + 10)
    assert clocks(a)[1:] == [f"the clock of b is within {TOGETHER:g} s of the clock of this node again"]
    assert apart_by(a) < 1


def test_the_node_whose_clock_is_wrong_hears_of_all_others() -> None:
    net, (_, b, _) = three(b=HOUR)
    net.run(SOON)
    told = " ".join(clocks(b))
    assert "the clock of a is 3,600 s behind ours" in told and "the clock of c is 3,600 s behind ours" in told


def test_clocks_that_agree_are_no_event() -> None:
    net, nodes = three(b=APART - 1, c=1)
    net.run(SOON)
    assert [clocks(node) for node in nodes] == [[], [], []]


def test_after_a_pause_in_which_pings_waited_nothing_is_reported() -> None:
    net, (a, b, _) = three()
    peer = a.core.parts.neighbours.peers[b.uuid]
    assert peer.control is not None
    for _ in range(3):  # all arrived at once, when this process went on
        peer.control.clock.tells(b.wall - 60 * S, a.wall)
    net.run(SOON)
    assert clocks(a) == []


def test_of_many_clocks_one_event_says_which_machine_to_look_at() -> None:
    text = apart("heron", {f"n{n}": -HOUR - n for n in range(10)})
    assert text.startswith("the clocks of n0, n1, n2 and 7 more are up to 3,609 s behind the clock of heron")
    assert "at heron, which may be the wrong one" in text


def test_a_node_that_is_gone_counts_no_more() -> None:
    net, (a, b, _) = three(b=HOUR)
    net.run(SOON)
    b.kill()
    net.until(lambda: "b" not in a.alive)
    net.run(LOOK)
    assert apart_by(a) < 1


def test_the_states_of_an_earlier_release_show_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connections of that release do not carry its time."""
    monkeypatch.setattr("mesh.kernel.context.otherclock.OtherClock.tells", lambda self, wall, here: None)
    net, (a, _, _) = three(b=HOUR)
    net.run(60)
    assert len(clocks(a)) == 1


# --- messages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
@pytest.mark.parametrize("rule", ["", "b", "a", "c"])
def test_a_message_lives_as_long_at_each_node_whatever_their_clocks_show(seconds: float, rule: str) -> None:
    net, (a, b, _) = three([Rule(rule, keys=("k",))] if rule else [], b=seconds)
    for source, reader in ((a, b), (b, a)):
        heard = client_of(reader, f"ear-{reader.name}").subscribed("k")
        net.run(2)
        pub = client_of(source, f"pub-{source.name}")
        pub.publish("k", b"0", persistent=True, expires=source.wall + 60 * S)
        pub.publish("k", b"1", expires=source.wall + 60 * S)
        net.run(3)
        assert sorted(heard.contents) == [b"0", b"1"]
        ann = client_of(reader, f"ann-{reader.name}")
        assert b"1" in [found.content for found in ann.get("k")]
        net.run(65)
        assert ann.get("k") == []


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_a_client_on_another_machine_may_have_another_clock(seconds: float) -> None:
    net = SimNetwork(1)
    a = net.node("a")
    heard = client_of(a, "ear").subscribed("k")
    ann = client_of(a, "ann")
    conn = a.core.parts.sessions.by_stream[ann.stream].conn
    assert conn is not None
    conn.clock.tells(a.wall + int(seconds * S), a.wall)
    ann.publish("k", b"minute", expires=a.wall + int((seconds + 60) * S))
    net.run(1)
    assert heard.contents == [b"minute"]
    net.run(60)
    assert ann.get("k") == []


def test_a_hello_without_a_time_measures_nothing() -> None:
    hello = Hello((1, 2), "client", "", b"")
    assert (hello.wall, replace(hello, wall=5).wall) == (0, 5)
