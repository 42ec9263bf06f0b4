"""Drains that get stuck, and refusals of drains."""

from tools.simulator.checks.drains import ENDS, ends_or_names
from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.history import Event, History

FACTS = Facts(("a", "b"), {"": ()})
ROW = ("clients moves 1 clients ",)


def found(*events: Event) -> list[Violation]:
    history = History()
    for event in events:
        history.add(event)
    return ends_or_names(history, FACTS)


def drain(at: float, step: str, *rows: str) -> Event:
    return Event(at, "drain", "a", 1, text=step, keys=rows)


def test_a_step_that_names_what_moves_may_last() -> None:
    assert found(*(drain(at, "clients", *ROW) for at in range(5))) == []


def test_a_step_that_names_nothing_for_three_answers_is_stuck() -> None:
    assert found(drain(1, "quiet"), drain(2, "clients"), drain(3, "clients")) == []
    [violation] = found(*(drain(at, "clients", "log waits 1 messages b") for at in range(3)))
    assert "names nothing" in violation.what
    assert found(*(drain(1, "clients") for _ in range(3))) == [], "a node that was paused answers at once"


def test_without_faults_a_drain_ends() -> None:
    slow = [drain(20.0 + at, "clients", *ROW) for at in range(int(ENDS) + 2)]
    assert "after 60 s" in found(*slow)[0].what
    assert found(*slow[:30], Event(50, "fault", "b", text="cut"), *slow[30:]) == []
    assert found(*slow[:30], drain(50, "staying"), *slow[30:]) == []


def test_a_drain_is_refused_only_if_no_other_node_stays() -> None:
    refused = Event(50, "drain refused", "a", 1, text="NO_OTHER_NODE")
    assert found(refused) == []
    others = Event(50, "drain refused", "a", 1, text="NO_OTHER_NODE", keys=("b",))
    assert len(found(others)) == 1
    assert found(Event(45, "fault", "b", text="cut"), others) == []
