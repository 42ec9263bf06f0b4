"""A node in the program's own process: what a user does, and failures that stop only one of the two."""

import asyncio
import gc
import os
import secrets
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import mesh
from mesh.discovery.member import NodeLife
from mesh.errors import Closed, CoreFailed, DataDirRefused, MeshTimeout, NodeInUse, Refused, WrongLoop
from tests.mesh.client.wired import turns
from tests.mesh.embedded.own import SETTINGS, address_of, place, runtime
from tests.mesh.meshes import LIMIT, eventually, take


def alive(m: Any) -> set[str]:
    return {member.node.name for member in runtime(m).core.parts.neighbours.membership.alive()}


def last_heard(m: Any, name: str) -> float:
    """Return when the node of `m` last received a message from that node."""
    member = runtime(m).core.parts.neighbours.membership.by_name(name)
    assert member is not None
    return member.heard


def is_heard_after(m: Any, name: str, before: float) -> bool:
    return last_heard(m, name) > before


def test_the_first_message_between_two_programs_comes() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("robot") as robot, here.node("arm", robot) as arm:
                async with arm.subscribe("joint/1") as sub:
                    await eventually(lambda: alive(robot) == {"robot", "arm"})
                    await robot.publish("joint/1", b"90")
                    [message] = await take(sub, 1)
                assert (message.content, message.sender) == (b"90", robot.name)
                assert [hop.node for hop in message.route] == ["robot", "arm"]
                assert robot.name.startswith("/node/robot/client/")

    asyncio.run(scenario())


def test_all_verbs_are_there_and_large_contents_pass() -> None:
    async def scenario() -> None:
        with place() as here:
            large = {**SETTINGS, "limits": {"max_content": 8 << 20}}
            async with here.node("robot", client="joe", config=large) as m:
                content = os.urandom(2 << 20)
                async with m.subscribe(pattern="#") as sub, m.inbox() as inbox:
                    assert (await m.publish("k", content, headers={"a": "b"})).ok
                    assert await m.publish_many("many", [b"%d" % i for i in range(1000)]) == 1000
                    messages = await take(sub, 1001)
                    assert messages[0].content == content and messages[0].headers["a"] == "b"
                    assert [int(message.content) for message in messages[1:]] == list(range(1000))
                    assert (await m.send("client/joe", b"letter")).matched == 1
                    assert (await anext(inbox)).content == b"letter"
                assert [message.content for message in await m.get("many")] == [b"999"]
                assert (await m.call("info"))["name"] == "robot"
                assert 0 < await m.ping() < LIMIT

    asyncio.run(scenario())


def test_a_program_elsewhere_finds_it_as_any_other_node() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("robot") as m:
                async with mesh.connect(environ=here.environ) as guest:
                    assert guest.name.startswith("/node/robot/")
                    async with guest.subscribe("k") as sub:
                        await m.publish("k", b"1")
                        assert (await anext(sub)).content == b"1"

    asyncio.run(scenario())


def test_a_program_that_blocks_is_dead_to_nobody_and_goes_on_where_it_was() -> None:
    blocks, goes_on = threading.Event(), threading.Event()
    events: list[str] = []

    async def blocked(here: Any) -> None:
        async with here.node("blocked") as m:
            happens = m.events()
            async with m.subscribe("k") as sub:
                before = runtime(m).core.parts.context.clock.now
                blocks.set()
                assert (await anext(sub)).content == b"first"
                goes_on.wait(LIMIT)  # blocks the event loop
                assert (await anext(sub)).content == b"while it was blocked"
                assert runtime(m).core.parts.context.clock.now > before
                await m.publish("after", b"")
            following = asyncio.ensure_future(anext(happens))
            await turns()
            if following.done():
                events.append(following.result().kind)
            following.cancel()

    async def scenario() -> None:
        with place() as here:
            async with here.node("awake") as m:
                address = address_of(m)

                def run() -> None:
                    asyncio.run(blocked(_Beside(here, address)))

                thread = threading.Thread(target=run)
                thread.start()
                try:
                    await eventually(lambda: blocks.is_set() and alive(m) == {"awake", "blocked"})
                    await m.publish("k", b"first")
                    for _ in range(5):
                        await eventually(partial(is_heard_after, m, "blocked", last_heard(m, "blocked")))
                    assert alive(m) == {"awake", "blocked"}
                    assert (await m.publish("k", b"while it was blocked")).matched == 1
                finally:
                    goes_on.set()
                    await eventually(lambda: not thread.is_alive())
        assert not events  # the connection to its node stayed up

    asyncio.run(scenario())


