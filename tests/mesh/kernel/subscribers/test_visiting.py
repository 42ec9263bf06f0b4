"""Sessions that move between nodes in memory, with nodes that end, return and are cut off."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

import mesh.testing
from mesh.client.core.node_connection import NodeConnection
from mesh.errors import NoHandlers
from tests.mesh.kernel.subscribers.moves import NODES, Moves, RandomMoves
from tests.seeds import scenarios


def test_a_killed_node_loses_nothing_and_the_client_goes_on_at_another(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        await it.publish("heron", "1")
        await it.m.pass_time(1)
        it.m.kill("heron")
        it.order = ["stork", "heron", "ibis"]
        await it.publish("stork", "2")
        await it.publish("ibis", "3")
        await it.m.pass_time(20)
        assert (it.got, it.home) == (["1", "2", "3"], "stork")
        await it.publish("ibis", "4")
        it.m.start("heron")
        await it.m.pass_time(60)
        assert it.got == ["1", "2", "3", "4"]
        assert (it.figures(), it.joe._shell.core.visits.former) == ({}, {})

    play(scenario)


def test_a_subscription_with_history_gets_the_resumed_messages_in_order(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        got: list[tuple[str, str, bool]] = []

        async def read(sub: Any) -> None:
            async for message in sub:
                got.append((message.content.decode(), message.state, message.late))

        async with it.joe.subscribe("k", domain="NEWS", history=3) as sub:
            reading = asyncio.create_task(read(sub))
            await it.publish("stork", "1")
            await it.m.pass_time(1)
            it.m.kill("heron")
            it.order = ["ibis", "heron", "stork"]
            for text in "2345":
                await it.publish("stork", text)
            await it.m.pass_time(20)
            reading.cancel()
        assert (got, it.home) == ([(text, "OK", False) for text in "12345"], "ibis")

    play(scenario)


def test_what_a_dead_node_had_accepted_without_a_rule_comes_when_it_returns(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        it.m.cut("stork", "heron")
        await it.publish("stork", "at stork")
        it.m.kill("stork")
        it.m.heal()
        it.visit("ibis")
        await it.m.pass_time(20)
        assert (it.got, it.home) == ([], "ibis")
        it.m.start("stork")
        await it.m.pass_time(60)
        assert (it.got, it.figures()) == (["at stork"], {})

    play(scenario, False)


def test_what_a_dead_node_had_accepted_is_late_after_newer_messages_of_the_same_publisher(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        got: list[Any] = []

        async def read(sub: Any) -> None:
            async for message in sub:
                got.append(message)

        async with it.m.connect("stork", client="reader") as reader, reader.subscribe("k") as sub:
            reading = asyncio.create_task(read(sub))
            await it.joe.publish("k", b"1", persistent=True)
            await it.m.pass_time(1)
            it.m.cut("heron", "stork")
            await it.joe.publish("k", b"2", persistent=True)
            it.m.kill("heron")
            it.m.heal()
            it.order = ["ibis"]
            publishing = asyncio.create_task(it.joe.publish("k", b"3", persistent=True))
            await it.m.pass_time(5)
            await publishing
            it.m.start("heron")
            await it.m.pass_time(20)
            await it.joe.publish("k", b"4", persistent=True)
            await it.m.pass_time(1)
            found = [(message.content.decode(), message.late) for message in got]
            assert found == [("1", False), ("3", False), ("2", True), ("4", False)]
            reading.cancel()

    play(scenario, False)


def test_a_former_node_is_released_only_when_the_master_has_pinned_its_log(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        it.m.cut("ibis", "stork")
        it.visit("stork", "ibis")
        await it.publish("ibis", "1")
        await it.m.pass_time(5)
        held = it.m._nodes["heron"].core.parts
        assert held.sessions.by_stream[it.joe._shell.core.stream].conn is None, "heron holds it"
        it.m.kill("heron")
        it.m.heal()
        await it.m.pass_time(60)
        it.m.start("heron")
        await it.m.pass_time(60)
        assert (it.got, it.figures()) == (["1"], {})

    play(scenario)


def test_a_visited_node_that_dies_is_replaced_and_its_pins_with_it(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        it.visit("stork", "heron")
        await it.m.pass_time(1)
        it.m.kill("stork")
        for n in range(5):
            await it.publish("ibis", str(n))
        await it.m.pass_time(20)
        assert (it.got, it.home) == (["0", "1", "2", "3", "4"], "heron")
        it.m.start("stork")
        await it.m.pass_time(60)
        assert (len(it.got), it.figures()) == (5, {})

    play(scenario)


def test_a_move_back_to_the_home_resumes_there(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        for n, node in enumerate(("stork", "heron", "ibis", "heron")):
            it.visit(node)
            await it.publish("stork", str(n))
            await it.m.pass_time(1)
        await it.m.pass_time(20)
        assert (it.got, it.home, it.figures()) == (["0", "1", "2", "3"], "heron", {})

    play(scenario)


def test_a_copy_of_a_client_whose_session_has_moved_on_is_refused(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        it.visit("stork")
        await it.m.pass_time(5)
        copy = it.joe._shell.core.visits._here.certificate
        it.visit("ibis")
        await it.m.pass_time(5)
        original = it.joe._shell.core.visits._here.certificate
        it.joe._shell.core.visits._here.certificate = copy  # a copy does not know the visits of the original
        it.visit("stork")
        await it.m.pass_time(5)
        why = it.joe._shell.core.line.why
        assert why is not None and why.code == "SESSION_IN_USE" and "the same stream key" in why.what
        it.joe._shell.core.visits._here.certificate = original

    play(scenario)


def test_a_former_node_is_released_though_the_client_has_closed_meanwhile(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        stream = it.joe._shell.core.stream
        it.m.cut("stork", "heron")
        it.visit("stork")
        await it.m.pass_time(3)
        await it.joe.close()
        it.m.heal()
        await it.m.pass_time(60)
        sessions = [node.core.parts.sessions.by_stream for node in it.m._nodes.values()]
        assert (it.figures(), any(stream in each for each in sessions)) == ({}, False)

    play(scenario)


def test_only_what_the_client_lacks_is_resumed(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        async with it.m.connect("ibis", client="slow") as slow, slow.subscribe("k", domain="NEWS"):
            for n in range(20):
                await it.publish("ibis", str(n))
            await it.m.pass_time(1)
            it.visit("stork")
            await it.m.pass_time(5)
            resumed = it.m._nodes["stork"].core.parts.context.figures()["resumed_messages"]
            assert resumed == 1, "the position of the client itself comes again"

    play(scenario)


def test_newer_messages_wait_for_all_pages_of_the_resumed_log(play: Any) -> None:
    async def scenario(it: Moves) -> None:
        it.m.kill("heron")
        it.order = ["heron"]  # joe finds no node
        for n in range(400):
            await it.publish("ibis", f"ibis-{n}")
        it.order = ["stork"]
        for n in range(400, 700):
            await it.publish("ibis", f"ibis-{n}")
            await it.m.pass_time(0.01)
        await it.m.pass_time(10)
        assert it.got == [f"ibis-{n}" for n in range(700)]

    play(scenario)


def test_law_1_of_the_source_a_pin_is_on_disk_until_the_client_has_read_everything(play: Any) -> None:
    def pins(it: Moves) -> int:
        return sum(key[:1] == b"r" for key in it.m._nodes["ibis"]._store.load().tables["feed"])

    async def scenario(it: Moves) -> None:
        it.reading.cancel()
        for n in range(3):
            await it.publish("ibis", str(n))
        await it.m.pass_time(1)
        it.visit("stork")
        await it.m.pass_time(5)
        assert (pins(it), it.got) == (1, [])
        it.reading = asyncio.create_task(it._read(it.sub, it.got))
        await it.m.pass_time(10)
        assert (pins(it), it.got) == (0, ["0", "1", "2"])

    play(scenario)


@pytest.mark.parametrize("is_ruled", [True, False], ids=("ruled", "free"))
@pytest.mark.parametrize("seed", scenarios(range(40), 3))
def test_laws_of_moves_nothing_is_lost_doubled_or_left_behind(play: Any, seed: int, is_ruled: bool) -> None:
    async def scenario(it: Moves) -> None:
        await RandomMoves(it, seed).run()
        assert sorted(it.got) == sorted(it.answered), "SE1 and SE3"
        assert max(Counter(it.got).values(), default=1) == 1
        assert sorted(it.direct) == sorted(it.sent), "SE1 and SE3"
        for source in {text.partition("-")[0] for text in it.direct}:
            mine = [int(text.partition("-")[2]) for text in it.direct if text.startswith(f"{source}-")]
            assert mine == sorted(mine), "SE2"
        for node in NODES if is_ruled else ():
            mine = [int(text.split("-")[1]) for text in it.got if text.startswith(node)]
            assert mine == sorted(mine), "SE2"
        assert (it.figures(), it.joe._shell.core.visits.former) == ({}, {}), "SE6"

    play(scenario, is_ruled)


def test_a_former_node_closes_a_session_that_has_only_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with mesh.testing.Mesh(NODES, clock="virtual") as m:
            it = Moves(m, monkeypatch)
            async with it.joe:
                it.is_opening = False
                with pytest.raises(NoHandlers):
                    await it.joe.request("calc/add", b"")
                it.visit("stork")
                await m.pass_time(5)
                assert (it.home, it.figures(), it.joe._shell.core.visits.former) == ("stork", {}, {})

    asyncio.run(scenario())


def test_a_visit_sends_its_certificate_once(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Counter[str]()
    send = NodeConnection.send_command

    def counted(line: Any, command: Any, *rest: Any) -> bool:
        sent[getattr(command, "verb", "")] += 1
        return send(line, command, *rest)

    async def scenario(it: Moves) -> None:
        monkeypatch.setattr(NodeConnection, "send_command", counted)
        for count, node in enumerate(("stork", "ibis", "heron"), start=1):
            it.visit(node)
            await it.m.pass_time(5)
            assert sent["attach"] == count

    play(scenario)


def test_a_client_without_subscriptions_publishes_and_asks_on_while_its_home_is_down(play: Any) -> None:
    async def serve(service: Any, asked: list[bytes]) -> None:
        async for request in service:
            asked.append(request.content)
            await request.reply(b"re " + request.content)

    async def scenario(it: Moves) -> None:
        asked: list[bytes] = []
        async with it.m.connect("heron", client="ann") as ann, it.publishers["ibis"].serve("calc") as service:
            serving = asyncio.create_task(serve(service, asked))
            publishing = [asyncio.create_task(ann.publish("k", b"1", domain="NEWS", persistent=True))]
            asking = asyncio.create_task(ann.request("calc", b"1", retry_lost=True, timeout=60))
            await asyncio.sleep(0)
            it.order = ["stork", "ibis"]
            it.m.kill("heron")
            publishing.append(asyncio.create_task(ann.publish("k", b"2", domain="NEWS", persistent=True)))
            await it.m.pass_time(20)
            assert ann._shell.core.line.home == "stork"
            assert (await asking).content == b"re 1"
            assert (await ann.request("calc", b"2", timeout=10)).content == b"re 2"
            it.m.start("heron")
            publishing.append(asyncio.create_task(ann.publish("k", b"3", domain="NEWS", persistent=True)))
            await it.m.pass_time(30)
            assert (await ann.request("calc", b"3", timeout=10)).content == b"re 3"
            await asyncio.gather(*publishing)
            assert (it.got, sorted({*asked})) == (["1", "2", "3"], [b"1", b"2", b"3"])
            serving.cancel()
        await it.m.pass_time(60)
        assert it.figures() == {}

    play(scenario)
