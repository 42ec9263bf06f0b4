"""A client that returns to the node that its user prefers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import mesh.testing
from mesh.client.core.fail_back import PAUSE, UP
from mesh.client.core.node_connection import NodeConnection
from mesh.client.core.returning import CHECK
from mesh.client.options import FailBackPolicy
from tests.mesh.meshes import take

NODES = ["heron", "stork", "ibis"]
Scenario = Callable[[mesh.testing.Mesh, Any], Coroutine[Any, Any, None]]


def home(client: Any) -> str:
    return str(client._shell.core.line.home)


async def lose_heron(m: mesh.testing.Mesh, client: Any) -> None:
    m.kill("heron")
    await m.pass_time(30)
    assert home(client) == "stork"
    m.start("heron")


def play(scenario: Scenario, policy: FailBackPolicy = "when_idle") -> None:
    async def within() -> None:
        async with mesh.testing.Mesh(NODES, rules={"ibis": ["NEWS"]}, clock="virtual") as m:
            async with m.connect("heron", "stork", client="joe", fail_back=policy) as joe:
                await scenario(m, joe)

    asyncio.run(within())


def test_a_client_returns_to_its_first_node_and_takes_its_subscription_along() -> None:
    async def scenario(m: mesh.testing.Mesh, joe: Any) -> None:
        async with joe.subscribe("k", domain="NEWS") as sub, m.connect("ibis", client="pub") as pub:
            await lose_heron(m, joe)
            await m.pass_time(UP - 1)
            assert home(joe) == "stork"
            await m.pass_time(3 * CHECK + 10)
            assert home(joe) == "heron"
            await pub.publish("k", b"1", domain="NEWS")
            assert [message.content for message in await take(sub, 1)] == [b"1"]
            await m.pass_time(30)
            assert joe._shell.core.visits.former == {}

    play(scenario)


@pytest.mark.parametrize("node", ["heron", "stork"])
def test_persistent_messages_to_and_from_a_client_that_returns_are_not_refused(
    monkeypatch: pytest.MonkeyPatch, node: str
) -> None:
    """The session has the name of one of the two nodes."""

    async def scenario(m: mesh.testing.Mesh, joe: Any) -> None:
        await lose_heron(m, joe)
        if node == "heron":
            await returns(m, joe)
            return
        m.kill("heron")
        await m.pass_time(30)
        async with m.connect("heron", "stork", client="ann", fail_back="when_idle") as ann:
            m.start("heron")
            await returns(m, ann)

    async def returns(m: mesh.testing.Mesh, client: Any) -> None:
        tasks, go = list[asyncio.Task[Any]](), NodeConnection.return_to_preferred

        def publish(content: bytes) -> None:
            tasks.append(asyncio.ensure_future(client.publish("k", content, domain="NEWS")))

        def go_and_publish(line: NodeConnection) -> None:
            publish(b"before")
            go(line)
            publish(b"after")
            tasks.append(asyncio.ensure_future(bob.send(client.name, b"1", persistent=True)))

        assert client.name.startswith(f"/node/{node}/")
        async with m.connect("ibis", client="bob") as bob, bob.subscribe("k", domain="NEWS") as sub:
            async with client.inbox() as inbox:
                monkeypatch.setattr(NodeConnection, "return_to_preferred", go_and_publish)
                await m.pass_time(UP + 3 * CHECK + 10)
                monkeypatch.setattr(NodeConnection, "return_to_preferred", go)
                assert home(client) == "heron"
                assert [task.result().ok for task in tasks[:3]] == [True, True, True]
                assert [message.content for message in await take(sub, 2)] == [b"before", b"after"]
                assert [message.content for message in await take(inbox, 1)] == [b"1"]

    play(scenario)


def test_by_default_a_client_stays_where_it_is() -> None:
    async def scenario(m: mesh.testing.Mesh, joe: Any) -> None:
        await lose_heron(m, joe)
        await m.pass_time(2 * PAUSE)
        assert home(joe) == "stork"

    play(scenario, "never")


def test_a_client_that_holds_a_job_stays_until_it_has_settled_it() -> None:
    async def scenario(m: mesh.testing.Mesh, joe: Any) -> None:
        queue = joe.queue("jobs")
        await queue.declare()
        await lose_heron(m, joe)
        async with queue.consume() as jobs:
            await queue.put(b"1")
            job = await anext(jobs)
            await m.pass_time(2 * UP + 3 * CHECK)
            assert home(joe) == "stork"
            await job.ack()
            await m.pass_time(2 * CHECK)
            assert home(joe) == "heron"

    play(scenario)


def test_a_client_whose_first_node_goes_again_returns_once_in_ten_minutes() -> None:
    async def scenario(m: mesh.testing.Mesh, joe: Any) -> None:
        await lose_heron(m, joe)
        await m.pass_time(UP + 3 * CHECK)
        assert home(joe) == "heron"
        await lose_heron(m, joe)
        await m.pass_time(UP + 3 * CHECK)
        assert home(joe) == "stork"
        await m.pass_time(PAUSE)
        assert home(joe) == "heron"

    play(scenario)


def test_a_node_that_was_down_between_two_checks_starts_its_minute_again() -> None:
    async def scenario(m: mesh.testing.Mesh, joe: Any) -> None:
        await lose_heron(m, joe)
        await m.pass_time(UP - CHECK)
        m.kill("heron")
        await m.pass_time(2 * CHECK + 20)
        m.start("heron")
        await m.pass_time(UP - CHECK)
        assert home(joe) == "stork"
        await m.pass_time(4 * CHECK)
        assert home(joe) == "heron"

    play(scenario)
