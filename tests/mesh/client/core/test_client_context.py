"""The alarms of a client, in order and in time, and the wake-ups of its shell."""

import pytest

from mesh.client.core.client_context import ClientContext, Timer
from mesh.client.core.effects import ClientEffect, CloseConnection, Find
from mesh.errors import Closed
from tests.mesh.client.core.benches import Promised, quiet_desk


def test_alarms_ring_in_the_order_of_their_times_and_those_of_one_time_as_they_were_set() -> None:
    context, rung = quiet_desk(), list[str]()
    for seconds, name in ((3.0, "c"), (1.0, "a"), (2.0, "b"), (1.0, "aa")):
        context.later(seconds, lambda name=name: rung.append(name))  # type: ignore[misc]
    assert context.due == 1.0
    context.tick(0.9)
    assert rung == []
    context.tick(1.0)
    assert (rung, context.due) == (["a", "aa"], 2.0)
    context.tick(10.0)
    assert (rung, context.due) == (["a", "aa", "b", "c"], float("inf"))


def test_an_alarm_counts_from_the_time_of_the_desk() -> None:
    context = quiet_desk()
    context.set_time(5.0)
    context.later(1.0, lambda: None)
    assert context.due == 6.0


def test_what_is_cancelled_does_not_ring_and_is_not_waited_for() -> None:
    context, rung = quiet_desk(), list[str]()
    first, second, third = (context.later(s, lambda s=s: rung.append(str(s))) for s in (1, 2, 3))  # type: ignore[misc]
    first.cancel()
    assert context.due == 2.0
    context.later(2, third.cancel)
    second.cancel()
    second.cancel()
    context.tick(3.0)
    assert (rung, context.due) == ([], float("inf"))


def test_an_alarm_that_an_alarm_sets_rings_in_its_own_time() -> None:
    context, rung = quiet_desk(), list[float]()

    def again() -> None:
        rung.append(context.now)
        if len(rung) < 3:
            context.later(1.0, again)

    context.later(1.0, again)
    for now in (1.0, 1.5, 2.0, 3.0):
        context.tick(now)
    assert rung == [1.0, 2.0, 3.0] and context.due == float("inf")


def test_what_is_wanted_soon_is_done_in_the_next_tick_and_what_it_wants_in_the_same_one() -> None:
    context, done = quiet_desk(), list[str]()

    def first() -> None:
        done.append("first")
        context.soon(lambda: done.append("third"))

    context.soon(first)
    context.soon(lambda: done.append("second"))
    assert done == []
    context.tick(0.0)
    assert done == ["first", "second", "third"]


def test_effects_leave_in_their_order_and_once() -> None:
    context = quiet_desk()
    context.do(CloseConnection(1))
    context.later(0.0, lambda: context.do(CloseConnection(2)))
    context.soon(lambda: context.do(CloseConnection(3)))
    assert context.tick(0.0) == [CloseConnection(1), CloseConnection(2), CloseConnection(3)]
    assert context.tick(0.0) == []


class Shell:
    """A shell that counts how often it is woken up; while `away`, it raises `Closed`."""

    def __init__(self) -> None:
        self.calls, self.away = 0, False
        self.context = ClientContext(Promised, lambda: 0.5, bytes, self._wake)

    def _wake(self) -> None:
        if self.away:
            raise Closed("The client is not open.")
        self.calls += 1

    def tick(self, now: float = 0.0) -> list[ClientEffect]:
        """Return all effects until no further ones come."""
        done: list[ClientEffect] = []
        while effects := self.context.tick(now):
            done += effects
        return done


def test_the_shell_is_called_once_until_it_has_been_there() -> None:
    shell = Shell()
    for _ in range(3):
        shell.context.do(Find())
        shell.context.soon(lambda: None)
        shell.context.later(1.0, lambda: None)
    assert shell.calls == 1
    shell.tick()
    shell.context.do(Find())
    assert shell.calls == 2


def test_while_the_shell_is_here_nobody_calls_it() -> None:
    shell = Shell()
    shell.context.set_time(0.0)
    shell.context.do(Find())
    assert shell.context.tick(0.0) == [Find()]
    shell.context.do(CloseConnection(1))  # while the shell executes the first effect
    shell.context.later(1.0, lambda: shell.context.do(CloseConnection(2)))
    assert shell.calls == 1, "it was woken by what is new, once"
    assert shell.tick() == [CloseConnection(1)]
    assert shell.tick(1.0) == [CloseConnection(2)]
    assert shell.calls == 1


def test_who_cannot_wake_the_shell_hears_why_and_leaves_nothing_behind() -> None:
    shell = Shell()
    shell.away = True
    for _ in range(2):
        for want in (
            lambda: shell.context.do(Find()),
            lambda: shell.context.soon(lambda: shell.context.do(CloseConnection(1))),
            lambda: shell.context.later(1.0, lambda: shell.context.do(CloseConnection(2))),
        ):
            with pytest.raises(Closed):
                want()
    shell.away = False
    assert (shell.context.due, shell.tick(10.0)) == (float("inf"), [])
    shell.context.do(Find())
    assert (shell.calls, shell.tick()) == (1, [Find()])


def test_a_timer_rings_once_and_for_its_last_call_only() -> None:
    context, rung = quiet_desk(), list[str]()
    timer = Timer(context)
    timer.schedule(1.0, lambda: rung.append("a"))
    timer.schedule(2.0, lambda: rung.append("b"))
    assert (timer.due, context.due) == (2.0, 2.0)
    context.tick(5.0)
    timer.schedule(1.0, lambda: rung.append("c"))
    timer.cancel()
    context.tick(9.0)
    assert (rung, context.due) == (["b"], float("inf"))
