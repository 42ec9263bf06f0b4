"""What does a client say when it is connected again, and what may its node say? Without a node."""

import asyncio

import pytest
from msgspec.structs import replace

import mesh
from mesh.client.access import Access
from mesh.client.core.effects import CloseConnection, DialNode, Find, SendCommand
from mesh.client.core.intake import Terms
from mesh.client.events import KEPT, Event, Followers
from mesh.errors import Closed, NodeNotFound, WrongLoop
from mesh.wire import commands as c
from mesh.wire.frames import write
from tests.mesh.client.core.benches import CoreBench, result
from tests.mesh.client.wired import HeardWire, Wired, story, turns, wired
from tools.costing.wire import WELCOME

# --- without a loop -----------------------------------------------------------------------------------


def post(bench: CoreBench, *contents: bytes) -> None:
    for content in contents:
        bench.core.publisher.post("k", content, "", 0, b"", 0)
    bench.wait()


def said(bench: CoreBench) -> list[str]:
    """In short, without what has no order."""
    words = []
    for effect in bench.done:
        if isinstance(effect, SendCommand) and not isinstance(effect.command, c.Ack | c.Hello):
            numbers = [f" {e.first}..{e.last}" for e in effect.envelopes]
            words.append(type(effect.command).__name__ + "".join(numbers))
    return words


def test_it_subscribes_then_publishes_again_and_then_asks_again() -> None:
    bench = CoreBench()
    core = bench.core
    query = c.Query("exact", "k")
    intake = core.subscriptions.make(query, True, Terms())
    core.subscriptions.enter(intake)
    bench.hear(c.Reply(1, {}))
    post(bench, b"1", b"2", b"3")
    bench.hear(c.Answers((c.Answer("", 1, 2, "FORWARD_WARNING"), c.Answer("", 3, 3))))
    erasing = core.calls.ask(lambda request: c.Call(request, "erase", {"key": "k"}))
    bench.again(boot=2)
    assert said(bench) == ["Subscribe", "Publish 1..3", "Call"]
    assert bench.told() == [("connected", WELCOME.session)]
    bench.hear(c.Reply(2, {"erased": ["k"]}))
    assert result(erasing.promise) == [({"erased": ["k"]}, [])]


def test_what_is_published_while_the_node_is_away_leaves_when_it_is_back() -> None:
    bench = CoreBench()
    bench.core.gone(bench.desk.now, bench.core.line.key)
    post(bench, b"1")
    assert said(bench) == []
    bench.connect()
    assert said(bench) == ["Publish 1..1"]


def test_a_node_says_what_it_will_take() -> None:
    bench = CoreBench()
    bench.core.gone(bench.desk.now, bench.core.line.key)
    bench.connect(replace(WELCOME, max_content=77, window=(5, 6)))
    publisher = bench.core.publisher
    assert (publisher.max_content, publisher.outbox.window) == (77, (5, 6))


@pytest.mark.parametrize(
    "command",
    [WELCOME, c.Challenge(b"n" * 16, ""), c.Hello((1, 1), c.CLIENT, "", b""), c.Login()],
    ids=lambda command: type(command).__name__,
)
def test_a_node_that_says_to_a_client_that_is_in_what_is_for_others_is_left(command: c.AnyCommand) -> None:
    bench = CoreBench()
    bench.hear(c.Pong(1))
    assert bench.core.line.is_up and CloseConnection(1) not in bench.done
    bench.hear(command)
    assert not bench.core.line.is_up and CloseConnection(1) in bench.done


def test_what_cannot_be_read_ends_the_connection_and_what_comes_by_an_old_one_does_not() -> None:
    bench = CoreBench()
    bench.core.gone(bench.desk.now, 0, "of another")
    bench.core.received(bench.desk.now, 0, c.Bye("of another"), [])
    assert bench.core.line.is_up
    bench.core.gone(bench.desk.now, 1, "no command")
    bench.wait()
    assert bench.told() == [("disconnected", "no command")] and bench.done[0] == CloseConnection(1)


def test_a_node_that_asks_whether_it_is_there_is_answered() -> None:
    bench = CoreBench()
    bench.hear(c.Ping(7))
    assert bench.sent() == [c.Pong(7)]


def test_closing_says_bye_last_and_tells_all_who_wait() -> None:
    bench = CoreBench()
    core = bench.core
    post(bench, b"1")
    waiting = [
        core.calls.ask(lambda request: c.Call(request, "info")).promise,
        core.publisher.change(),
        core.publisher.verdicts.wait("", 1, last=False),
        core.publisher.verdicts.wait("", 1, last=True),
    ]
    bench.wait()
    core.close()
    core.close()
    bench.wait()
    assert bench.done[-2:] == [SendCommand(1, c.Bye("done")), CloseConnection(1)]
    for promise in waiting:
        with pytest.raises(Closed):
            result(promise)
    assert bench.wait(60.0) == [] and core.due == float("inf")
    with pytest.raises(Closed):
        core.publisher.verdicts.wait("", 1, last=False)


