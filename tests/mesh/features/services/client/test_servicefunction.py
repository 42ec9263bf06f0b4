"""Functions that answer requests, on real nodes in memory."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import pytest

import mesh
from mesh.errors import BadArgument, BadName, BadQuery, BadType, NoHandlers, RequestFailed
from tests.mesh.client.services import pair, run
from tests.mesh.client.wired import turns
from tests.mesh.meshes import in_memory
from tests.waiting import LIMIT, eventually


class NoSuchUser(Exception):
    pass


class Calculator:
    async def __call__(self, a: int, /, b: int = 10, *, c: int = 100) -> int:
        return a + b + c


def test_a_function_answers_by_the_types_of_its_arguments() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob):

            @bob.service("add")
            async def add(a: int, b: int = 5) -> int:
                return a + b

            @bob.service("twice", concurrency=1)
            def twice(text: str) -> str:
                return text * 2

            @bob.service("now")
            def now() -> float:
                return 1.5

            @bob.service("whom")
            async def whom(request: mesh.Request[int]) -> None:
                await request.reply([request.sender, request.value])

            bob.service("object")(Calculator())
            bob.service("lambda")(lambda value: value)
            async with bob.running():
                ask = ann.request
                assert (await ask("add", {"a": 1})).value == 6
                assert (await ask("add", {"a": 1, "b": 2}, type=int)).value == 3
                assert (await ask("twice", "ab")).text == "abab"
                assert (await ask("now")).value == 1.5
                assert (await ask("whom", 7)).value == [ann.name, 7]
                assert (await ask("object", {"a": 1})).value == 111
                assert (await ask("object", {"a": 1, "c": 2})).value == 13
                assert (await ask("lambda", {"k": None})).value == {"k": None}
            with pytest.raises(NoHandlers):
                await ask("add", {"a": 1})

    run(scenario)


def test_what_a_function_raises_is_told_to_the_caller_and_never_a_timeout(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob):

            @bob.service("fails")
            def fails(how: str) -> object:
                if how == "user":
                    raise NoSuchUser("there is no joe")
                if how == "own":
                    raise RequestFailed("gone fishing", code="AWAY")
                if how == "large":
                    return bytes(2 << 20)
                if how == "strange":
                    return object()
                if how == "stop":
                    next(iter(()))
                if how == "number":
                    raise RequestFailed(404, code=404)  # type: ignore[arg-type]
                raise {"value": ValueError("bad"), "os": OSError()}[how]

            async with bob.running():
                said = {}
                for how in ("user", "own", "large", "strange", "stop", "number", "value", "os", "nothing"):
                    with pytest.raises(RequestFailed) as caught:
                        await ann.request("fails", how)
                    said[how] = caught.value.code
                    if how == "user":
                        assert caught.value.text == "there is no joe"
                for bad in (5, b"\xff"):
                    with pytest.raises(RequestFailed) as caught:
                        await ann.request("fails", bad)
                    assert caught.value.code == "BAD_CONTENT"
        assert said == {
            "user": "NO_SUCH_USER", "own": "AWAY", "large": "TOO_LARGE", "strange": "BAD_ARGUMENT",
            "stop": "RUNTIME_ERROR", "number": "404", "value": "VALUE_ERROR", "os": "OS_ERROR",
            "nothing": "KEY_ERROR",
        }  # fmt: skip

    with caplog.at_level(logging.CRITICAL, "mesh.client"):
        run(scenario)


def test_an_error_may_end_it_and_plain_messages_are_taken_too() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob):
            seen = []

            @bob.service("x")
            def take(content: bytes) -> None:
                seen.append(content)
                if content == b"bad":
                    raise ValueError("it is bad")

            with pytest.raises(ValueError, match="it is bad"):
                async with bob.running(stop_on_error=True):
                    await ann.send("x", b"plain")
                    with pytest.raises(RequestFailed):
                        await ann.request("x", b"bad")
                    await asyncio.sleep(LIMIT)
            assert seen == [b"plain", b"bad"]

    run(scenario)


def takes_any(*args: int) -> None: ...


def takes_unknown(a: Nowhere, b: int) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def takes_object(a: object, b: type[int]) -> None: ...


@pytest.mark.parametrize("function", [takes_any, takes_unknown, 5, None])
def test_a_function_that_cannot_be_called_is_refused_where_it_stands(function: Any) -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as bob:
            with pytest.raises(BadType):
                bob.service("x")(function)
            for options in ({"concurrency": 0}, {"concurrency": True}, {"local_only": 1}):
                with pytest.raises(BadArgument):
                    bob.service("x", **options)
            with pytest.raises(BadName):
                bob.service("client/x")
            with pytest.raises(BadQuery):
                await bob.run()

    run(scenario)


def test_no_more_of_them_work_at_a_time_than_they_may() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob):
            doors: list[asyncio.Event] = []

            def has_begun(number: int) -> bool:
                return len(doors) > number

            @bob.service("x", concurrency=3)
            async def work() -> None:
                doors.append(asyncio.Event())
                await doors[-1].wait()

            async with bob.running():
                asking = asyncio.gather(*(ann.request("x", timeout=LIMIT) for _ in range(12)))
                await eventually(lambda: len(doors) == 3)
                for done in range(12):
                    await turns()
                    assert len(doors) <= done + 3
                    await eventually(partial(has_begun, done))
                    doors[done].set()
                await asking

    run(scenario)
