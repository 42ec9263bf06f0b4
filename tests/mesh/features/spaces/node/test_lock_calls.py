"""The verbs of locks: forged, malformed and delayed requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.errors import MeshError
from mesh.features.spaces.lock_proof import ask_text, release_text, renew_text
from mesh.wire.calls import AskLock, AskLockRelease, AskLockRenew, arguments
from tests.mesh.features.spaces.players import Players, play

SPACE = "lock/default"


def asking(client: Any, **fields: Any) -> AskLock:
    ask = AskLock(**{
        "space": SPACE, "key": "l", "number": 1, "count": 1, "lease": 30_000,
        "writer": client._key.public, **fields,
    })  # fmt: skip
    return replace(ask, signature=client._key.sign(ask_text(ask)))


def releasing(client: Any, **fields: Any) -> AskLockRelease:
    ask = AskLockRelease(**{"space": SPACE, "key": "l", "number": 1, "writer": client._key.public, **fields})
    return replace(ask, signature=client._key.sign(release_text(ask)))


def renewing(client: Any, token: int, count: int) -> AskLockRenew:
    ask = AskLockRenew(space=SPACE, held=[("l", token)], count=count, writer=client._key.public)
    return replace(ask, signature=client._key.sign(renew_text(ask)))


async def call(it: Players, client: Any, ask: Any) -> Any:
    return await it.outcome(client.call(ask.verb, **arguments(ask)))


@pytest.mark.parametrize(
    "changed",
    [
        {"key": "other"},
        {"space": "lock/other"},
        {"number": 2},
        {"count": 2},
        {"lease": 1000},
        {"hold": 100},
        {"can_wait": False},
        {"client": "ann"},
        {"is_election": True},
        {"content": b"x"},
    ],
)
def test_law_1_a_request_that_its_client_did_not_sign_is_refused(changed: dict[str, Any]) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            with pytest.raises(MeshError) as refused:
                await call(it, joe, replace(asking(joe), **changed))
            assert refused.value.code == "FORGED_STREAM"

    play(scenario, ("heron",))


def test_law_1_another_client_can_neither_renew_nor_release_a_lock() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            token = (await call(it, joe, asking(joe)))["token"]
            assert token > 0
            for forged in (
                replace(releasing(ann), writer=joe._key.public),
                replace(renewing(ann, token, 5), writer=joe._key.public),
            ):
                with pytest.raises(MeshError) as refused:
                    await call(it, ann, forged)
                assert refused.value.code == "FORGED_STREAM"
            await call(it, ann, releasing(ann))
            assert (await call(it, ann, renewing(ann, token, 5)))["waiting"] == [-1]
            assert (await call(it, joe, renewing(joe, token, 5)))["waiting"] == [0]

    play(scenario)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"lease": 0}, "BAD_ARGUMENT"),
        ({"lease": 999}, "BAD_ARGUMENT"),
        ({"lease": 60_001}, "BAD_ARGUMENT"),
        ({"lease": 10**15}, "BAD_ARGUMENT"),
        ({"space": "map/m"}, "BAD_ARGUMENT"),
        ({"space": "lock/"}, "BAD_NAME"),
        ({"key": ""}, "BAD_KEY"),
        ({"props": b"\xff"}, "BAD_ARGUMENT"),
        ({"content": b"x" * (16 * 1024 + 1)}, "BAD_QUERY"),
        ({"number": 0}, "BAD_QUERY"),
    ],
)
def test_a_malformed_request_is_refused_and_nothing_is_created(fields: dict[str, Any], code: str) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            with pytest.raises(MeshError) as refused:
                await call(it, joe, asking(joe, **fields))
            assert refused.value.code == code
            assert it.parts("heron").spaces.figures() == {"spaces": 0}

    play(scenario, ("heron",))


def test_a_renewal_of_more_than_a_thousand_locks_is_refused() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            ask = replace(renewing(joe, 1, 1), held=[(f"l{n}", 1) for n in range(1001)])
            with pytest.raises(MeshError) as refused:
                await call(it, joe, ask)
            assert refused.value.code == "BAD_QUERY"

    play(scenario, ("heron",))


def test_a_copy_of_a_request_gets_the_same_token_and_none_after_the_release() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            first = await call(it, joe, asking(joe))
            assert (await call(it, ann, asking(joe)))["token"] == first["token"]
            await call(it, joe, releasing(joe))
            late = await call(it, ann, asking(joe))
            assert (late.get("code"), late.get("token", 0)) == ("LOCK_LOST", 0)

    play(scenario)


def test_a_forged_ticket_gives_no_place_before_others() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("heron") as ann, it.m.connect("heron") as bob:
            await call(it, joe, asking(joe))
            early = await call(it, ann, asking(ann))
            forged = asking(bob, since=early["since"] - 1, ticket=early["ticket"])
            assert (await call(it, bob, forged))["waiting"] == 1
            true = asking(ann, count=2, since=early["since"], ticket=early["ticket"])
            assert (await call(it, ann, true)).get("waiting", 0) == 0

    play(scenario, ("heron",))


def test_the_locks_of_a_home_are_limited() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.call("space_declare", space=SPACE, max_keys=2))
            for n in range(1, 4):
                found = await call(it, joe, asking(joe, key=f"l{n}", number=n, hold=1000))
                assert found.get("code", "") == ("TOO_MANY_LOCKS" if n == 3 else "")
            await call(it, joe, releasing(joe, key="l1"))
            assert (await call(it, joe, asking(joe, key="l3", number=4, hold=1000)))["token"] > 0

    play(scenario, ("heron",))


def test_a_request_that_may_not_wait_is_answered_after_the_commit_of_its_grant() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await call(it, joe, asking(joe, key="other", number=9))
            locks, stored = it.parts("heron").locks, list[Any]()
            original = locks._homes.write
            locks._homes.write = lambda *how: stored.append(how)  # type: ignore[method-assign]
            answer = asyncio.ensure_future(call(it, joe, asking(joe, can_wait=False)))
            await it.m.pass_time(1.2)
            assert not answer.done() and len(stored) == 1
            original(*stored[0])
            locks._homes.write = original  # type: ignore[method-assign]
            assert (await it.outcome(answer))["token"] > 0

    play(scenario, ("heron",))
