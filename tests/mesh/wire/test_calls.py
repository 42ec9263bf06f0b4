"""Calls to queues: valid ones are read, and malformed ones are refused."""

from typing import Any

import pytest

from mesh.client.core.refusals import of_answer, of_reply
from mesh.errors import (
    BadQuery,
    BadSelector,
    BadXPath,
    LeaseOver,
    LocalError,
    NoQueue,
    PublishRefused,
    QueueExists,
    QueueFull,
    QueueInUse,
)
from mesh.wire import calls
from mesh.wire.commands import Answer, Reply

ASKED: list[calls.Ask] = [
    calls.AskQueueDeclare(name="jobs", terms={"max_count": 5, "nodes": ["a"], "expiry": None}),
    calls.AskQueueRemove(name="jobs", if_unused=False),
    calls.AskQueues(after="a", limit=3),
    calls.AskQueueInfo(name="jobs"),
    calls.AskQueuePeek(name="jobs", count=100),
    calls.AskQueuePurge(name="jobs"),
    calls.AskQueueMove(name="jobs", to="heron", count=10_000),
    calls.AskQueuePurge(name="jobs", here=True),
    calls.AskQueueWhy(name="jobs"),
    calls.AskQueueDrain(do="begin"),
]
NAMELESS = (calls.AskQueues, calls.AskQueueDrain)
NO_TERMS: list[Any] = [None, [], "x", {1: 2}, {str(n): n for n in range(65)}]


@pytest.mark.parametrize("ask", ASKED, ids=lambda ask: ask.verb)
def test_what_is_asked_is_read(ask: calls.Ask) -> None:
    assert calls.read_ask(type(ask), calls.arguments(ask)) == ask
    assert ask.verb.startswith("queue_")


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        *((shape, {"name": bad}) for shape in map(type, ASKED) if shape not in NAMELESS
          for bad in (None, 5, b"jobs", "x" * 201, ["jobs"])),
        *((calls.AskQueuePeek, {"name": "jobs", "count": bad})
          for bad in (0, -1, 101, 2**63, 1.5, float("nan"), "1", None)),
        (calls.AskQueueRemove, {"name": "jobs", "if_unused": 1}), (calls.AskQueueInfo, {}),
        (calls.AskQueueInfo, []),
        *((calls.AskQueueDeclare, {"name": "jobs", "terms": bad})
          for bad in NO_TERMS),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_a_bad_query(shape: Any, said: Any) -> None:
    with pytest.raises(BadQuery):
        calls.read_ask(shape, said)


@pytest.mark.parametrize("kind", [NoQueue, QueueFull])
def test_a_put_that_is_refused_says_why(kind: type[PublishRefused]) -> None:
    error = of_answer(Answer("queue/a", 1, 1, kind.code, text=f"so it is [{kind.code}]"))
    assert type(error) is kind and str(error) == f"so it is [{kind.code}]"


@pytest.mark.parametrize(
    "kind", [BadSelector, BadXPath, LeaseOver, NoQueue, QueueExists, QueueFull, QueueInUse]
)
def test_what_is_not_done_with_a_queue_says_why(kind: type[LocalError]) -> None:
    assert type(of_reply(Reply(1, code=kind.code, text="so"))) is kind
