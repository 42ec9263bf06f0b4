"""Direct messages reach their receiver, wait for it, or fail by name, on real nodes."""

import asyncio
from typing import Any

import pytest

import mesh
from mesh.client.core.verdicts import REMEMBERED
from mesh.errors import (
    BadArgument,
    BadKey,
    BadName,
    BadQuery,
    BadXPath,
    MessageTooLarge,
    NoHandlers,
    NotAvailable,
    NotConnected,
    PublishRefused,
    UnknownNode,
)
from mesh.kernel.subscribers import client_finder
from mesh.kernel.subscribers.client_finder import ClientFinder
from mesh.values import Published
from tests.mesh.client.masters import masters
from tests.mesh.client.services import pair, run
from tests.mesh.meshes import eventually, in_memory, mesh_of, take


def test_a_session_at_another_node_gets_what_is_sent_to_it_and_nobody_else_does() -> None:
    async def scenario() -> None:
        async with (
            mesh_of("a", "b") as m,
            m.connect("a") as ann,
            m.connect("b", client="joe", session=1) as joe,
            m.connect("b", client="joe", session=2) as other,
        ):
            async with (
                joe.inbox() as inbox,
                other.inbox() as quiet,
                other.subscribe(pattern="#") as all_of_it,
            ):
                sent = await ann.send(joe.name, "hello", key="greeting", headers={"a": "1"}, priority=9)
                both = await ann.send("/node/b/client/joe", b"both")
                messages, [seen] = await take(inbox, 2), await take(quiet, 1)
                await ann.publish("k", b"for all")
                [published] = await take(all_of_it, 1)
            assert (sent.ok, sent.matched, both.matched) == (True, 1, 2)
            hello = messages[0]
            assert (hello.content, hello.key, hello.headers["a"], hello.priority) == (
                b"hello",
                "greeting",
                "1",
                9,
            )
            assert (hello.sender, hello.to, hello.id, hello.state) == (ann.name, joe.name, sent.id, "OK")
            assert messages[1].content == seen.content == b"both"
            assert (messages[1].key, seen.to) == ("", other.name)
            assert (published.content, published.to) == (b"for all", "")

    asyncio.run(scenario())


def test_who_is_away_is_an_error_unless_the_message_may_wait() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ann:
            joe = "/node/b/client/joe/session/1"
            with pytest.raises(NotConnected):
                await ann.send(joe, b"now or never")
            waiting = [
                await ann.send(joe, b"%d" % n, force_queuing=True, persistent=n == 1) for n in range(3)
            ]
            assert [(p.ok, p.matched) for p in waiting] == [(True, 0)] * 3
            async with m.connect("b", client="joe", session=1) as late, late.inbox() as inbox:
                assert [x.content for x in await take(inbox, 3)] == [b"0", b"1", b"2"]

    asyncio.run(scenario())


def test_an_unknown_node_is_an_error_unless_the_message_may_wait_for_it() -> None:
    async def scenario() -> None:
        async with masters("frodo", "bilbo", patience=0.2) as m, m.connect("bilbo") as b:
            joe = "/node/heron/client/joe/session/1"
            with pytest.raises(UnknownNode):
                await b.send("/node/nowhere/client/joe", b"x")
            waits = await b.send(joe, b"x", force_queuing=True, persistent=True)
            assert waits.state == "FORWARD_WARNING" and waits.note
            last = asyncio.ensure_future(b.final(waits))
            await m.start("heron")
            assert (await last).ok
            async with m.connect("heron", client="joe", session=1) as h, h.inbox() as inbox:
                assert [x.content for x in await take(inbox, 1)] == [b"x"]

    asyncio.run(scenario())


