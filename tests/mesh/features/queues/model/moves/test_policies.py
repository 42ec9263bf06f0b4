"""Redistribution policies of other packages: how they are found, and what their mistakes may cost."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from mesh.errors import LocalError
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.moves import policies
from mesh.features.queues.model.moves.policies import GROUP, GuardedPolicy, Policies, Policy, policy
from mesh.features.queues.model.moves.queue_report import QueueReport
from mesh.features.queues.model.moves.redistribution import Mine, Move, moves
from tests.each import each

A, B, C, D = (bytes([n]) * 16 for n in (1, 2, 3, 4))
OTHERS = {A: QueueReport(10), B: QueueReport(10), C: QueueReport(10, is_leaving=True)}
USUAL = [Move(A, 10, False)]


def asked(it: Policy) -> list[Move]:
    return it(QueueTerms(), Mine(90, 0.0), OTHERS, [B], 5.0)


def one_more(*_: Any) -> list[Move]:
    return [Move(A, 1, False)]


def fails(*_: Any) -> list[Move]:
    raise KeyError("so")


@pytest.mark.parametrize("answer", [[], [Move(A, 10, True)], [Move(A, 3, True), Move(A, 1, False)]])
def test_what_can_be_is_taken_as_it_is(answer: list[Move]) -> None:
    it = GuardedPolicy("Mine", lambda *_: answer)
    assert asked(it) == answer and (it.faults, it.fault) == (0, "")


@each(
    "answer",
    [
        None,
        "moves",
        {A: 1},
        (Move(A, 1, False),),
        [None],
        [(A, 1, False)],
        [Move(A, 0, False)],
        [Move(A, -1, False)],
        [Move(A, 11, False)],
        [Move(A, 1.0, False)],  # type: ignore[arg-type]
        [Move(A, True, False)],
        [Move(A, 1, 1)],  # type: ignore[arg-type]
        [Move(A, 1, False), Move(B, 1, False)],  # a move to B is already in progress
        [Move(C, 1, False)],
        [Move(D, 1, False)],
        [Move([], 1, False)],  # type: ignore[arg-type]
        [Move(A, float("nan"), False)],  # type: ignore[arg-type]
    ],
)
def test_where_it_answers_nonsense_the_usual_rules_answer(answer: Any) -> None:
    it = GuardedPolicy("Mine", lambda *_: answer)
    assert asked(it) == USUAL and it.faults == 1
    assert it.fault.startswith("redistribution Mine ")


def test_where_it_fails_the_usual_rules_answer() -> None:
    it = GuardedPolicy("Mine", fails)
    assert asked(it) == asked(it) == USUAL and it.faults == 2
    assert it.fault == "redistribution Mine raised KeyError: 'so'; the usual rules were used instead."


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    here = __name__
    found = [
        EntryPoint("OneMore", f"{here}:one_more", GROUP),
        EntryPoint("NoFunction", f"{here}:A", GROUP),
        EntryPoint("Gone", f"{here}:gone", GROUP),
        EntryPoint("Twice", f"{here}:one_more", GROUP),
        EntryPoint("Twice", f"{here}:fails", GROUP),
        EntryPoint("Fails", f"{here}:fails", GROUP),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: found if group == GROUP else [])


def test_one_is_found_by_its_name_and_without_one_it_is_ours() -> None:
    assert asked(policy("OneMore")) == [Move(A, 1, False)]
    assert policy() is moves


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("OneMoore", "Did you mean OneMore"),
        ("nothing-like-it", "Installed: Fails, Gone, NoFunction, OneMore, Twice"),
        ("\ud800" * 1000, "Installed"),
        ("NoFunction", "is not a function"),
        ("Gone", "cannot be loaded: AttributeError"),
        ("Twice", "Uninstall all but one"),
    ],
)
def test_what_cannot_be_is_said_with_what_to_do(name: str, says: str) -> None:
    with pytest.raises(LocalError, match="BAD_REDISTRIBUTION") as caught:
        policy(name)
    assert says in str(caught.value) and len(str(caught.value)) < 1000


def test_each_queue_has_its_own_and_what_is_wrong_with_one_is_told_once() -> None:
    told: list[str] = []
    it = Policies(told.append)

    def answer(name: str) -> list[Move]:
        return it.moves(QueueTerms(policy=name), Mine(90, 0.0), OTHERS, [B], 5.0)

    assert answer("") == answer("") != [Move(A, 1, False)] and answer("OneMore") == [Move(A, 1, False)]
    assert told == []
    assert answer("Missing") == answer("Missing") == answer("")
    assert len(told) == 1 and "Missing" in told[0] and "Installed: " in told[0]
    assert answer("Fails") == answer("Fails") == answer("")
    assert len(told) == 2 and "raised KeyError" in told[1]


def test_names_that_peers_think_up_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "REMEMBERED", 5)
    it = Policies(lambda text: None)
    for n in range(20):
        it.moves(QueueTerms(policy=f"p{n}"), Mine(1, 0.0), {}, (), 5.0)
    assert len(it._known) <= 7
