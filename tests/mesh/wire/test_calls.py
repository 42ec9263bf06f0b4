"""Is what is asked of queues, and replied, read as it is written, and nothing else for it?"""

from typing import Any

import msgspec
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
    RemoteError,
)
from mesh.wire import calls, replies
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
ROW = replies.QueueRow(
    name="jobs", terms={"scope": "mesh"}, ready=1, out=2, delayed=3, bytes=4, consumers=5, oldest=6.5,
    arrives=7.5, leaves=8.5, dead=9, acked=10, redelivered=11, node="heron",
)  # fmt: skip
NAMELESS = (calls.AskQueues, calls.AskQueueDrain)
NO_TERMS: list[Any] = [None, [], "x", {1: 2}, {str(n): n for n in range(65)}]
LEFT = replies.QueueReason(queue="jobs", messages=3, why="nobody takes")
SAID: list[replies.ReplyValue] = [
    ROW,
    replies.QueueRows(queues=[ROW, ROW], more="jobs"),
    replies.Opened(epoch=3, void=[1, 4]),
    replies.Removed(removed=3),
    replies.Peeked(tries=[0, 255]),
    replies.Purged(purged=2**62, missing=["heron"]),
    replies.QueueRow(name="jobs", going=1, parts=[replies.QueuePart(node="a", ready=1)], missing=["b"]),
    replies.QueueWhy(rows=[replies.WhyRow(node="a", messages=1, why="nobody takes")], missing=["b"]),
    replies.Drain(drains=True, left=3, rows=[LEFT], gone=1, stay=2, own=["mine"]),
    replies.MovedOn(taken=3, refused=2, going=1, rest=True),
]


@pytest.mark.parametrize("ask", ASKED, ids=lambda ask: ask.verb)
def test_what_is_asked_is_read(ask: calls.Ask) -> None:
    assert calls.read_ask(type(ask), calls.arguments(ask)) == ask
    assert ask.verb.startswith("queue_")


@pytest.mark.parametrize("value", SAID, ids=lambda value: type(value).__name__)
def test_what_is_replied_is_read(value: replies.ReplyValue) -> None:
    said = msgspec.msgpack.decode(msgspec.msgpack.encode(value))
    assert replies.read_result(type(value), said) == value


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


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (replies.QueueRow, {}), (replies.QueueRow, {"name": 5}),
        (replies.QueueRow, {"name": "a", "ready": 0.5}),
        (replies.QueueRows, {"queues": [{}]}), (replies.Opened, {"void": []}),
        (replies.Opened, {"epoch": "1"}),
        (replies.Opened, {"epoch": 1, "void": ["a"]}), (replies.Peeked, {"tries": [None]}),
    ],
)  # fmt: skip
def test_what_cannot_be_replied_is_malformed(shape: Any, said: Any) -> None:
    with pytest.raises(RemoteError, match="MALFORMED"):
        replies.read_result(shape, said)


def test_what_was_not_settled_is_read() -> None:
    assert replies.read_late([[1, 5, "LEASE_OVER"]]) == [(1, 5, "LEASE_OVER")]
    assert replies.read_late([]) == []
    rows: list[Any] = [[1, 2], [1, 2, 3], ["1", 2, ""], [1, float("nan"), ""], [1, 2, "", 4]]
    wrong: list[Any] = [None, {}, [1], *([row] for row in rows)]
    for bad in wrong:
        with pytest.raises(RemoteError, match="MALFORMED"):
            replies.read_late(bad)


@pytest.mark.parametrize("kind", [NoQueue, QueueFull])
def test_a_put_that_is_refused_says_why(kind: type[PublishRefused]) -> None:
    error = of_answer(Answer("queue/a", 1, 1, kind.code, text=f"so it is [{kind.code}]"))
    assert type(error) is kind and str(error) == f"so it is [{kind.code}]"


@pytest.mark.parametrize(
    "kind", [BadSelector, BadXPath, LeaseOver, NoQueue, QueueExists, QueueFull, QueueInUse]
)
def test_what_is_not_done_with_a_queue_says_why(kind: type[LocalError]) -> None:
    assert type(of_reply(Reply(1, code=kind.code, text="so"))) is kind
