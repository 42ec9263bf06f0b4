"""The `why` of a client, with and without an event loop."""

from __future__ import annotations

import asyncio

import pytest

import mesh
from tests.mesh.meshes import in_memory


def test_a_client_learns_why_nobody_gets_what_it_publishes() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as joe, m.connect("b") as ann:
            async with ann.subscribe("news/sports"):
                sent = await joe.publish("news/sprots", b"1")
                found = await joe.why("topic", "news/sprots")
                first = found[0]
                assert isinstance(first, mesh.Reason)
                assert {each.code for each in found if each.is_cause} == {"NEAR_KEY", "NO_SUBSCRIBER"}
                assert "news/sports" in first.says + found[1].says
                chain = await joe.why("message", sent.id)
                assert {each.code for each in chain if each.is_cause} == {"UNWANTED"}
                assert not [each for each in await joe.why("node", "b") if each.is_cause]
                assert not [each for each in await joe.why("topic", "news/sports") if each.is_cause]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("kind", "text"), [("planet", "x"), ("topic", ""), ("node", "a b"), ("message", "x")]
)
def test_what_cannot_be_asked_is_an_error_of_the_caller(kind: str, text: str) -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as joe:
            with pytest.raises(mesh.LocalError):
                await joe.why(kind, text)

    asyncio.run(scenario())