def test_many_destinations_have_a_result_each() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ann:
            async with m.connect("b", client="joe", session=1) as joe, joe.inbox() as inbox:
                results = await ann.send([joe.name, "/node/b/client/eve", "/node/a/client/eve"], b"all")
                assert [sent.destination for sent in results][1:] == [
                    "/node/b/client/eve",
                    "/node/a/client/eve",
                ]
                assert isinstance(results[0].result, Published) and results[0].error is None
                assert [type(sent.error) for sent in results[1:]] == [NotConnected] * 2
                assert [sent.result for sent in results[1:]] == [None, None]
                [sent] = await ann.send((joe.name,), b"one")
                assert sent.result is not None and sent.result.ok
                assert await ann.send([], b"nobody") == []
                assert [x.content for x in await take(inbox, 2)] == [b"all", b"one"]

    asyncio.run(scenario())


def test_a_session_may_be_named_as_in_xmlblaster() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ann:
            async with m.connect("b", client="joe", session=1) as joe, joe.inbox() as inbox:
                assert (await ann.send("/node/b/client/joe/1", b"1")).matched == 1
                [sent] = await ann.send(["/node/b/client/joe/1"], b"2")
                assert sent.destination == joe.name
                assert [(x.content, x.to) for x in await take(inbox, 2)] == [
                    (b"1", joe.name),
                    (b"2", joe.name),
                ]
            generated = f"/node/a/client/{ann.name.split('/')[4]}/{ann.name.rpartition('/')[2]}"
            async with ann.inbox() as own:
                assert generated.rpartition("/")[2].startswith("-")
                await ann.send(generated, b"3")
                assert [x.content for x in await take(own, 1)] == [b"3"]
            # Without client/ the name is an address.
            with pytest.raises(NoHandlers, match="For session 1 of the client joe: client/joe/1"):
                await ann.send("joe/1", b"x")
            [sent] = await ann.send(["joe/-9"], b"x")
            assert sent.error is not None and "client/joe/-9" in str(sent.error.hint)

    asyncio.run(scenario())


def test_what_cannot_be_sent_is_refused_before_anything_is() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ann:
            for destination in (
                "node/joe",
                "/node/a",
                "client/",
                "client/joe/session/0",
                "",
                "/node/a b/client/x",
            ):
                with pytest.raises(BadName):
                    await ann.send([ann.name, destination], b"x")
            with pytest.raises(BadKey):
                await ann.send(ann.name, b"x", key="a/#")
            with pytest.raises(MessageTooLarge, match=ann.name):
                await ann.send(ann.name, bytes(2 << 20))
            assert m.metric("a", "published") == 0

    asyncio.run(scenario())


def test_a_session_has_one_inbox_at_a_time() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ann:
            early = ann.inbox()
            async with ann.inbox() as inbox:
                assert inbox.id == "0"
                with pytest.raises(BadQuery, match="one inbox"):
                    ann.inbox()
                with pytest.raises(BadQuery, match="one inbox"):
                    await early.__aenter__()
                await ann.send(ann.name, b"to myself")
                assert [x.content for x in await take(inbox, 1)] == [b"to myself"]
            async with ann.inbox(), ann.subscribe("k") as other:
                assert other.id != "0"

    asyncio.run(scenario())


def test_what_nobody_took_when_the_inbox_was_left_or_came_after_waits_in_order() -> None:
    async def scenario() -> None:
        async with in_memory("a", "b") as m, m.connect("a") as ann:
            async with m.connect("b", client="joe", session=1) as joe:
                got = []
                for n in range(50):
                    await ann.send(joe.name, b"%d" % n)
                for count in (1, 9, 20):
                    async with joe.inbox() as inbox:
                        got += [x.content for x in await take(inbox, count)]
            await ann.send("/node/b/client/joe/session/1", b"50", force_queuing=True)
            async with m.connect("b", client="joe", session=1) as joe, joe.inbox() as inbox:
                got += [x.content for x in await take(inbox, 21)]
            assert got == [b"%d" % n for n in range(51)]

    asyncio.run(scenario())


