"""A20 to A26: direct messages to clients by node, domain or neither, on processes.

Clients at north send. north knows heron, and its rules name avalon as the master of RUGBY_NEWS.
"""

import asyncio
from collections.abc import Iterator

import pytest

from mesh.client.client import Client
from mesh.errors import NotConnected, UnknownNode
from tests.mesh.meshes import eventually, take
from tests.mesh.scenarios.topology import RUGBY, Processes, processes_of

MASTER = f'[[nodes.avalon.master]]\ndomains = ["{RUGBY}"]\n'
FILES = {
    "heron": "",
    "avalon": f"[nodes.avalon]\n{MASTER}",
    "north": f'[nodes.heron]\naddress = "{{heron}}"\n[nodes.avalon]\naddress = "{{avalon}}"\n{MASTER}',
}
NOBODY = "/node/noexist/client/joe/session/1"


@pytest.fixture(scope="module")
def c() -> Iterator[Processes]:
    with processes_of(FILES) as c:
        yield c


async def figure(m: Client, name: str) -> float:
    return (await m.info()).metrics[name]


@pytest.mark.smoke
def test_A20_A21_to_an_unknown_node_it_stays_here_unless_a_rule_names_a_master(c: Processes) -> None:
    async def scenario() -> None:
        async with (
            c.connect("north", client="ann", session=1) as ann,
            c.connect("heron") as heron,
            c.connect("avalon") as avalon,
        ):
            before = await figure(ann, "forwarded")
            with pytest.raises(UnknownNode, match="No node noexist can be reached from north"):
                await ann.send(NOBODY, b"A20")
            waits = await ann.send(NOBODY, b"A20", force_queuing=True)
            assert (waits.state, "noexist" in waits.note) == ("FORWARD_WARNING", True)
            assert await figure(ann, "forwarded") == before
            with pytest.raises(UnknownNode, match="No node noexist can be reached from avalon"):
                await ann.send(NOBODY, b"A21", domain=RUGBY)
            assert await figure(ann, "forwarded") == before + 1
            assert await figure(heron, "published") == await figure(avalon, "published") == 0

    asyncio.run(scenario())


@pytest.mark.smoke
def test_A22_A23_A24_a_known_node_wins_and_a_relative_name_follows_its_domain(c: Processes) -> None:
    async def scenario() -> None:
        async with (
            c.connect("north", client="ann", session=1) as ann,
            c.connect("heron", client="joe", session=1) as at_heron,
            c.connect("avalon", client="joe", session=1) as at_avalon,
            at_heron.inbox() as inbox,
            at_avalon.inbox() as other,
        ):
            assert at_heron.name == "/node/heron/client/joe/session/1"
            before = await figure(at_avalon, "published")
            assert (await ann.send(at_heron.name, b"A22")).matched == 1
            assert (await ann.send(at_heron.name, b"A23", domain=RUGBY)).matched == 1
            assert await figure(at_avalon, "published") == before
            assert (await ann.send("client/joe/session/1", b"A24", domain=RUGBY)).matched == 1
            assert [x.content for x in await take(inbox, 2)] == [b"A22", b"A23"]
            [message] = await take(other, 1)
            assert (message.content, message.sender) == (b"A24", ann.name)
            assert await figure(at_avalon, "published") == before + 1, "avalon counts what comes to it"

    asyncio.run(scenario())


@pytest.mark.smoke
def test_A25_a_relative_name_without_a_rule_waits_here_and_is_delivered_once(c: Processes) -> None:
    async def scenario() -> None:
        async with c.connect("north", client="ann", session=1) as ann:
            assert (await ann.send("client/eve", b"A25", force_queuing=True, persistent=True)).matched == 0
            async with c.connect("north", client="eve", session=1) as eve, eve.inbox() as inbox:
                assert [x.content for x in await take(inbox, 1)] == [b"A25"]
                await ann.send(eve.name, b"end")
                assert [x.content for x in await take(inbox, 1)] == [b"end"]
            await eventually(lambda: owes_nothing(ann))

    async def owes_nothing(m: Client) -> bool:
        return await figure(m, "inboxes_owed") == 0

    asyncio.run(scenario())


@pytest.mark.smoke
def test_A26_all_sessions_of_a_client_get_it_or_the_first_that_logs_in_or_the_named_one(c: Processes) -> None:
    bob = "/node/heron/client/bob"

    async def scenario() -> None:
        async with c.connect("north", client="ann", session=1) as ann:
            with pytest.raises(NotConnected):
                await ann.send(bob, b"now or never")
            assert (await ann.send(bob, b"waits", force_queuing=True)).matched == 0
            async with (
                c.connect("heron", client="bob", session=1) as one,
                c.connect("heron", client="bob", session=2) as two,
            ):
                async with one.inbox() as first:
                    assert [x.content for x in await take(first, 1)] == [b"waits"]
                    async with two.inbox() as second:
                        assert (await ann.send(bob, b"both")).matched == 2
                        assert (await ann.send(two.name, b"two")).matched == 1
                        with pytest.raises(NotConnected, match=r"bob/session/3 is not connected"):
                            await ann.send(f"{bob}/session/3", b"nobody")
                        assert (await ann.send(one.name, b"one")).matched == 1
                        assert [x.content for x in await take(first, 2)] == [b"both", b"one"]
                        assert [x.content for x in await take(second, 2)] == [b"both", b"two"]

    asyncio.run(scenario())


def test_one_of_several_sessions_gets_each_message_and_an_xpath_finds_them_all(c: Processes) -> None:
    async def scenario() -> None:
        async with (
            c.connect("north", client="ann", session=1) as ann,
            c.connect("heron", client="sue", session=1) as one,
            c.connect("heron", client="sue", session=2) as two,
            c.connect("avalon", client="sue", session=1) as three,
            one.inbox() as first,
            two.inbox() as second,
            three.inbox() as third,
        ):
            for n in range(20):
                sent = await ann.send("/node/heron/client/sue", b"%d" % n, delivery="one")
                assert (sent.ok, sent.matched) == (True, 1)
            await ann.send("/node/heron/client/sue", b"end")
            got: list[bytes] = []
            for inbox in (first, second):
                async for message in inbox:
                    if message.content == b"end":
                        break
                    got.append(message.content)
            assert sorted(got, key=int) == [b"%d" % n for n in range(20)]
            found = await ann.send(["xpath://client[@name='sue']"], b"all")
            assert [(each.destination, each.error) for each in found] == [
                (three.name, None),
                (one.name, None),
                (two.name, None),
            ]
            for inbox in (first, second, third):
                assert [x.content for x in await take(inbox, 1)] == [b"all"]

    asyncio.run(scenario())