class _Beside:
    def __init__(self, here: Any, address: str) -> None:
        self._here, self._address = here, address

    def node(self, name: str) -> Any:
        return self._here.node(name, seeds=[self._address])


def test_a_node_whose_loop_stands_still_does_not_stop_its_program() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("robot") as m:
                held, goes_on = threading.Event(), threading.Event()
                loop = m._home.node_thread().loop
                loop.call_soon_threadsafe(held.set)
                loop.call_soon_threadsafe(goes_on.wait, LIMIT)
                await eventually(held.is_set)
                receipt = m.post("k", b"x")
                waiting = asyncio.ensure_future(_result(receipt))
                await turns()
                assert not waiting.done()
                goes_on.set()
                assert (await waiting).ok

    asyncio.run(scenario())


async def is_heard(m: Any) -> bool:
    """Publish, and return whether a subscriber at any node matched."""
    return bool((await m.publish("k", b"ready")).matched)


async def _result(receipt: mesh.Receipt) -> mesh.Published:
    return await receipt


def test_two_of_one_name_in_one_process_are_refused_by_name() -> None:
    async def scenario() -> None:
        with place() as here:
            second = here.node("robot")
            async with here.node("robot") as m:
                for _ in range(2):
                    with pytest.raises(DataDirRefused, match=r"in use by process.*mesh\.node\(NAME\)"):
                        await second.__aenter__()
                with pytest.raises(NodeInUse, match=r"mesh\.node\(NAME\)"):
                    async with here.node("robot", data=Path(here.environ["MESH_STATE_DIR"]) / "other"):
                        pass
                assert (await m.publish("k", b"x")).ok
            async with second as m:
                assert (await m.publish("k", b"x")).ok
                with pytest.raises(Closed, match="opened before"):
                    await m.__aenter__()
            with pytest.raises(Closed, match="opened before"):
                await m.__aenter__()

    asyncio.run(scenario())


def test_who_is_not_let_in_by_his_own_node_may_try_again() -> None:
    async def scenario() -> None:
        with place() as here:
            m = here.node("robot", client="robot")  # a node has this name
            for _ in range(2):
                with pytest.raises(Refused, match="is the name of a node"):
                    await m.__aenter__()
            assert not [thread for thread in threading.enumerate() if thread.name == "mesh-node"]

    asyncio.run(scenario())


def test_from_another_loop_it_is_neither_used_nor_closed() -> None:
    async def elsewhere(m: Any) -> None:
        for use in (m.publish("k", b"x"), m.close()):
            with pytest.raises(WrongLoop):
                await use

    async def scenario() -> None:
        with place() as here:
            async with here.node("robot") as m:
                await asyncio.to_thread(lambda: asyncio.run(elsewhere(m)))
                assert (await m.publish("k", b"x")).ok

    asyncio.run(scenario())


def test_an_error_in_the_thread_of_the_node_ends_its_client_by_name() -> None:
    async def scenario() -> None:
        with place() as here:
            m = here.node("robot")
            await m.__aenter__()
            async with m.subscribe("k") as sub:
                waiting = asyncio.ensure_future(anext(sub))
                core = runtime(m).core

                def fails(*_: object) -> None:
                    raise ZeroDivisionError("planted")

                core.tick = fails  # type: ignore[assignment]
                m._home.node_thread().loop.call_soon_threadsafe(runtime(m).driver._tick_now)
                with pytest.raises(CoreFailed, match="planted"):
                    await waiting
                with pytest.raises(CoreFailed, match="planted"):
                    m.post("k", b"x")
            with pytest.raises(CoreFailed, match="planted"):
                await m.close()
            async with here.node("robot") as m:
                assert (await m.publish("k", b"x")).ok

    asyncio.run(scenario())


def test_it_ends_when_it_is_told_to_and_says_so() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("robot") as m:
                await m.call("down")
                await eventually(lambda: m._home.node is not None and m._home.node.why is not None)
                with pytest.raises(Closed, match="The node robot has ended"):
                    await m.publish("k", b"x")

    asyncio.run(scenario())


