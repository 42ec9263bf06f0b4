"""Replies to calls: valid ones are read, and malformed ones are refused."""

from typing import Any

import msgspec
import pytest

from mesh.errors import RemoteError
from mesh.wire import replies

ROW = replies.QueueRow(
    name="jobs", terms={"scope": "mesh"}, ready=1, out=2, delayed=3, bytes=4, consumers=5, oldest=6.5,
    arrives=7.5, leaves=8.5, dead=9, acked=10, redelivered=11, node="heron",
)  # fmt: skip


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


@pytest.mark.parametrize("value", SAID, ids=lambda value: type(value).__name__)
def test_what_is_replied_is_read(value: replies.ReplyValue) -> None:
    said = msgspec.msgpack.decode(msgspec.msgpack.encode(value))
    assert replies.read_result(type(value), said) == value


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
