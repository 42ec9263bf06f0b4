"""The watchdog of strategies: it reports a slow one, and passes on results and errors."""

from random import Random

from mesh.balancers.base import Candidate, NodeInfo
from mesh.balancers.round_robin import RoundRobin
from mesh.shell.watchdog import BUDGET, QUIET, WatchedStrategy

TWO = [Candidate("a"), Candidate("b")]


class Clock:
    """A clock whose time advances by `step` at each call."""

    def __init__(self) -> None:
        self.now, self.step = 0.0, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_who_is_slow_is_named_once_in_a_while() -> None:
    clock, told = Clock(), list[str]()
    watched = WatchedStrategy("Theirs", RoundRobin(Random(1).random), told.append, clock)
    watched.started(NodeInfo("heron"))
    assert {watched.pick(TWO), watched.pick(TWO)} == {"a", "b"}
    assert sorted(watched.order(TWO)) == ["a", "b"] and watched.assign(TWO, 4) == {"a": 2, "b": 2}
    assert watched.several(TWO) == ["a", "b"] and not watched.reads_message
    assert told == []
    clock.step = BUDGET * 1.1
    watched.pick(TWO)
    watched.registrations([])
    assert len(told) == 1 and "balancer Theirs blocked this node for 0.06 s" in told[0]
    clock.now += QUIET
    watched.pick(TWO)
    assert len(told) == 2


def test_an_error_of_theirs_stays_one() -> None:
    watched = WatchedStrategy("Theirs", RoundRobin(Random(1).random), lambda text: None)
    try:
        watched.pick([])
    except ValueError as error:
        assert "NO_CANDIDATES" in str(error)
    else:
        raise AssertionError("nobody can be picked of nobody")