def test_an_inbox_that_is_left_in_the_middle_of_a_batch_goes_on_after_the_last_message_taken() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ann, m.connect("a", client="joe", session=1) as joe:
            await asyncio.gather(*(ann.send(joe.name, b"%06d" % n + bytes(2000)) for n in range(600)))
            got: list[int] = []
            for count in (1, 99, 7, 150, 1, 342):
                async with joe.inbox() as inbox:
                    got += [int(x.content[:6]) for x in await take(inbox, count)]
            assert got == list(range(600))
            await eventually(lambda: m.metric("a", "inboxes_owed") == 0)

    asyncio.run(scenario())


def test_what_was_given_while_its_user_failed_is_given_again() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ann, m.connect("a", client="joe", session=1) as joe:
            await ann.send(joe.name, b"once")
            for _ in range(2):
                with pytest.raises(ZeroDivisionError):
                    async with joe.inbox() as inbox:
                        await take(inbox, 1)
                        raise ZeroDivisionError
            async with joe.inbox() as inbox:
                assert [x.content for x in await take(inbox, 1)] == [b"once"]
            await eventually(lambda: m.metric("a", "inboxes_owed") == 0)

    asyncio.run(scenario())


def test_an_inbox_goes_on_when_its_node_was_started_again() -> None:
    async def scenario() -> None:
        async with in_memory("heron", "bilbo") as m, m.connect("bilbo") as b:
            async with m.connect("heron", client="joe", session=1) as joe, joe.inbox() as inbox:
                for n in range(5):
                    await b.send(joe.name, b"%d" % n, persistent=True)
                first = await take(inbox, 2)
                m.kill("heron")
                await m.joined()
                sending = asyncio.create_task(b.send(joe.name, b"5", persistent=True, force_queuing=True))
                await m.pass_time(2)
                assert not (await sending).ok
                m.start("heron")
                await m.pass_time(10)
                assert (await b.final(await sending)).ok
                got = [x.content for x in first + await take(inbox, 4)]
            assert got == [b"%d" % n for n in range(6)]

    asyncio.run(scenario())


def test_a_send_goes_to_one_or_to_all_and_several_destinations_have_a_result_each() -> None:
    async def scenario() -> None:
        async with pair() as (_, ann, bob), ann.serve("log") as one, bob.serve("log") as two:
            assert (await ann.send("log", b"x", delivery="all")).matched == 2
            assert [(await anext(each)).content for each in (one, two)] == [b"x", b"x"]
            sent = await ann.send(["log", "nobody", ann.name], b"y", key="k", expiry=5.0)
            assert [each.destination for each in sent] == ["log", "nobody", ann.name]
            assert sent[0].result is not None and isinstance(sent[1].error, NoHandlers)
            with pytest.raises(NoHandlers):
                await ann.send("nobody", b"", delivery="all")
            with pytest.raises(NoHandlers):
                await ann.send("nobody", b"", delivery="one", local_only=True)
            await ann.flush()
            assert isinstance(sent[0].result, mesh.Published)
            assert await ann.final(sent[0].result) == sent[0].result

    run(scenario)


def test_one_session_of_a_client_gets_it_and_a_client_of_another_site_never_does() -> None:
    async def scenario() -> None:
        async with (
            in_memory("a", "b") as m,
            m.connect("a") as ann,
            m.connect("b", client="joe", session=1) as one,
            m.connect("b", client="joe", session=2) as two,
            one.inbox() as first,
            two.inbox() as second,
        ):
            for n in range(4):
                sent = await ann.send("/node/b/client/joe", b"%d" % n, delivery="one")
                assert (sent.ok, sent.matched) == (True, 1)
            got = [x.content for x in await take(first, 2) + await take(second, 2)]
            assert sorted(got) == [b"0", b"1", b"2", b"3"]
            assert (await ann.send("/node/b/client/joe", b"all", delivery="all")).matched == 2
            assert (await ann.send(two.name, b"named", delivery="one")).matched == 1
            with pytest.raises(BadArgument, match="other sites"):
                await ann.send("/site/NYC/node/b/client/joe", b"x", delivery="one")

    asyncio.run(scenario())


