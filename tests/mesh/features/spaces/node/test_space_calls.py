"""The verbs of spaces: forged and malformed requests."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.errors import LocalError, MeshError
from mesh.features.spaces.proof import write_text
from mesh.wire.calls import AskSpaceWrite, arguments
from tests.mesh.features.spaces.players import Players, play


def signed(client: Any, **fields: Any) -> AskSpaceWrite:
    ask = AskSpaceWrite(**{
        "space": "map/m", "op": "put", "key": "k", "content": b"x", "number": 1, "low": 1,
        "writer": client._key.public, **fields,
    })  # fmt: skip
    return replace(ask, signature=client._key.sign(write_text(ask)))


@pytest.mark.parametrize(
    "changed",
    [
        {"content": b"y"},
        {"key": "other"},
        {"space": "map/n"},
        {"number": 2},
        {"version": 0},
        {"ttl": 1000},
        {"low": 2},
    ],
)
def test_law_2_a_write_that_its_client_did_not_sign_is_refused(changed: dict[str, Any]) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            forged = replace(signed(joe, number=9, low=1), **changed)
            with pytest.raises(MeshError) as refused:
                await it.outcome(joe.call("space_write", **arguments(forged)))
            assert refused.value.code == "FORGED_STREAM"
            assert await it.outcome(joe.map("m").get("k")) is None

    play(scenario, ("heron",))


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"op": "add"}, "BAD_ARGUMENT"),
        ({"op": "burn"}, "BAD_ARGUMENT"),
        ({"space": "counter/c", "op": "put"}, "BAD_ARGUMENT"),
        ({"space": "counter/c", "op": "put_if", "content": b"123"}, "BAD_ARGUMENT"),
        ({"space": "lock/l"}, "BAD_ARGUMENT"),
        ({"key": ""}, "BAD_KEY"),
        ({"ttl": 99}, "BAD_ARGUMENT"),
        ({"ttl": 2**60}, "BAD_ARGUMENT"),
        ({"props": b"\xff"}, "BAD_ARGUMENT"),
    ],
)
def test_a_malformed_write_is_refused_and_nothing_is_created(fields: dict[str, Any], code: str) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            with pytest.raises(MeshError) as refused:
                await it.outcome(joe.call("space_write", **arguments(signed(joe, **fields))))
            assert refused.value.code == code
            assert it.parts("heron").spaces.figures() == {"spaces": 0}

    play(scenario, ("heron",))


def test_law_3_a_write_that_is_sent_twice_counts_once_also_at_another_node() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            ask = signed(joe, space="counter/c", op="add", content=b"", amount=5)
            said = arguments(ask)
            first = await it.outcome(joe.call("space_write", **said))
            again = await it.outcome(ann.call("space_write", **said))
            assert first == again
            late = signed(joe, space="counter/c", op="add", content=b"", amount=7, number=2, low=2)
            await it.outcome(joe.call("space_write", **arguments(late)))
            stale = await it.outcome(ann.call("space_write", **said))
            assert stale["code"] == "STALE_WRITE"
            assert await it.outcome(ann.counter("k", group="c").value()) == 12

    play(scenario)


def test_a_declaration_with_other_terms_names_those_in_effect() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            assert await it.outcome(joe.map("m").declare(home="stork", max_keys=5)) == "stork"
            assert await it.outcome(joe.map("m").declare(home="stork", max_keys=5)) == "stork"
            assert await it.outcome(joe.map("m").declare(max_keys=5)) == "stork", "any home"
            with pytest.raises(LocalError, match="home='stork'") as other:
                await it.outcome(joe.map("m").declare(home="heron", max_keys=5))
            assert other.value.code == "SPACE_EXISTS"
            with pytest.raises(LocalError) as away:
                await it.outcome(joe.map("n").declare(home="nowhere"))
            assert away.value.code == "NODE_AWAY"

    play(scenario)