def test_after_it_was_lost_it_finds_its_node_by_name_wherever_that_is_now() -> None:
    bench = CoreBench()
    bench.core.gone(bench.desk.now, 1)
    bench.wait(2.0)
    assert bench.done[-1] == Find() and bench.core.line.home == "heron"
    elsewhere = Access("ipc:///run/elsewhere")
    bench.core.found(bench.desk.now, elsewhere)
    assert bench.wait()[0] == DialNode(2, elsewhere)


# --- on a wire ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_client_tells_a_node_of_version_2_what_it_does_not_know_and_goes_on(version: int) -> None:
    class Versed(HeardWire):
        welcome = replace(WELCOME, version=version)

    async def told() -> None:
        async with wired(Versed) as it:
            wire, line = it.wire, it.client._core.line
            for number in range(100):
                wire.hear(wire.key, [b"\x92\x63" + bytes((number,)), b"an envelope"])
            unknown = [command for command in wire.said if isinstance(command, c.Unknown)]
            assert unknown == ([c.Unknown(99, number) for number in range(10)] if version == 2 else [])
            assert line.is_up is (version == 2)
            wire.hear(wire.key, write(c.Unknown(41, 7)))
            assert line.is_up is (version == 2)

    asyncio.run(told())


@story
async def test_an_erase_waits_for_the_answers_to_what_was_posted_before(it: Wired) -> None:
    it.client.post("k", b"1")
    erasing = asyncio.ensure_future(it.client.erase("k"))
    await turns()
    assert type(it.wire.said[-1]) is c.Publish
    it.answer(1, 1, "EXPIRED")
    await turns()
    assert [type(command) for command in it.wire.said[-2:]] == [c.Publish, c.Call]
    erasing.cancel()


@story
async def test_a_verb_that_is_given_up_while_it_waits_is_not_asked_again(it: Wired) -> None:
    asking = asyncio.ensure_future(it.client.ping())
    await turns()
    assert [type(command) for command in it.wire.said].count(c.Call) == 1
    asking.cancel()
    await turns()
    await it.lose()
    await turns()
    assert [type(command) for command in it.wire.said].count(c.Call) == 1


@story
async def test_a_client_tells_what_befell_it_from_the_call_on(it: Wired) -> None:
    events = it.client.events()
    await it.lose()
    await it.client.close(drain=False)
    assert [(event.kind, event.text) async for event in events] == [
        ("disconnected", "the node went away"),
        ("connected", WELCOME.session),
    ]
    assert [event async for event in it.client.events()] == []


@story
async def test_where_another_loop_runs_nothing_is_begun_and_nothing_left_behind(it: Wired) -> None:
    for verb in (lambda: it.client.post("k", b"1"), it.client.events):
        with pytest.raises(WrongLoop):
            await asyncio.to_thread(verb)
    it.client.post("k", b"2")
    await turns()
    assert [envelope.contents() for envelope in it.sent] == [[b"2"]]


# --- coming, going, and coming again ------------------------------------------------------------------


def test_a_client_that_could_not_be_opened_may_be_tried_again() -> None:
    async def told() -> None:
        client = mesh.Client("nobody", client="joe", timeout=0.05)
        with pytest.raises(NodeNotFound):
            await client.__aenter__()
        client._way.address = "ipc:///run/heron"
        async with wired(client=client) as it:
            await asyncio.sleep(0.01)  # what the first try left behind would end it now
            it.client.post("k", b"1")
            await turns()
            assert len(it.sent) == 1
        with pytest.raises(Closed, match="opened before"):
            await client.__aenter__()

    asyncio.run(told())


def test_a_client_that_is_closed_while_it_opens_says_so_at_once() -> None:
    async def told() -> None:
        client = mesh.Client("nobody", client="joe", timeout=60.0)
        opening = asyncio.ensure_future(client.__aenter__())
        while not client._shell.is_open:
            await asyncio.sleep(0.001)
        await client.close()
        with pytest.raises(Closed):
            await opening

    asyncio.run(asyncio.wait_for(told(), 10))


def test_who_follows_a_client_hears_its_end_whoever_closed_it_and_is_owed_no_more_than_so_many_events() -> (
    None
):
    async def ending() -> None:
        followers = Followers()
        first, second = followers.follow(), followers.follow()
        for number in range(KEPT + 5):
            followers.tell(Event("refused", str(number)))
        assert (await anext(first)).text == "5", "the oldest are gone"
        followers.tell(Event("closed", "its node failed"))
        assert [event.text async for event in second][-1] == str(KEPT + 4)
        assert [event async for event in followers.follow()] == []

    asyncio.run(ending())
    bench = CoreBench()
    bench.core.close(NodeNotFound("its node failed."))
    bench.wait()
    assert bench.told()[-1] == ("closed", "its node failed.")
