"""Does a node notice, and say, that the clock of another one is wrong?"""

import pytest

from mesh.core.states.clocks import APART, GATHERS, PeerClock, apart
from tests.simulation import SimNetwork, SimNode
from tools.simulating.world.keys import idle

S = 10**9  # ns


def clocks(node: SimNode) -> list[str]:
    return [e.text for e in node.core.parts.desk.events.after(0)[0] if e.kind == "clock"]


def three(**leaps: float) -> tuple[SimNetwork, list[SimNode]]:
    """Three nodes, some of which start with another clock."""
    net = SimNetwork(1)
    nodes = [net.node(name, *(() if name == "a" else ("a",)), sample=idle) for name in "abc"]
    for node in nodes:
        node.leap(int(leaps.get(node.name, 0) * S))
        node.restart()
    net.until(lambda: all(len(node.alive) == 2 for node in nodes))
    net.run(GATHERS + 5)
    return net, nodes


@pytest.mark.parametrize(
    ("seconds", "text"), [(3600, "3,600 s ahead of ours"), (-3600, "3,600 s behind ours")]
)
def test_a_clock_that_is_wrong_is_reported_once_and_once_when_it_is_right(seconds: float, text: str) -> None:
    net, (a, b, c) = three(b=seconds)
    for node in (a, c):
        [told] = clocks(node)
        assert told.startswith(f"the clock of b is {text}: ") and "date -u" in told
        assert node.core.parts.desk.figures()["clock_apart"] == pytest.approx(3600, abs=1)
    net.run(60)
    assert len(clocks(a)) == 1
    b.leap(-int(seconds * S))
    net.run(30)
    assert clocks(a)[1:] == [f"clock of b: less than {APART:.0f} s from ours again"]
    assert a.core.parts.desk.figures()["clock_apart"] < 1


def test_the_node_whose_clock_is_wrong_hears_of_all_others_in_one_event() -> None:
    _, (_, b, _) = three(b=3600)
    [told] = clocks(b)
    assert told.startswith("the clock of a is 3,600 s behind ours, the clock of c is 3,600 s behind ours: ")


def test_clocks_that_agree_are_no_event() -> None:
    _, nodes = three(b=APART - 1, c=1)
    assert [clocks(node) for node in nodes] == [[], [], []]


def test_after_a_pause_in_which_states_waited_nothing_is_reported() -> None:
    net, (a, b, _) = three()
    clock = a.core.parts.clocks
    net.run(2)
    for _ in range(3):  # they came all at once, when this process went on
        clock._shown(b.uuid, -60.0)
    net.run(GATHERS + 10)
    assert clocks(a) == []


def test_what_travels_late_makes_no_clock_look_behind() -> None:
    clock = PeerClock()
    assert not any(clock.shows(ahead) for ahead in (0.0, -20.0, -20.0, 0.1, -9.0))
    assert clock.ahead == 0.1
    assert clock.shows(20.0) and clock.ahead == 20.0


def test_between_apart_and_together_a_clock_is_as_it_was() -> None:
    clock = PeerClock()
    found = [clock.shows(ahead) for ahead in (6.0, 6.0, 6.0, 4.0, 4.0, 4.0, 2.0, 2.0, 2.0, 4.0)]
    assert found == [True, False, False, False, False, False, False, False, True, False]


def test_of_many_clocks_one_event_says_which_machine_to_look_at() -> None:
    text = apart("heron", {f"n{n}": -3600.0 - n for n in range(10)})
    assert text.startswith("clocks of n0, n1, n2 and 7 more are up to 3,609 s behind the clock of heron: ")
    assert "at heron: it may be the one that is wrong" in text


def test_a_node_that_is_gone_counts_no_more() -> None:
    net, (a, b, _) = three(b=3600)
    b.kill()
    net.until(lambda: "b" not in a.alive)
    assert a.core.parts.desk.figures()["clock_apart"] < 1
    b.start()
    net.until(lambda: "b" in a.alive)
    net.run(GATHERS + 5)
    assert len(clocks(a)) == 2, "it is another process, perhaps on a machine that was repaired"


def test_a_clock_that_is_apart_again_before_the_next_event_is_not_reported_again() -> None:
    net, (a, b, _) = three(b=3600)
    for ahead in (0.0, 0.0, 0.0, 3600.0):
        a.core.parts.clocks._shown(b.uuid, ahead)
    net.run(GATHERS + 5)
    assert len(clocks(a)) == 1
