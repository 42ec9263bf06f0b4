"""A1 to A9, A11 to A13, A16, A17: xmlBlaster's cluster tests with property files, on processes."""

import asyncio
from collections.abc import Iterator

import pytest

from mesh.client.client import Client
from tests.mesh.meshes import eventually
from tests.mesh.running import state_directory
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.mesh.scenarios.property_files import FromProperties, node
from tests.mesh.scenarios.topology import RUGBY

SOCCER = "SOCCER_NEWS"

NEWS = """\\
      <master type='DomainToMaster' stratum='{stratum}' dirtyRead='true'>\\
         <![CDATA[<key domain='RUGBY_NEWS'/>]]></master>\\
      <master stratum='{stratum}'><key queryType='DOMAIN' domain='SOCCER_NEWS'/></master>"""


def stock(stratum: int) -> str:
    return f"\\\n      <master stratum='{stratum}'><key domain='STOCK_EXCHANGE'/></master>"


LOOSE = "\\\n      <master><filter type='ContentGlob'>*loose*</filter></master>"
FILES = {
    "heron": node("heron", NEWS.format(stratum=0)) + node("avalon", stock(0)),
    "avalon": node("avalon", stock(0)) + node("heron", NEWS.format(stratum=0), "{heron}"),
    "frodo": node("frodo", stock(2)) + node("heron", NEWS.format(stratum=0) + stock(1), "{heron}"),
    "bilbo": "pingInterval=500\ndelay=500\nretries=-1\n"
    + node("bilbo", LOOSE)
    + node("frodo", NEWS.format(stratum=1) + stock(2), "{frodo}"),
}


@pytest.fixture(scope="module")
def c() -> Iterator[FromProperties]:
    with state_directory() as state:
        made = FromProperties(state)
        try:
            for name, file in FILES.items():
                made.start(name, file)
            made.met()
            yield made
        finally:
            made.end()


def test_A1_to_A3_what_a_slave_publishes_reads_and_erases_is_at_the_master(c: FromProperties) -> None:
    async def scenario() -> None:
        async with c.connect("bilbo", client="b") as b, c.connect("heron", client="h") as h:
            assert (await b.publish("A1", b"We win", domain=RUGBY)).state == "OK"
            [message] = await h.get("A1")
            assert [hop.node for hop in message.route] == ["bilbo", "frodo", "heron"]
            [message] = await b.get("A1", domain=RUGBY)
            assert message.source == "heron"
            assert await b.erase("A1", domain=RUGBY) == ["A1"]
            assert await h.get("A1") == []
            await b.publish("A1", b"the cat is loose", domain="CATS")
            [message] = await b.get("A1", domain="CATS")
            assert [hop.node for hop in message.route] == ["bilbo"]

    asyncio.run(scenario())


async def saved(client: Client) -> int:
    """Return the bytes of contents that masters did not send back to the client's node."""
    told = await client.call("info")
    return int(told["metrics"]["confirmed_bytes"])


def test_A16_with_dirty_read_a_slave_hears_its_own_publish_at_once_and_the_master_sends_nothing_back(
    c: FromProperties,
) -> None:
    async def scenario() -> None:
        async with (
            c.connect("frodo", client="f") as f,
            c.connect("heron", client="h") as h,
            hearing(f, "A16", RUGBY) as ear,
        ):
            before = await saved(f)
            content = b"try" * 1000
            assert (await f.publish("A16", content, domain=RUGBY)).ok
            await nothing_more(f, ear, domain=RUGBY)
            assert ear.contents == [content]
            [message] = ear.messages
            assert message.provisional and [hop.node for hop in message.route] == ["frodo"]

            async def nothing_came_back() -> bool:
                return await saved(f) >= before + len(content)

            await eventually(nothing_came_back)
            assert [message.content for message in await h.get("A16", domain=RUGBY)] == [content]

    asyncio.run(scenario())


def test_A17_without_dirty_read_a_slave_hears_its_own_publish_once_from_the_master(c: FromProperties) -> None:
    async def scenario() -> None:
        async with (
            c.connect("frodo", client="f") as f,
            c.connect("heron", client="h") as h,
            hearing(f, "A17", SOCCER) as ear,
        ):
            assert (await f.publish("A17", b"goal", domain=SOCCER)).ok
            await nothing_more(f, ear, domain=SOCCER)
            assert ear.contents == [b"goal"]
            assert [hop.node for hop in ear.messages[0].route] == ["frodo", "heron", "frodo"]
            assert [message.content for message in await h.get("A17", domain=SOCCER)] == [b"goal"]

    asyncio.run(scenario())


def test_A11_and_A13_an_xpath_with_a_domain_is_heard_through_two_hops(c: FromProperties) -> None:
    async def scenario() -> None:
        async with c.connect("bilbo", client="b") as b, c.connect("avalon", client="a") as a:
            async with b.subscribe(xpath="//key[@oid='A11']", domain=RUGBY) as far:
                await a.publish("A11", b"We win", domain=RUGBY, xml="<RUGBY/>")
                message = await anext(far)
                assert (message.key, message.content) == ("A11", b"We win")
                assert await a.erase("A11", domain=RUGBY) == ["A11"]
                message = await anext(far)
                assert (message.key, message.state) == ("A11", "ERASED")

    asyncio.run(scenario())


def test_A12_an_xpath_without_a_domain_stays_at_its_node(c: FromProperties) -> None:
    async def scenario() -> None:
        heard = []
        async with c.connect("bilbo", client="b") as b, c.connect("avalon", client="a") as a:
            async with (
                b.subscribe(xpath="//key[@oid='A12']") as near,
                b.subscribe("A12/end", domain=RUGBY) as end,
            ):

                async def listen() -> None:
                    async for message in near:
                        heard.append(message.content)

                ear = asyncio.create_task(listen())
                await a.publish("A12", b"We win", domain=RUGBY)
                await a.publish("A12/end", b"", domain=RUGBY)
                assert (await anext(end)).key == "A12/end"  # it travels behind the other
                await b.publish("A12", b"the cat is loose", domain="CATS")
                await eventually(lambda: heard)
                ear.cancel()
        assert heard == [b"the cat is loose"]

    asyncio.run(scenario())
