"""Timers: the order in which they fire, and their cancellation."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from mesh.discovery.member import MemberEvent
from mesh.discovery.requests import DiscoveryRequest
from mesh.discovery.timers import Timers, call_off


class Record:
    """Timers, and a record of the actions that were done, with their times."""

    def __init__(self) -> None:
        self.timers = Timers()
        self.done: list[tuple[str, float]] = []

    def after(self, seconds: float, what: str, now: float = 0.0) -> None:
        def act(now: float) -> list[MemberEvent | DiscoveryRequest]:
            self.done.append((what, now))
            return []

        self.timer = self.timers.schedule(seconds, now, act)


def test_what_is_due_is_done_in_its_order_and_once() -> None:
    record = Record()
    record.after(2.0, "second")
    record.after(1.0, "first")
    record.after(2.0, "third")
    assert record.timers.deadline() == 1.0
    record.timers.tick(0.9)
    assert record.done == []
    record.timers.tick(2.0)
    record.timers.tick(3.0)
    assert record.done == [("first", 2.0), ("second", 2.0), ("third", 2.0)]
    assert record.timers.deadline() == inf


def test_what_was_called_off_is_not_done_nor_waited_for() -> None:
    record = Record()
    record.after(1.0, "never")
    call_off(record.timer)
    call_off(None)
    record.after(2.0, "later")
    assert record.timers.deadline() == 2.0
    record.timers.tick(5.0)
    assert record.done == [("later", 5.0)]


@given(st.floats(0, 1e9), st.floats(0, 1e6), st.floats(0, 1e5))
def test_at_its_deadline_everything_is_done_however_late_we_were(now: float, lag: float, wait: float) -> None:
    record = Record()
    record.timers.postpone(lag)
    record.after(wait, "done", now)
    record.timers.postpone(lag / 3)
    record.timers.tick(record.timers.deadline())
    assert len(record.done) == 1
