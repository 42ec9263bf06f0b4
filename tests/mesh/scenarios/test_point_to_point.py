"""A20 to A26: where does a message go that is addressed to somebody? On nodes in one loop."""

import asyncio

import pytest

from mesh.errors import NotConnected, UnknownNode
from tests.mesh.meshes import eventually, take
from tests.mesh.scenarios.topology import RUGBY, TREE, loop_of

# north, where the sender is, knows heron; the master of its one domain is avalon.
NOEXIST = 'default_scope = "local"\n\n[nodes.heron]\naddress = "{heron}"\n'
FILES = {
    "heron": 'default_scope = "local"\n',
    "avalon": """default_scope = "local"

[nodes.avalon]
[[nodes.avalon.master]]
domains = ["RUGBY_NEWS"]
""",
    "north": f"""{TREE}
[nodes.heron]
address = "{{heron}}"

[nodes.avalon]
address = "{{avalon}}"
[[nodes.avalon.master]]
domains = ["RUGBY_NEWS"]
""",
}
NOBODY = "/node/noexist/client/joe/session/1"
JOE = "/node/heron/client/joe/session/1"


def test_A20_no_domain_and_an_unknown_node_stay_here() -> None:
    async def story() -> None:
        async with loop_of(FILES) as c, c.connect("north") as north:
            with pytest.raises(UnknownNode, match="no node noexist can be reached from north"):
                await north.send(NOBODY, b"lost")
            published = await north.send(NOBODY, b"queued", force_queuing=True)
            assert published.state == "FORWARD_WARNING" and "noexist" in published.note
            assert (await north.call("ls"))["unknown"]["messages"] == 1
            assert [c.metric(name, "forwarded") for name in FILES] == [0, 0, 0]
            # It shows up, seen by heron, which north knows.
            await c.start("noexist", NOEXIST)
            async with c.connect("noexist", client="joe", session=1) as joe, joe.inbox() as inbox:
                [message] = await take(inbox, 1)
                assert (message.content, message.sender) == (b"queued", north.name)
                assert (await north.final(published)).state == "OK"

    asyncio.run(story())


def test_A21_a_domain_and_an_unknown_node_go_to_the_master_of_the_domain() -> None:
    async def story() -> None:
        async with loop_of(FILES) as c, c.connect("north") as north:
            published = await north.send(NOBODY, b"x", domain=RUGBY, force_queuing=True)
            assert published.state == "FORWARD_WARNING" and "avalon" in published.note
            assert (c.metric("north", "forwarded"), c.metric("heron", "published")) == (1, 0)
            async with c.connect("avalon") as avalon:
                assert (await avalon.call("ls"))["unknown"]["messages"] == 1
            with pytest.raises(UnknownNode, match="from avalon"):
                await north.send(NOBODY, b"x", domain=RUGBY)

    asyncio.run(story())


def test_A22_A23_a_known_node_wins_whatever_the_domain() -> None:
    async def story() -> None:
        async with loop_of(FILES) as c, c.connect("north") as north:
            async with c.connect("heron", client="joe", session=1) as joe, joe.inbox() as inbox:
                assert (await north.send(JOE, b"22")).matched == 1
                assert (await north.send(JOE, b"23", domain=RUGBY)).matched == 1
                messages = await take(inbox, 2)
                assert [m.content for m in messages] == [b"22", b"23"]
                assert {(m.to, m.sender) for m in messages} == {(JOE, north.name)}
                assert [[hop.node for hop in m.route] for m in messages] == [["north", "heron"]] * 2
            assert c.metric("avalon", "published") == c.metric("avalon", "forwarded") == 0

    asyncio.run(story())


