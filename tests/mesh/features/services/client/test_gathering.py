"""Requests to all consumers of an address, on real nodes in memory."""

from __future__ import annotations

import asyncio

import pytest

from mesh.errors import Closed, RequestFailed
from tests.mesh.client.services import answer, beside, pair, run
from tests.mesh.meshes import LIMIT


def test_all_who_serve_it_are_asked_and_the_end_is_known() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), ann.serve("who") as one, bob.serve("who") as two:
            async with bob.serve("who") as three, beside(answer(one)), beside(answer(two)):

                async def fail() -> None:
                    async for request in three:
                        await request.fail("BUSY", "not now")

                async with beside(fail()), ann.gather("who", b"?", timeout=60.0) as answers:
                    found = [message async for message in answers]
                assert answers.expected == 3
                assert sorted(m.content for m in found if m.error is None) == [b"re ?", b"re ?"]
                [error] = [m.error for m in found if m.error is not None]
                assert isinstance(error, RequestFailed) and (error.code, error.text) == ("BUSY", "not now")
                assert {m.key for m in found} == {"who"}
                async with ann.gather("who", b"?", most=1) as some:
                    assert len([message async for message in some]) == 1
            async with ann.gather("nobody", b"?") as none:
                assert [message async for message in none] == [] and none.expected == 0

    run(scenario)


def test_who_is_asked_and_says_nothing_is_waited_for_until_the_time_is_over() -> None:
    async def scenario() -> None:
        async with pair() as (m, ann, bob), bob.serve("who") as silent, ann.serve("who") as one:
            async with beside(answer(one)), ann.gather("who", b"?", timeout=5.0) as answers:
                held = asyncio.create_task(anext(silent))
                assert (await anext(answers)).content == b"re ?"
                await m.pass_time(6.0)
                with pytest.raises(StopAsyncIteration):
                    await anext(answers)
                assert answers.expected == 2 and not await (await held).reply(b"late")

    run(scenario)


def test_who_reads_a_gathering_that_is_left_or_was_never_entered_waits_for_nothing() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), bob.serve("who"):
            asked = ann.gather("who", b"?", timeout=3600.0)
            with pytest.raises(Closed):
                await anext(asked)
            async with asked:
                waiting = asyncio.create_task(anext(asked))
                await asyncio.sleep(0)
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(waiting, LIMIT)
            with pytest.raises(StopAsyncIteration):
                await asyncio.wait_for(anext(asked), LIMIT)
            with pytest.raises(Closed):
                await asked.__aenter__()

    run(scenario)
