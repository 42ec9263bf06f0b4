"""The list of an address's servers, and its changes."""

from __future__ import annotations

import asyncio

import pytest

from tests.mesh.client.services import pair, run


def test_registrations_are_the_list_and_then_what_changes() -> None:
    async def scenario() -> None:
        async with pair() as (m, ann, bob), bob.serve("x"):
            await m.pass_time(3.0)
            await ann.send("x", b"")
            looking = ann.registrations("x")
            first = await anext(looking)
            assert (first.node, first.consumers) == ("b", 1) and first.change in ("initial", "added")
            async with bob.serve("x"):
                assert [(n.node, n.consumers, n.change) for n in [await anext(looking)]] == [
                    ("b", 2, "changed")
                ]
                async with ann.serve("x"):
                    assert (await anext(looking)).node == "a"
                assert (await anext(looking)).change == "removed"
            assert (await anext(looking)).consumers == 1
            waiting = asyncio.create_task(anext(looking))
            await asyncio.sleep(0)
            await looking.aclose()
            with pytest.raises(StopAsyncIteration):
                await waiting
            assert not len(ann._core.watches)

    run(scenario)


def test_004_05_sequence_numbers_distinguish_the_services_of_one_address_at_a_node() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob):
            first, other = bob.serve("x"), bob.serve("y")
            async with first, other:
                await ann.send("x", b"")
                looking = ann.registrations("x")
                [one] = (await anext(looking)).numbers
                async with bob.serve("x"), bob.serve("x", local_only=True):
                    seen = await anext(looking)
                    assert seen.consumers == 2 and seen.numbers[0] == one < seen.numbers[1] - 1
                again = await anext(looking)
                assert (again.consumers, again.numbers) == (1, (one,))
                [row] = [row for row in (await ann.call("addresses"))["addresses"] if row["address"] == "x"]
                assert row["nodes"][0]["numbers"] == [one]

    run(scenario)