def test_A24_a_relative_name_goes_where_its_domain_goes() -> None:
    async def story() -> None:
        async with loop_of(FILES) as c, c.connect("north") as north:
            async with (
                c.connect("avalon", client="joe", session=1) as joe,
                joe.inbox() as inbox,
                c.connect("north", client="joe", session=1) as near,
                near.inbox() as other,
            ):
                assert (await north.send("client/joe/session/1", b"24", domain=RUGBY)).matched == 1
                [message] = await take(inbox, 1)
                assert (message.content, message.to) == (b"24", "/node/avalon/client/joe/session/1")
                assert (await north.send("client/joe/session/1", b"near")).matched == 1
                assert [m.content for m in await take(other, 1)] == [b"near"]

    asyncio.run(story())


def test_A25_a_relative_name_without_a_rule_waits_here_for_the_first_login() -> None:
    async def story() -> None:
        async with loop_of(FILES) as c, c.connect("north") as north:
            published = await north.send("client/joe", b"25", force_queuing=True, domain="UNKNOWN")
            assert (published.state, published.matched) == ("OK", 0)
            async with c.connect("north", client="joe") as first, first.inbox() as inbox:
                assert [m.content for m in await take(inbox, 1)] == [b"25"]
                async with c.connect("north", client="joe") as second, second.inbox() as other:
                    assert (await north.send("client/joe", b"both")).matched == 2
                    for each in (inbox, other):
                        assert [m.content for m in await take(each, 1)] == [b"both"]

    asyncio.run(story())


def test_A26_all_sessions_of_a_client_get_it_once() -> None:
    async def story() -> None:
        async with loop_of(FILES) as c, c.connect("north") as north:
            async with (
                c.connect("heron", client="joe") as one,
                one.inbox() as first,
                c.connect("heron", client="joe") as two,
                two.inbox() as second,
            ):
                assert (await north.send("/node/heron/client/joe", b"both")).matched == 2
                for session, inbox in ((one, first), (two, second)):
                    assert (await north.send(session.name, b"end")).matched == 1
                    assert [m.content for m in await take(inbox, 2)] == [b"both", b"end"]

    asyncio.run(story())


def test_A26_what_waits_for_a_client_goes_to_its_first_login() -> None:
    async def story() -> None:
        async with loop_of(FILES) as c, c.connect("north") as north:
            published = await north.send("/node/heron/client/joe", b"x", force_queuing=True)
            assert (published.state, published.matched) == ("OK", 0)
            async with c.connect("heron", client="joe") as one, one.inbox() as first:
                assert [m.content for m in await take(first, 1)] == [b"x"]
                async with c.connect("heron", client="joe") as two, two.inbox() as second:
                    for session, inbox in ((one, first), (two, second)):
                        await north.send(session.name, b"end")
                        assert [m.content for m in await take(inbox, 1)] == [b"end"]

    asyncio.run(story())


@pytest.mark.parametrize("domain", [None, RUGBY])
@pytest.mark.parametrize("to", [JOE, "/node/heron/client/joe"])
def test_A26_a_session_that_is_not_connected_is_an_error_for_the_publisher(
    to: str, domain: str | None
) -> None:
    async def story() -> None:
        async with loop_of(FILES) as c, c.connect("north") as north:
            with pytest.raises(NotConnected) as caught:
                await north.send(to, b"x", domain=domain)
            assert to in str(caught.value) and caught.value.code == "NOT_CONNECTED"
            async with c.connect("heron", client="joe", session=1) as joe, joe.inbox() as inbox:
                await north.send(to, b"now", domain=domain)
                assert [m.content for m in await take(inbox, 1)] == [b"now"]

    asyncio.run(story())


def test_each_of_several_destinations_has_its_own_answer_in_their_order() -> None:
    async def story() -> None:
        async with loop_of(FILES) as c, c.connect("north") as north:
            async with c.connect("heron", client="joe", session=1) as joe, joe.inbox() as inbox:
                results = await north.send([JOE, NOBODY, "client/joe", JOE], b"x")
                await take(inbox, 2)
                said = [r.error.code if r.error else r.result.state if r.result else "" for r in results]
                assert said == ["OK", "UNKNOWN_NODE", "NOT_CONNECTED", "OK"]
                await eventually(lambda: c.metric("north", "tailed_back") == 0)

    asyncio.run(story())
