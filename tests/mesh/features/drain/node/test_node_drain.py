"""A drain of a node with its clients: all move without an error, and the rest is named."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mesh.client.core import client_handshake
from mesh.errors import LocalError
from mesh.features.drain.node import redirecting
from mesh.features.drain.node.redirecting import EMPTY, PATIENCE, TRIES, Redirecting
from mesh.features.services.node.departed import HOLD
from mesh.kernel.context.leaving import LIMITS, Step
from mesh.wire.limits import OPERATOR, VISITS
from tests.mesh.features.drain.node.emptied import NODES, Emptied, Working, home, play, refused

STEPS = [step for step in Step if step is not Step.STAYING]


def test_all_clients_move_while_they_work_and_nothing_is_lost_repeated_or_refused() -> None:
    async def scenario(it: Emptied) -> None:
        work = Working(it.m, "heron")
        async with work.at_work():
            await it.m.pass_time(0.5)
            before = work.replies
            found = await it.drained("heron")
            assert found.is_complete and found.left == []
            events, _ = it.parts("heron").context.events.events_after(0)
            texts = [event.text for event in events if event.kind == "drain"]
            assert texts[-1] == "drain of heron is finished: nothing is left"
            places = {name: home(client) for name, client in work.clients.items()}
            assert set(places.values()) <= {"stork", "ibis"}, places
            await it.m.pass_time(1)
            assert work.replies > before + 3
        await it.until(lambda: len(work.got) == work.published and len(set(work.jobs)) == work.queued)
        assert work.errors == []
        assert work.got == list(range(work.published))
        assert len(work.jobs) == work.queued, "no job came twice"

    play(scenario)


def test_a_client_leaves_at_once_without_the_waits_of_a_lost_node() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            it.ask("heron", "begin")
            await it.until(lambda: it.step("heron") >= Step.CLIENTS)
            begun = it.m.time
            await it.until(lambda: home(joe) in ("stork", "ibis"))
            assert it.m.time - begun <= 0.5

    play(scenario)


def test_a_drained_node_accepts_no_new_client_and_names_others_until_the_drain_is_canceled() -> None:
    async def scenario(it: Emptied) -> None:
        it.ask("heron", "begin")
        async with it.m.connect("heron", client="joe") as joe:
            assert home(joe) in ("stork", "ibis")
        await it.until(lambda: it.parts("stork").gossiping.is_leaving("heron"))
        await it.m.pass_time(2)
        stork = it.parts("stork")
        heron = it.parts("heron").context.me.uuid
        assert heron not in stork.room._with_room(), "other nodes send it no clients"
        assert stork.gossiping.described(heron).leaving is True, "`mesh ls` shows it there"
        it.ask("heron", "cancel")
        async with it.m.connect("heron", client="joe") as joe:
            assert home(joe) == "heron"
        await it.until(lambda: heron in stork.room._with_room())

    play(scenario)


@pytest.mark.parametrize("step", STEPS)
def test_a_drain_is_canceled_in_each_step_and_what_moved_stays_where_it_is(step: Step) -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe, it.m.connect("heron", client="ann") as ann:
            await ann.queue("jobs").declare()
            async with ann.serve("calc") as service, ann.queue("jobs").consume() as jobs:
                serving = asyncio.create_task(_serve(service))
                it.hold("heron", step)
                it.ask("heron", "begin")
                await it.until(lambda: it.step("heron") is step)
                where = home(joe), home(ann)
                assert step is Step.CLIENTS or ("heron" in where) is (step < Step.CLIENTS)
                it.ask("heron", "cancel")
                await it.m.pass_time(2)
                assert it.step("heron") is Step.STAYING
                assert not it.parts("stork").gossiping.is_leaving("heron")
                assert step is Step.CLIENTS or (home(joe), home(ann)) == where
                async with it.m.connect("heron", client="new") as new:
                    assert home(new) == "heron"
                    assert (await it.outcome(new.request("calc", b"1"))).content == b"1"
                    await it.outcome(new.queue("jobs").put(b"job"))
                    job = await it.outcome(anext(jobs))
                    await job.ack()
                serving.cancel()

    play(scenario)


async def _serve(service: Any) -> None:
    async for request in service:
        await request.reply(request.content)


def test_a_call_in_progress_ends_before_its_client_leaves() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="srv") as srv, it.m.connect("stork", client="req") as req:
            async with srv.serve("calc") as service:
                asked = asyncio.create_task(req.request("calc", b"1", timeout=60))
                request = await anext(service)
                it.ask("heron", "begin")
                await it.m.pass_time(LIMITS[Step.QUIET] - 1)
                assert it.step("heron") is Step.QUIET and home(srv) == "heron"
                await request.reply(b"2")
                assert (await asked).content == b"2"
                await it.until(lambda: home(srv) in ("stork", "ibis"), limit=3)

    play(scenario)


def test_requests_to_a_service_that_has_just_left_wait_until_it_serves_again() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="srv") as srv, it.m.connect("stork", client="req") as req:
            async with srv.serve("calc") as service:
                serving = asyncio.create_task(_serve(service))
                assert (await it.outcome(req.request("calc", b"1"))).content == b"1"
                heron = it.parts("heron")
                heron.context.leaving.enter_step(Step.CLIENTS, heron.context.clock.now)
                [session] = [each for each in heron.sessions.by_stream.values() if each.name.client == "srv"]
                assert session.conn is not None
                heron.context.end_connection(session.conn)
                asked = asyncio.create_task(req.request("calc", b"2"))
                await it.until(lambda: asked.done())
                assert asked.result().content == b"2"
                serving.cancel()

    play(scenario)


def test_a_service_that_does_not_come_back_is_withdrawn_after_a_second() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="srv") as srv, srv.serve("calc"):
            it.hold("heron", Step.QUEUES)
            it.ask("heron", "begin")
            await it.until(lambda: home(srv) in ("stork", "ibis"))
            await it.m.pass_time(HOLD + 0.2)
            assert it.parts("heron").presence.own == {}

    play(scenario)


def test_consumers_get_nothing_from_the_second_step_on_until_the_drain_is_canceled() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            await joe.queue("own").declare(scope="node")
            async with joe.queue("own").consume() as jobs:
                it.hold("heron", Step.QUIET)
                it.ask("heron", "begin")
                await it.until(lambda: it.step("heron") is Step.QUIET)
                await it.outcome(joe.queue("own").put(b"1"))
                taking = asyncio.ensure_future(anext(jobs))
                await it.m.pass_time(2)
                assert not taking.done()
                it.ask("heron", "cancel")
                await it.until(taking.done, limit=3)
                await taking.result().ack()

    play(scenario)


def test_consumers_and_services_are_redirected_first(monkeypatch: pytest.MonkeyPatch) -> None:
    order, redirect = list[str](), Redirecting._redirect

    def recorded(self: Redirecting, session: Any, *rest: Any) -> bool:
        order.append(session.name.client)
        return redirect(self, session, *rest)

    async def scenario(it: Emptied) -> None:
        async with (
            it.m.connect("heron", client="pub"),
            it.m.connect("heron", client="con") as con,
            it.m.connect("heron", client="srv") as srv,
        ):
            await con.queue("jobs").declare()
            async with con.queue("jobs").consume(), srv.serve("calc"):
                it.ask("heron", "begin")
                await it.until(lambda: len(order) == 3)
        assert sorted(order[:2]) == ["con", "srv"]

    monkeypatch.setattr(Redirecting, "_redirect", recorded)
    play(scenario)


def test_a_client_that_does_not_answer_is_disconnected_and_named_when_it_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="deaf") as deaf:
            monkeypatch.setattr(deaf._shell.core.departing, "on_bye", lambda bye: True)
            it.ask("heron", "begin")
            await it.until(lambda: it.step("heron") is Step.CLIENTS)
            await it.m.pass_time(PATIENCE - 1)
            assert it.step("heron") is Step.CLIENTS and home(deaf) == "heron"
            [row] = [row for row in it.ask("heron").left if row.step == "clients"]
            assert (row.count, row.fate) == (1, "moves")
            await it.until(lambda: it.step("heron") is Step.DONE, TRIES * (PATIENCE + EMPTY + 1))
            found = it.ask("heron")
            assert [(row.fate, row.why) for row in found.left] == [("stays", redirecting.BACK)]
            assert not found.is_complete

    play(scenario)


def test_a_client_of_an_earlier_release_keeps_its_node_and_is_named() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="old") as old:
            [session] = it.parts("heron").sessions.by_stream.values()
            assert session.conn is not None
            session.conn.speaks -= {VISITS}
            found = await it.drained("heron")
            assert home(old) == "heron" and not found.is_complete
            assert [(row.what, row.fate, row.why) for row in found.left] == [
                ("clients", "stays", redirecting.OLD)
            ]

    play(scenario)


def test_a_command_of_the_operator_stays_and_is_not_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(it: Emptied) -> None:
        monkeypatch.setattr(client_handshake, "marks", lambda: (OPERATOR,))
        async with it.m.connect("heron", client="admin") as admin:
            found = await it.drained("heron")
            assert home(admin) == "heron" and found.left == []

    play(scenario)


def test_direct_messages_that_no_client_has_read_are_named_and_wait() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("stork", client="ann") as ann:
            await it.outcome(ann.send("/node/heron/client/joe", b"1", force_queuing=True, persistent=True))
            found = await it.drained("heron")
        assert found.is_complete
        assert [(row.what, row.count, row.fate) for row in found.left] == [("direct messages", 1, "waits")]

    play(scenario)


def test_a_client_that_reaches_no_other_node_comes_back_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            choice = joe._shell.core.line.choice
            monkeypatch.setattr(choice, "_may_visit", lambda place: False)
            found = await it.drained("heron")
            assert home(joe) == "heron"
            assert [(row.fate, row.why) for row in found.left] == [("stays", redirecting.BACK)]
            assert TRIES == 3

    play(scenario)


def test_what_waits_for_a_node_that_is_down_is_named_and_the_drain_is_complete() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            it.m.kill("ibis")
            publishing = [
                asyncio.create_task(joe.publish("k", b"%d" % n, domain="NEWS", persistent=True))
                for n in range(3)
            ]
            await it.until(lambda: it.parts("heron").context.figures()["tailed_back"] == 3)
            found = await it.drained("heron")
            assert found.is_complete, found
            assert {
                (row.step, row.count, row.fate, row.node) for row in found.left if row.step == "outbound"
            } == {("outbound", 3, "waits", "ibis")}
            for task in publishing:
                task.cancel()

    play(scenario)


def test_what_a_node_that_is_down_is_owed_of_the_log_is_named() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("stork", client="sub") as sub, it.m.connect("heron", client="pub") as pub:
            async with sub.subscribe("k"):
                it.m.kill("stork")
                for n in range(3):
                    await pub.publish("k", b"%d" % n, persistent=True)
                found = await it.drained("heron")
                assert found.is_complete
                rows = [(row.count, row.fate, row.node) for row in found.left if "log" in row.what]
                assert rows == [(3, "waits", "stork")]

    play(scenario)


def test_direct_messages_are_named_by_whether_their_clients_are_away() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("stork", client="pub") as pub, it.m.connect("heron", client="joe") as joe:
            async with joe.inbox():
                await pub.send("/node/heron/client/ann", b"1", persistent=True, force_queuing=True)
                await pub.send(
                    [joe.name, "/node/heron/client/bob"], b"2", persistent=True, force_queuing=True
                )
                found = await it.drained("heron")
        left = {row.why: (row.what, row.count, row.fate) for row in found.left}
        assert left == {
            "their clients have not read them": ("direct messages", 1, "waits"),
            "their clients are away; persistent ones stay on the disk of heron": (
                "direct messages",
                2,
                "waits",
            ),
        }
        assert found.is_complete

    play(scenario)


def test_unread_messages_of_a_disconnected_session_are_named() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("stork", client="pub") as pub, it.m.connect("heron", client="joe") as joe:
            async with joe.subscribe("k"):
                it.cut_client("heron", "joe")
                await it.until(lambda: home(joe) == "")
                await pub.publish("k", b"1", persistent=True)
                found = await it.drained("heron")
                rows = [(row.what, row.count, row.fate) for row in found.left if row.step == "log"]
                assert found.is_complete and rows == [("messages of subscriptions", 1, "waits")]

    play(scenario)


def test_messages_of_queues_of_the_node_alone_stay_and_are_named() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            await joe.queue("own").declare(scope="node")
            await joe.queue("own").put(b"1")
            await joe.queue("jobs").declare()
            await joe.queue("jobs").put(b"1")
            found = await it.drained("heron")
            assert [(row.step, row.count, row.fate) for row in found.left] == [("queues", 1, "stays")]
            assert not found.is_complete

    play(scenario)


def test_a_client_that_moved_ends_its_session_at_all_nodes_when_it_closes() -> None:
    async def scenario(it: Emptied) -> None:
        joe = it.m.connect("heron", client="joe")
        async with joe, joe.subscribe("k", domain="NEWS"):
            await it.drained("heron")
            assert home(joe) in ("stork", "ibis")
        await it.until(lambda: not any(it.parts(name).sessions.by_stream for name in NODES), limit=5)

    play(scenario)


def test_the_only_node_is_not_drained() -> None:
    async def scenario(it: Emptied) -> None:
        with refused("NO_OTHER_NODE") as found:
            it.ask("heron", "begin")
        assert "mesh down" in found[0].hint and it.step("heron") is Step.STAYING

    play(scenario, ["heron"])


def test_no_client_is_sent_to_a_node_that_is_drained_too_and_the_last_node_refuses() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            await it.drained("stork")
            heron, stork = it.parts("heron"), it.parts("stork").context.me.uuid
            await it.until(lambda: stork not in heron.room._with_room(), limit=5)
            await it.drained("heron")
            assert home(joe) == "ibis"
            await it.until(lambda: it.parts("ibis").gossiping.is_leaving("heron"), limit=3)
            with refused("NO_OTHER_NODE") as found:
                it.ask("ibis", "begin")
            assert "heron, stork" in str(found[0]) and "mesh drain --cancel --url heron" in found[0].hint

    play(scenario)


def test_a_second_drain_changes_nothing_and_a_restart_ends_it() -> None:
    async def scenario(it: Emptied) -> None:
        await it.drained("heron")
        since = it.parts("heron").context.leaving.since
        assert it.ask("heron", "begin").is_complete
        assert it.parts("heron").context.leaving.since == since
        it.m.kill("heron")
        it.m.start("heron")
        await it.m.pass_time(5)
        assert it.step("heron") is Step.STAYING
        async with it.m.connect("heron", client="joe") as joe:
            assert home(joe) == "heron"

    play(scenario)


def test_a_drain_that_left_clients_tries_again_when_it_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            choice = joe._shell.core.line.choice
            with monkeypatch.context() as patch:
                patch.setattr(choice, "_may_visit", lambda place: False)
                assert not (await it.drained("heron")).is_complete
            assert home(joe) == "heron"
            found = it.ask("heron", "begin")
            assert (found.step, found.is_complete) == ("clients", False)
            assert (await it.drained("heron")).is_complete
            assert home(joe) in ("stork", "ibis")

    play(scenario)


@pytest.mark.parametrize("is_alone", [True, False], ids=["queues", "with clients"])
def test_only_a_drain_of_the_queues_alone_goes_on_after_a_restart(is_alone: bool) -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            await joe.queue("jobs").declare(nodes=["heron"])
            await joe.queue("jobs").put(b"1", persistent=True)
            if is_alone:
                await joe.call("queue_drain", do="begin")
            else:
                it.hold("heron", Step.QUEUES)
                it.ask("heron", "begin")
                await it.until(lambda: it.step("heron") is Step.QUEUES)
            it.m.kill("heron")
            it.m.start("heron")
            await it.m.pass_time(5)
            assert it.step("heron") is Step.STAYING
            assert it.parts("heron").context.figures()["queues_drained"] == is_alone

    play(scenario)


def test_only_a_drain_of_the_queues_is_canceled_by_its_own_verb() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            assert (await joe.call("queue_drain", do="begin"))["drains"]
            it.ask("heron", "cancel")
            await it.m.pass_time(0.1)
            assert not (await joe.call("queue_drain", do="look"))["drains"]
            it.ask("heron", "begin")
            with pytest.raises(LocalError, match="NODE_DRAINING"):
                await joe.call("queue_drain", do="cancel")

    play(scenario)


def test_a_service_that_begins_at_a_drained_node_is_served_at_the_next_one_without_an_error() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe, it.m.connect("stork", client="ann") as ann:
            held = it.hold("heron", Step.CLOSED)
            it.ask("heron", "begin")
            serving = asyncio.create_task(joe.serve("calc").__aenter__())
            await it.m.pass_time(3)
            assert (home(joe), serving.done()) == ("heron", False)
            assert it.parts("heron").context.figures()["servers"] == 0
            held.clear()
            begun = it.m.time
            await it.until(lambda: home(joe) not in ("", "heron"))
            assert it.m.time - begun < 3, "the refused service delays nothing"
            answering = asyncio.create_task(_serve(await it.outcome(serving)))
            assert (await it.outcome(ann.request("calc", b"1"))).content == b"1"
            answering.cancel()

    play(scenario)


def test_a_service_that_waited_begins_when_the_drain_is_canceled() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            it.hold("heron", Step.CLOSED)
            it.ask("heron", "begin")
            serving = asyncio.create_task(joe.serve("calc").__aenter__())
            await it.m.pass_time(3)
            it.ask("heron", "cancel")
            answering = asyncio.create_task(_serve(await it.outcome(serving)))
            assert (await it.outcome(joe.request("calc", b"1"))).content == b"1"
            answering.cancel()

    play(scenario)


def test_a_service_changes_its_credit_while_its_node_is_drained() -> None:
    async def scenario(it: Emptied) -> None:
        async with it.m.connect("heron", client="joe") as joe, joe.serve("calc"):
            it.hold("heron", Step.CLOSED)
            it.ask("heron", "begin")
            services = joe._shell.core.services
            [service] = services._all.values()
            again = services.register(service)
            await it.until(again.promise.done)
            assert (await again.promise)[-1][0]["epoch"] > 0
            assert home(joe) == "heron"

    play(scenario)