def test_an_xpath_over_clients_stands_for_the_sessions_that_it_selects() -> None:
    async def scenario() -> None:
        async with (
            in_memory("a", "b") as m,
            m.connect("a", client="ann", session=1) as ann,
            m.connect("b", client="joe", session=1) as one,
            m.connect("a", client="joe", session=2) as two,
            one.inbox() as first,
            two.inbox() as second,
        ):
            sent = await ann.send(["xpath://client[@name='joe']"], b"joe")
            assert [(each.destination, each.error) for each in sent] == [(two.name, None), (one.name, None)]
            # A receiver that is named twice gets it once; the others of the list come first.
            sent = await ann.send([two.name, "xpath://client", "log", "xpath://client[@session=1]"], b"all")
            assert [each.destination for each in sent] == [two.name, "log", ann.name, one.name]
            assert [each.error is None for each in sent] == [True, False, True, True]
            assert await ann.send(["xpath://client[@name='eve']"], b"x") == []
            for inbox in (first, second):
                assert [x.content for x in await take(inbox, 2)] == [b"joe", b"all"]
            with pytest.raises(BadXPath):
                await ann.send([two.name, "xpath://client["], b"x")
            with pytest.raises(BadArgument, match="list"):
                await ann.send("xpath://client", b"x")
            with pytest.raises(BadArgument, match="local_only"):
                await ann.send(["xpath://client"], b"x", local_only=True)
            assert m.metric("a", "published") + m.metric("b", "published") == 5

    asyncio.run(scenario())


def test_nothing_is_sent_if_too_many_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_finder, "MOST", 1)

    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ann, m.connect("a", client="joe") as joe:
            with pytest.raises(BadArgument, match="More than 1 sessions match"):
                await ann.send([joe.name, "xpath://client"], b"x")
            assert m.metric("a", "published") == 0

    asyncio.run(scenario())


def test_a_node_of_an_earlier_release_is_an_error_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ClientFinder, "features", lambda self: ())

    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ann:
            with pytest.raises(NotAvailable, match="earlier release"):
                await ann.send([ann.name, "xpath://client"], b"x")
            with pytest.raises(NotAvailable, match="earlier release"):
                await ann.send([ann.name, "client/joe"], b"x", delivery="one")
            with pytest.raises(NotAvailable, match="earlier release"):
                await ann.send([ann.name, "/site/NYC/client/joe"], b"x")
            assert m.metric("a", "published") == 0

    asyncio.run(scenario())


def test_of_thousands_of_destinations_each_has_its_own_reason() -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ann:
            sent = await ann.send([f"nobody/{n}" for n in range(REMEMBERED + 76)], b"x")
            assert [each.destination for each in sent] == [f"nobody/{n}" for n in range(REMEMBERED + 76)]
            assert {type(each.error) for each in sent} == {NoHandlers}

    run(scenario)


@pytest.mark.parametrize("address", ["", "calc/+", "#"])
def test_what_is_said_of_an_address_is_not_about_topics(address: str) -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ann:
            for ask in (ann.serve, ann.registrations, ann.gather):
                with pytest.raises(BadName) as caught:
                    ask(address)
                said = str(caught.value)
                assert "calc/add" in said and not any(word in said for word in ("subscribe", "topic", "key"))

    run(scenario)


@pytest.mark.parametrize(
    "options",
    [{"persistent": True}, {"domain": "NEWS"}, {"domain": ""}, {"force_queuing": True}, {"delivery": "some"}],
)
def test_what_has_no_meaning_for_an_address_is_refused(options: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with in_memory("a") as m, m.connect("a") as ann:
            with pytest.raises(BadArgument):
                await ann.send("log", b"x", **options)
            with pytest.raises(BadArgument):
                await ann.send("client/joe", b"x", local_only=True)
            with pytest.raises(PublishRefused, match="RESERVED"):
                await ann.publish("k", b"x", domain="address/")
            assert m.metric("a", "published") == 0

    run(scenario)
