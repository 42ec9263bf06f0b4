"""Two sites with keys of their own: messages of one arrive in the other once and in order."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

import mesh
from tests.mesh.meshes import eventually
from tests.mesh.running import LIMIT, RunningNode, environment, run_mesh, state_directory, until
from tests.mesh.scenarios.hearing import hearing

pytestmark = pytest.mark.slow

NYC = """
[site]
name = "NYC"
relay = true
[sites.LON]
accepts = { domains = ["STOCK"] }
letters = ["ann"]
serves = ["calc/#"]
"""
LON = """
[site]
name = "LON"
relay = true
[sites.NYC]
addresses = ["%s"]
domains = ["STOCK"]
letters = ["joe"]
"""


class Sites(NamedTuple):
    """Nodes of two sites: gull of NYC, and heron, hawk and wren of LON.

    heron and hawk are gateways. The users of LON are at wren, which is none.
    """

    gull: RunningNode
    heron: RunningNode
    hawk: RunningNode
    wren: RunningNode


def site(state: Path) -> str:
    """Make keys for a mesh in `state`, and return its name."""
    cluster = f"test-{secrets.token_hex(4)}"
    made = run_mesh("init", "--cluster", cluster, environ=environment(state))
    assert made.returncode == 0, made.stderr
    return cluster


@contextmanager
def sites_of() -> Iterator[Sites]:
    with ExitStack() as stack:
        nyc, lon = stack.enter_context(state_directory()), stack.enter_context(state_directory())
        there, here = site(nyc), site(lon)

        def node(name: str, state: Path, cluster: str, text: str, *options: str) -> RunningNode:
            file = state / f"{name}.toml"
            file.write_text(text)
            on = ("--config", str(file), "--bind", "tcp://127.0.0.1:0", *options)
            found = RunningNode(name, state, cluster, on)
            found.start()
            stack.callback(lambda: found.stop() if found.is_running else None)
            return found

        gull = node("gull", nyc, there, NYC)
        token = gull.mesh("token", "--role", "relay", "--site", "LON", "--cluster", there)
        joined = run_mesh("join", "--site", "NYC", environ=environment(lon), content=token.stdout)
        assert joined.returncode == 0, (token, joined)
        text = LON % gull.tcp
        heron = node("heron", lon, here, text)
        hawk = node("hawk", lon, here, text, "--peer", heron.tcp)
        plain = text.replace("relay = true", "relay = false")
        wren = node("wren", lon, here, plain, "--peer", heron.tcp, "--peer", hawk.tcp)
        sites = Sites(gull, heron, hawk, wren)
        until(lambda: all("NYC can be reached" in each.log for each in (heron, hawk)))
        yield sites
        for each in sites:
            assert "Traceback" not in each.log, each.log


@pytest.mark.parametrize(
    "persistent",
    [pytest.param(True, id="persistent", marks=pytest.mark.smoke), pytest.param(False, id="transient")],
)
def test_D1_D28_gateways_are_killed_while_messages_flow_to_the_other_site(persistent: bool) -> None:
    async def scenario(sites: Sites) -> None:
        async with (
            mesh.connect("wren", environ=sites.wren.environ) as lon,
            mesh.connect("gull", environ=sites.gull.environ) as nyc,
            hearing(nyc, "quote", "STOCK") as ear,
        ):
            for n in range(300):
                await lon.publish("quote", b"%d" % n, domain="STOCK", persistent=persistent)
                if n == 100:
                    sites.heron.kill()
                if n == 200:
                    await asyncio.to_thread(sites.heron.start)
                    sites.hawk.kill()
            await ear.heard(300)
            assert ear.contents == [b"%d" % n for n in range(300)]
            assert ear.messages[0].sender.startswith("/site/LON/node/wren/client/")

    with sites_of() as sites:
        asyncio.run(scenario(sites))


def test_both_ends_of_the_wire_are_killed_and_what_waits_comes_then() -> None:
    async def scenario(sites: Sites) -> None:
        async with mesh.connect("wren", environ=sites.wren.environ) as lon:
            for n in range(50):
                await lon.publish("quote", b"%d" % n, domain="STOCK", persistent=True)
            for each in (sites.gull, sites.heron, sites.hawk):
                each.kill()
            for n in range(50, 100):
                await lon.publish("quote", b"%d" % n, domain="STOCK", persistent=True)
        sites.wren.kill()
        for each in (sites.gull, sites.wren, sites.hawk):
            await asyncio.to_thread(each.start)
        async with mesh.connect("gull", environ=sites.gull.environ) as nyc:

            async def has_the_last() -> bool:
                return [each.content for each in await nyc.get("quote", domain="STOCK")] == [b"99"]

            await eventually(has_the_last)

    with sites_of() as sites:
        asyncio.run(scenario(sites))


def test_D7_D15_letters_are_answered_while_gateways_are_killed_and_for_a_dead_site_none_waits() -> None:
    async def scenario(sites: Sites) -> None:
        async with (
            mesh.connect("wren", client="joe", environ=sites.wren.environ) as joe,
            mesh.connect("gull", client="ann", environ=sites.gull.environ) as ann,
            ann.inbox() as to_ann,
            joe.inbox() as to_joe,
        ):

            async def answering() -> list[bytes]:
                texts: list[bytes] = []
                async for message in to_ann:
                    texts.append(message.content)
                    await ann.send(message.sender, message.content, force_queuing=True)
                    if len(texts) == 120:
                        break
                return texts

            async def answers() -> list[bytes]:
                texts: list[bytes] = []
                async for message in to_joe:
                    assert message.sender.startswith("/site/NYC/node/gull/client/ann/")
                    texts.append(message.content)
                    if len(texts) == 120:
                        break
                return texts

            tasks = asyncio.gather(answering(), answers())
            for n in range(120):
                await joe.send(
                    "/site/NYC/node/gull/client/ann", b"%d" % n, force_queuing=True, persistent=True
                )
                if n == 40:
                    sites.heron.kill()
                if n == 80:
                    await asyncio.to_thread(sites.heron.start)
                    sites.hawk.kill()
            wanted = [b"%d" % n for n in range(120)]
            assert tuple(await asyncio.wait_for(tasks, LIMIT)) == (wanted, wanted)
            with pytest.raises(mesh.PublishRefused) as refused:
                await joe.send("/site/NYC/node/gull/client/eve", b"x")
            assert refused.value.code == "NO_RIGHT"
            with pytest.raises(mesh.UnknownNode):
                await joe.send("/site/NYC/node/nobody/client/ann", b"x")
            with pytest.raises(mesh.SiteUnreachable):
                await joe.send("/site/SFO/node/gull/client/ann", b"x")
        async with mesh.connect("wren", client="joe", environ=sites.wren.environ) as joe:
            sites.gull.stop()
            with pytest.raises(mesh.SiteUnreachable):
                await joe.send("/site/NYC/node/gull/client/ann", b"x", persistent=True)

    with sites_of() as sites:
        asyncio.run(scenario(sites))


@pytest.mark.smoke
def test_D7_D17_requests_are_answered_by_whoever_serves_it_there_or_fail_at_once() -> None:
    async def scenario(sites: Sites) -> None:
        async with (
            mesh.connect("wren", environ=sites.wren.environ) as asker,
            mesh.connect("gull", environ=sites.gull.environ) as there,
        ):
            senders: set[str] = set()
            serves = asyncio.Event()

            async def serve() -> None:
                async with there.serve("calc/add") as requests:
                    serves.set()
                    async for request in requests:
                        senders.add(request.sender)
                        await request.reply(b"%d" % sum(map(int, request.content.split())))

            serving = asyncio.create_task(serve())
            await serves.wait()
            try:
                for n in range(50):
                    reply = await asker.request("/site/NYC/calc/add", b"%d 1" % n, timeout=LIMIT)
                    assert reply.content == b"%d" % (n + 1)
                assert reply.sender.startswith("/site/NYC/node/gull/client/")
                assert len(senders) == 1 and senders.pop().startswith("/site/LON/node/wren/client/")
                with pytest.raises(mesh.PublishRefused) as refused:
                    await asker.request("/site/NYC/admin/stop", timeout=LIMIT)
                assert refused.value.code == "NO_RIGHT"
                with pytest.raises(mesh.SiteUnreachable):
                    await asker.request("/site/SFO/calc/add", timeout=LIMIT)
            finally:
                serving.cancel()
                await asyncio.gather(serving, return_exceptions=True)
            sites.gull.kill()
            # Each of the two gateways may forward a request before it notices the loss.
            for _ in range(2):
                with pytest.raises((mesh.SiteUnreachable, mesh.HandlerLost)):
                    await asker.request("/site/NYC/calc/add", b"1 1", timeout=LIMIT)
            with pytest.raises(mesh.SiteUnreachable):
                await asker.request("/site/NYC/calc/add", b"1 1", timeout=LIMIT)

    with sites_of() as sites:
        asyncio.run(scenario(sites))


def test_a_client_in_another_site_and_a_name_in_each_other_site_need_no_node() -> None:
    async def scenario(sites: Sites) -> None:
        async with (
            mesh.connect("wren", client="joe", environ=sites.wren.environ) as joe,
            mesh.connect("gull", client="ann", environ=sites.gull.environ) as ann,
            ann.inbox() as inbox,
            ann.serve("calc/log") as served,
        ):
            sent = await joe.send("/site/NYC/client/ann", b"found", timeout=LIMIT)
            assert (sent.ok, sent.matched) == (True, 1)
            found = await joe.send(["/site/*/client/ann", "/site/*/calc/log"], b"everywhere", timeout=LIMIT)
            assert [(each.destination, each.error) for each in found] == [
                ("/site/NYC/client/ann", None),
                ("/site/NYC/calc/log", None),
            ]
            assert [(await anext(inbox)).content for _ in range(2)] == [b"found", b"everywhere"]
            assert (await anext(served)).content == b"everywhere"
        async with mesh.connect("wren", client="joe", environ=sites.wren.environ) as joe:

            async def is_nowhere() -> bool:
                """Return whether NYC has noticed that ann left; until then her last node refuses it."""
                with pytest.raises(mesh.NotConnected) as refused:
                    await joe.send("/site/NYC/client/ann", b"x", timeout=LIMIT)
                return "at no node of NYC" in str(refused.value)

            await eventually(is_nowhere)
            with pytest.raises(mesh.PublishRefused, match="NO_RIGHT"):
                await joe.send("/site/NYC/client/eve", b"x", timeout=LIMIT)

    with sites_of() as sites:
        asyncio.run(scenario(sites))
        sent = sites.wren.mesh("send", "--url", "wren", "/site/*/client/eve", "x")
        assert (sent.returncode, "sent to /site/NYC/client/eve: refused" in sent.stderr) == (1, True), sent
