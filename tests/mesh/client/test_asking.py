"""The `why` and `where` of a client."""

from __future__ import annotations

import asyncio
from typing import Any

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


def test_a_client_learns_where_a_name_is_and_what_else_has_it() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as who, m.connect("b", client="joe") as joe:
            async with joe.serve("joe"):
                place = await who.where("joe")
                assert isinstance(place, mesh.Place)
                assert (place.kind, place.name, place.nodes, place.missing) == (
                    "client",
                    "client/joe",
                    ["b"],
                    [],
                )
                assert [(row.by, row.state, row.count) for row in place.sightings] == [("b", "connected", 1)]
                [other] = place.others
                assert (other.kind, other.name, other.nodes) == ("address", "address/joe", ["b"])
                assert (await who.where(other.name)).others == []
                assert (await who.where(joe.name)).kind == "session"
                with pytest.raises(mesh.UnknownName, match="client/joe") as error:
                    await who.where("jeo")
                assert error.value.code == "UNKNOWN_NAME"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "name", ["", "queue/#", "client/joe/session/0", "x" * 600, None, 2**63, float("nan"), b"joe"]
)
def test_what_is_no_name_is_an_error_of_the_caller(name: Any) -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as who:
            with pytest.raises(mesh.LocalError):
                await who.where(name)
            assert (await who.where("node/a")).nodes == ["a"]

    asyncio.run(scenario())
