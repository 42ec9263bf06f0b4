"""A client belongs to the event loop where it was opened. In another one it fails at once."""

import asyncio
import copy
import pickle
import sys
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

import mesh
import mesh.sync
from mesh.client.client import Client
from mesh.errors import BadType, Closed, NotAvailable, WrongLoop
from tests.mesh.meshes import LIMIT, mesh_of


async def entered(m: Client) -> None:
    async with m.subscribe("k"):
        """Never reached."""


async def event(m: Client) -> object:
    return await anext(m.events())


async def posted(m: Client) -> object:
    return await m.post("k", b"x")


VERBS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "publish": lambda m: m.publish("k", b"x"),
    "publish_many": lambda m: m.publish_many("k", [b"x"]),
    "post": posted,
    "send": lambda m: m.send("client/joe", b"x"),
    "flush": lambda m: m.flush(),
    "get": lambda m: m.get("k"),
    "erase": lambda m: m.erase("k"),
    "call": lambda m: m.ping(),
    "subscribe": entered,
    "events": event,
    "close": lambda m: m.close(),
}


async def said(m: Client, verb: str) -> str:
    """Return the error of a verb in the current loop. The verb must not wait."""
    async with asyncio.timeout(LIMIT):
        try:
            await VERBS[verb](m)
        except WrongLoop as error:
            return str(error)
    raise AssertionError(f"{verb} worked")


def test_trial_1_a_client_in_another_loop_says_so_at_once() -> None:
    def elsewhere(m: Client) -> None:
        for verb in VERBS:
            text = asyncio.run(said(m, verb))
            assert "another event loop" in text and "mesh.sync" in text and "[WRONG_LOOP]" in text, verb

    async def scenario() -> None:
        async with mesh_of("a") as made, made.connect("a") as m:
            await asyncio.to_thread(elsewhere, m)
            await m.publish("k", b"here")  # the client still works

    asyncio.run(asyncio.wait_for(scenario(), LIMIT))


def test_trial_1_a_receipt_and_a_subscription_are_of_their_loop_as_well() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as made, made.connect("a") as m, m.subscribe("k") as sub:
            receipt = m.post("other", b"x")
            for given in (receipt, anext(sub)):

                async def taken(given: Any = given) -> None:
                    await given

                with pytest.raises(WrongLoop):
                    await asyncio.to_thread(asyncio.run, taken())
            await receipt

    asyncio.run(asyncio.wait_for(scenario(), LIMIT))


def test_trial_1_a_client_of_a_loop_that_stands_still_and_one_whose_loop_has_ended() -> None:
    def elsewhere(environ: dict[str, str]) -> None:
        loop = asyncio.new_event_loop()
        m = mesh.connect("a", environ=environ)
        loop.run_until_complete(m.__aenter__())
        assert "another event loop" in asyncio.run(said(m, "publish"))
        with pytest.raises(WrongLoop, match="without a running asyncio event loop"):
            m.post("k", b"x")
        loop.run_until_complete(m.publish("k", b"x"))
        loop.run_until_complete(m.close())
        loop.close()
        with pytest.raises(Closed, match=r"so is the event loop.*asyncio\.run"):
            asyncio.run(said(m, "publish"))

    async def scenario() -> None:
        async with mesh_of("a") as made:
            await asyncio.to_thread(elsewhere, made.environ)

    asyncio.run(asyncio.wait_for(scenario(), LIMIT))


def test_a_client_that_was_never_opened_says_so_at_once() -> None:
    async def scenario() -> None:
        with pytest.raises(Closed, match="not open"):
            await mesh.connect("nobody").ping()

    asyncio.run(scenario())


def test_a_client_that_is_opened_without_an_event_loop_of_asyncio_says_so_at_once() -> None:
    for client in (mesh.connect("nobody"), mesh.node("nobody", mdns=False)):
        with pytest.raises(WrongLoop, match=r"without a running asyncio event loop.*trio"):
            client.__aenter__().send(None)  # as trio would do


def test_a_client_and_what_is_of_it_are_neither_pickled_nor_copied() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as made, made.connect("a") as m, m.subscribe("k") as sub:
            clients = (m, mesh.connect("b"), mesh.sync.connect("b"), mesh.node("b"))
            deep = [
                (f, each) for f in (pickle.dumps, copy.deepcopy) for each in (*clients, sub, m.queue("q"))
            ]
            for copied, each in [*deep, *((copy.copy, client) for client in clients)]:
                with pytest.raises(BadType, match=r"neither pickled nor copied.*connect again"):
                    copied(each)

    asyncio.run(asyncio.wait_for(scenario(), LIMIT))


def test_a_node_in_a_program_whose_threads_gevent_replaced_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with mesh.node("b", mdns=False):
            """Never reached."""

    patched = SimpleNamespace(is_module_patched=lambda name: name == "threading")
    monkeypatch.setitem(sys.modules, "gevent.monkey", patched)
    with pytest.raises(NotAvailable, match=r"gevent has replaced.*mesh\.sync\.connect"):
        asyncio.run(scenario())