def test_nothing_is_left_of_three_that_were_opened_and_closed() -> None:
    async def once(here: Any) -> None:
        async with here.node("robot") as m:
            await m.publish("k", b"x")

    def left() -> tuple[int, set[str]]:
        gc.collect()
        return len(os.listdir("/proc/self/fd")), {thread.name for thread in threading.enumerate()}

    async def scenario() -> None:
        with place() as here:
            await once(here)
            before = left()
            for _ in range(3):
                await once(here)
            assert left() == before

    asyncio.run(scenario())


def test_with_data_what_is_persistent_survives_and_without_it_nothing_does() -> None:
    async def scenario() -> None:
        with place() as here:
            for data in (Path(here.environ["MESH_STATE_DIR"]) / "kept", None):
                async with here.node("robot", data=data) as m:
                    await m.publish("k", b"kept", persistent=True)
                async with here.node("robot", data=data) as m:
                    assert [message.content for message in await m.get("k")] == ([b"kept"] if data else [])

    asyncio.run(scenario())


def test_it_says_goodbye() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("stays") as m:
                async with here.node("goes", m):
                    await eventually(lambda: alive(m) == {"stays", "goes"})
                await eventually(lambda: alive(m) == {"stays"})
                fates = {x.node.name: x.state for x in runtime(m).core.parts.neighbours.membership.all()}
                assert fates["goes"] is NodeLife.LEFT

    asyncio.run(scenario())


@pytest.mark.parametrize("pause", [0.0, 0.001, 0.01, 0.03])
def test_who_is_cancelled_while_it_opens_leaves_nothing(pause: float) -> None:
    async def scenario() -> None:
        with place() as here:
            m = here.node("robot")
            opening = asyncio.ensure_future(m.__aenter__())
            await asyncio.sleep(pause)
            opening.cancel()
            try:
                await opening
                await m.close()
            except asyncio.CancelledError:
                pass
            async with here.node("robot") as again:  # its directory is no longer locked
                assert (await again.publish("k", b"x")).ok

    asyncio.run(scenario())


def test_from_code_without_a_loop() -> None:
    before = set(threading.enumerate())
    with place() as here:
        with here.sync_node("robot") as m, m.subscribe("k") as sub:
            m.publish("k", b"x")
            assert sub.next_message(LIMIT).content == b"x"
        with here.sync_node("robot") as m:
            m.publish("k", b"x")
        assert not [t.name for t in set(threading.enumerate()) - before if t.name.startswith("mesh-")]


def test_what_it_owes_others_leaves_before_it_does() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("stays") as m, m.subscribe("k") as sub:
                async with here.node("goes", m) as other:
                    await eventually(lambda: is_heard(other))
                    await other.publish_many("k", [b"%d" % i for i in range(5_000)])
                found = [message.content for message in await take(sub, 5_001)]
                assert [int(content) for content in found if content != b"ready"] == list(range(5_000))

    asyncio.run(scenario())


def test_who_takes_nothing_does_not_keep_it_for_ever() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("stays") as m, m.subscribe("k"):
                other = here.node("goes", m)
                await other.__aenter__()
                await eventually(lambda: is_heard(other))
                other._timeout = 0.3
                goes_on = threading.Event()
                m._home.node_thread().loop.call_soon_threadsafe(goes_on.wait, LIMIT)
                for _ in range(10):
                    await other.publish("k", b"x")
                with pytest.raises(MeshTimeout, match="closed before its receivers"):
                    await other.close()
                goes_on.set()

    asyncio.run(scenario())


@pytest.mark.slow
def test_nobody_has_to_be_told_of_the_other() -> None:
    cluster = f"test-{secrets.token_hex(4)}"

    async def scenario() -> None:
        with place() as here:
            async with here.node("robot", mdns=True, cluster=cluster) as robot:
                async with here.node("arm", mdns=True, cluster=cluster) as arm:
                    async with arm.subscribe("k") as sub:
                        # Robot learns of the node of arm before it learns of the subscription of arm.
                        await eventually(lambda: is_heard(robot))
                        assert (await anext(sub)).content == b"ready"
                        assert alive(robot) == alive(arm) == {"robot", "arm"}

    asyncio.run(scenario())
