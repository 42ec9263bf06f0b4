"""The fault lab of queues: its counts, and a short run without a violation."""

import pytest

from tests.pages import ROOT, commands
from tests.tools.lab_parts.test_lab_parts import lab
from tools.lab_parts.queue_ledger import Book, judged
from tools.running.queue_records import Event

JOB = ("putter-1-1", 3)
JOE, ANN = "taker-1-1", "taker-2-1"
DONE = {JOE: "took acking acked"}


def told(words: str, job: tuple[str, int] = JOB) -> list[Event]:
    """Return the records of a consumer about a job; a word with + is a redelivery."""
    return [Event(at, word.rstrip("+"), job, int("+" in word)) for at, word in enumerate(words.split())]


def book(said: dict[str, str], state: str = "OK") -> Book:
    return Book(
        answers={JOB: state} if state else {},
        put_at={JOB[0]: "heron"},
        taken_at={JOE: "heron", ANN: "egret"},
        events={life: told(words) for life, words in said.items()},
    )


@pytest.mark.parametrize(
    ("said", "state", "wrong"),
    [
        (DONE, "OK", []),
        ({}, "OK", ["lost"]),
        ({JOE: "took nacked"}, "OK", ["lost"]),
        ({JOE: "took"}, "", []),  # it was never answered, and may be lost
        ({JOE: "took acking"}, "OK", []),  # killed before the confirmation
        ({**DONE, ANN: "took+ acking late"}, "OK", []),
        ({JOE: "took acking late", ANN: "took+ acking acked"}, "OK", []),
        ({**DONE, ANN: "took acking late"}, "OK", ["doubled"]),
        ({**DONE, ANN: "took+ acking acked"}, "OK", ["acked twice"]),
        (DONE, "QUEUE_FULL", ["unwanted"]),
    ],
)
def test_what_is_wrong_is_told_and_nothing_else(said: dict[str, str], state: str, wrong: list[str]) -> None:
    assert [anomaly.what for anomaly in judged(book(said, state))] == wrong


@pytest.mark.parametrize(
    ("numbers", "wrong"), [("1 2 5", []), ("1 5 2", [2]), ("1 5 2+ 6", []), ("3 1 2", [1, 2]), ("5+ 1 2", [])]
)
def test_where_nothing_moves_what_is_new_comes_in_order(numbers: str, wrong: list[int]) -> None:
    events = [
        event
        for word in numbers.split()
        for event in told("took+" if "+" in word else "took", (JOB[0], int(word.rstrip("+"))))
    ]
    for keeps_order in (True, False):
        found = judged(Book(keeps_order=keeps_order, events={JOE: events}))
        assert [anomaly.job[1] for anomaly in found] == wrong * keeps_order


def test_what_is_put_and_given_is_counted() -> None:
    made = book({**DONE, ANN: "took+ acking late"})
    made.answers[JOB[0], 4] = "QUEUE_FULL"
    assert made.figures() == {"put": 1, "refused": 1, "given": 2, "again": 1, "elsewhere": 1}


@pytest.mark.slow
def test_a_short_run_of_queues_finds_nothing_wrong() -> None:
    [command] = [c for c in commands(ROOT / "docs" / "lab.md") if c.startswith("tools/lab queues")]
    said = lab(*command.split()[1:], "--seconds", "8", limit=1800)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "elsewhere" in said.stdout and "row" in said.stdout
