"""Messages that a test makes equal those that a subscriber receives."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass
from typing import Any

import pytest

import mesh
from mesh.errors import BadArgument, BadKey, BadName, BadType, PublishRefused
from mesh.testing import Mesh


@dataclass
class Reading:
    t: float


def test_it_has_what_was_said_of_it() -> None:
    before = time.time_ns()
    made = mesh.Message.make(
        "room/temp",
        "21",
        domain="D",
        headers={"unit": "C"},
        persistent=True,
        expiry=60,
        priority=9,
        sender="/node/b/client/joe/session/-3",
        to="client/ann",
        state="INITIAL",
        route=["b", "c"],
    )
    assert (made.key, made.content, made.text, made.domain) == ("room/temp", b"21", "21", "D")
    assert (made.headers["unit"], made.persistent, made.priority) == ("C", True, 9)
    assert (made.sender, made.to, made.state) == ("/node/b/client/joe/session/-3", "client/ann", "INITIAL")
    assert [hop.node for hop in made.route] == ["b", "c"]
    after, expiry = time.time_ns(), 60_000_000_000
    assert before <= made.sent <= after and before + expiry <= made.expires <= after + expiry
    assert made.source == "" and made.stale is None and not made.provisional


def test_by_default_it_is_as_one_that_was_published() -> None:
    async def told() -> mesh.Message:
        async with Mesh() as m, m.connect(client="test", session=1) as c, c.subscribe("k") as s:
            await c.publish("k", {"t": 1})
            return await anext(s)

    made, heard = mesh.Message.make("k", {"t": 1}), asyncio.run(told())
    what = (
        "key",
        "content",
        "value",
        "domain",
        "headers",
        "persistent",
        "priority",
        "expires",
        "sender",
        "to",
        "state",
    )
    assert [getattr(made, name) for name in what] == [getattr(heard, name) for name in what]
    assert [hop.node for hop in made.route] == [hop.node for hop in heard.route]


def test_each_has_an_id_of_its_own() -> None:
    assert len({mesh.Message.make("k").id for _ in range(100)}) == 100


def test_its_value_is_read_as_a_subscription_reads_it() -> None:
    assert mesh.Message.make("k", Reading(1.5), type=Reading).value == Reading(1.5)
    assert mesh.Message.make("k", b'{"t": 2}', type=Reading).value == Reading(2)
    assert mesh.Message.make("k", {"t": 1}, codec="msgpack").value == {"t": 1}
    with pytest.raises(mesh.BadContent):
        assert mesh.Message.make("k", b"{", type=Reading).value
    with pytest.raises(mesh.BadContent):
        assert mesh.Message.make("k", state="ERASED").value


BAD: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"key": ""}, BadKey),
    ({"key": "a/+"}, BadKey),
    ({"key": None}, BadKey),
    ({"key": "\ud800"}, BadKey),
    ({"key": "__sys__x"}, PublishRefused),
    ({"content": object()}, BadType),
    ({"content": "\ud800"}, BadArgument),
    ({"content": math.nan}, BadArgument),
    ({"domain": 3}, BadKey),
    ({"domain": "\ud800"}, BadKey),
    ({"headers": 3}, BadType),
    ({"headers": {"a": 3}}, BadType),
    ({"persistent": 1}, BadArgument),
    ({"expiry": -1}, BadArgument),
    ({"expiry": math.inf}, BadArgument),
    ({"priority": 10}, BadArgument),
    ({"priority": 2**63}, BadArgument),
    ({"sender": ""}, BadName),
    ({"sender": None}, BadName),
    ({"sender": "joe"}, BadName),
    ({"to": "joe"}, BadName),
    ({"to": 3}, BadArgument),
    ({"to": "/site/x/node/client/joe"}, BadName),
    ({"state": ""}, BadArgument),
    ({"state": None}, BadArgument),
    ({"state": []}, BadArgument),
    ({"route": "a"}, BadArgument),
    ({"route": None}, BadArgument),
    ({"route": [3]}, BadName),
    ({"codec": "xml"}, BadArgument),
]


@pytest.mark.parametrize(("said", "error"), BAD, ids=lambda each: str(each)[:20])
def test_what_cannot_be_said_of_one(said: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        mesh.Message.make(**{"key": "k", **said})


def test_what_is_sent_needs_no_key() -> None:
    assert mesh.Message.make("", b"x", to="client/joe").key == ""
