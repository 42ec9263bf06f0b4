"""Is what is due done in its order and in its time, and is the shell woken when it must be, and once?"""

import pytest

from mesh.client.core.client_context import ClientContext
from mesh.client.core.effects import ClientEffect, CloseConnection, Find
from mesh.errors import Closed
from tests.mesh.client.core.benches import Promised, quiet_desk


def test_alarms_ring_in_the_order_of_their_times_and_those_of_one_time_as_they_were_set() -> None:
    desk, rung = quiet_desk(), list[str]()
    for seconds, name in ((3.0, "c"), (1.0, "a"), (2.0, "b"), (1.0, "aa")):
        desk.later(seconds, lambda name=name: rung.append(name))  # type: ignore[misc]
    assert desk.due == 1.0
    desk.tick(0.9)
    assert rung == []
    desk.tick(1.0)
    assert (rung, desk.due) == (["a", "aa"], 2.0)
    desk.tick(10.0)
    assert (rung, desk.due) == (["a", "aa", "b", "c"], float("inf"))


def test_an_alarm_counts_from_the_time_of_the_desk() -> None:
    desk = quiet_desk()
    desk.begin(5.0)
    desk.later(1.0, lambda: None)
    assert desk.due == 6.0


def test_what_is_cancelled_does_not_ring_and_is_not_waited_for() -> None:
    desk, rung = quiet_desk(), list[str]()
    first, second, third = (desk.later(s, lambda s=s: rung.append(str(s))) for s in (1, 2, 3))  # type: ignore[misc]
    first.cancel()
    assert desk.due == 2.0
    desk.later(2, third.cancel)
    second.cancel()
    second.cancel()
    desk.tick(3.0)
    assert (rung, desk.due) == ([], float("inf"))


def test_an_alarm_that_an_alarm_sets_rings_in_its_own_time() -> None:
    desk, rung = quiet_desk(), list[float]()

    def again() -> None:
        rung.append(desk.now)
        if len(rung) < 3:
            desk.later(1.0, again)

    desk.later(1.0, again)
    for now in (1.0, 1.5, 2.0, 3.0):
        desk.tick(now)
    assert rung == [1.0, 2.0, 3.0] and desk.due == float("inf")


def test_what_is_wanted_soon_is_done_in_the_next_tick_and_what_it_wants_in_the_same_one() -> None:
    desk, done = quiet_desk(), list[str]()

    def first() -> None:
        done.append("first")
        desk.soon(lambda: done.append("third"))

    desk.soon(first)
    desk.soon(lambda: done.append("second"))
    assert done == []
    desk.tick(0.0)
    assert done == ["first", "second", "third"]


def test_effects_leave_in_their_order_and_once() -> None:
    desk = quiet_desk()
    desk.do(CloseConnection(1))
    desk.later(0.0, lambda: desk.do(CloseConnection(2)))
    desk.soon(lambda: desk.do(CloseConnection(3)))
    assert desk.tick(0.0) == [CloseConnection(1), CloseConnection(2), CloseConnection(3)]
    assert desk.tick(0.0) == []


class Shell:
    """Counts how often it is called, and can be away."""

    def __init__(self) -> None:
        self.calls, self.away = 0, False
        self.desk = ClientContext(Promised, lambda: 0.5, bytes, self._wake)

    def _wake(self) -> None:
        if self.away:
            raise Closed("The client is not open.")
        self.calls += 1

    def tick(self, now: float = 0.0) -> list[ClientEffect]:
        """Until there is nothing to do."""
        done: list[ClientEffect] = []
        while effects := self.desk.tick(now):
            done += effects
        return done


def test_the_shell_is_called_once_until_it_has_been_there() -> None:
    shell = Shell()
    for _ in range(3):
        shell.desk.do(Find())
        shell.desk.soon(lambda: None)
        shell.desk.later(1.0, lambda: None)
    assert shell.calls == 1
    shell.tick()
    shell.desk.do(Find())
    assert shell.calls == 2


def test_while_the_shell_is_here_nobody_calls_it() -> None:
    shell = Shell()
    shell.desk.begin(0.0)
    shell.desk.do(Find())
    assert shell.desk.tick(0.0) == [Find()]
    shell.desk.do(CloseConnection(1))  # while it does that
    shell.desk.later(1.0, lambda: shell.desk.do(CloseConnection(2)))
    assert shell.calls == 1, "it was woken by what is new, once"
    assert shell.tick() == [CloseConnection(1)]
    assert shell.tick(1.0) == [CloseConnection(2)]
    assert shell.calls == 1


def test_who_cannot_wake_the_shell_hears_why_and_leaves_nothing_behind() -> None:
    shell = Shell()
    shell.away = True
    for _ in range(2):
        for want in (
            lambda: shell.desk.do(Find()),
            lambda: shell.desk.soon(lambda: shell.desk.do(CloseConnection(1))),
            lambda: shell.desk.later(1.0, lambda: shell.desk.do(CloseConnection(2))),
        ):
            with pytest.raises(Closed):
                want()
    shell.away = False
    assert (shell.desk.due, shell.tick(10.0)) == (float("inf"), [])
    shell.desk.do(Find())
    assert (shell.calls, shell.tick()) == (1, [Find()])
