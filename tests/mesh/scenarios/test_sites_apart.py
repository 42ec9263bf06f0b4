"""Sites on hosts of their own, 20 ms apart: readers in all of them answer each sender directly."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from tests.mesh.meshes import eventually
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.joined import Joined, Plan, joined
from tests.mesh.scenarios.people import people

pytestmark = pytest.mark.slow

STOCK = "STOCK"
WIRE = 0.02  # s each way
THREE = {"LON": 2, "NYC": 2, "SFO": 2}


def test_D2_who_reads_what_is_published_in_three_sites_answers_each_sender_by_a_letter() -> None:
    async def scenario(sites: Joined) -> None:
        async with people(sites.all()) as six, AsyncExitStack() as stack:
            ears = [await stack.enter_async_context(hearing(each.client, "quote", STOCK)) for each in six]
            for person in six:
                await person.client.publish("quote", person.node.name, domain=STOCK, persistent=True)
            for ear in ears:
                await ear.heard(6)
            for person, ear in zip(six, ears, strict=True):
                for message in ear.messages:
                    await person.client.send(message.sender, message.content)
            await eventually(lambda: all(len(person.letters) >= 6 for person in six))
            for person in six:
                await nothing_more(person.client, *ears, domain=STOCK)
            names = sorted(person.node.name.encode() for person in six)
            for person, ear in zip(six, ears, strict=True):
                assert sorted(ear.contents) == names
                assert [letter.content for letter in person.letters] == [person.node.name.encode()] * 6
                wanted = {sites.session(other.node, "joe", person.node) for other in six}
                assert {letter.sender.rpartition("/")[0] + "/" for letter in person.letters} == wanted
                assert {message.sender.rpartition("/")[0] + "/" for message in ear.messages} == wanted

    with joined(Plan(THREE, 'domains = ["STOCK"]\nletters = ["joe"]'), wire=WIRE) as sites:
        asyncio.run(scenario(sites))
