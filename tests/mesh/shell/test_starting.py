"""A start that fails at any step leaves nothing behind."""

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mesh.config import Config, load
from mesh.errors import MeshError, MeshTimeout
from mesh.kernel.node import NodeCore
from mesh.local.datadir import DataDir
from mesh.local.localnodes import NodeFile
from mesh.shell import binding, holdings, queuestores, starting, world
from mesh.shell.driver import Driver
from mesh.shell.finding import Finding
from mesh.shell.starting import start
from mesh.store.worker import StoreWorker
from mesh.transport import Sockets
from tests.mesh.meshes import eventually
from tests.mesh.running import environment, state_directory

STEPS: list[tuple[Any, str]] = [
    (starting, "prepared"),
    (starting, "take"),
    (DataDir, "be_another"),
    (holdings, "keyring"),
    (holdings, "check_disk"),
    (holdings, "open_store"),
    (holdings, "check_places"),
    (holdings, "take_all"),
    (queuestores, "begin"),
    (holdings, "SegmentLog"),
    (starting, "cookie"),
    (starting, "Driver"),
    (starting, "StoreWorker"),
    (starting, "Sockets"),
    (starting, "bind"),
    (Sockets, "bind"),
    (binding, "socket_path"),
    (binding, "bind_all"),
    (Sockets, "bind_pub"),
    (starting, "World"),
    (starting, "addresses"),
    (starting, "settings_of"),
    (starting, "NodeCore"),
    (NodeCore, "start"),
    (Driver, "idle"),
    (starting, "Adverts"),
    (starting, "Finding"),
    (Finding, "start"),
    (starting, "NodeFile"),
    (NodeFile, "write"),
]
DONE: list[tuple[Any, str]] = [(Driver, "begin"), (Finding, "start"), (NodeFile, "write")]


class Broken(MeshError):
    """The error of the chosen step."""


def failing(then: Callable[..., Any], *, is_late: bool) -> Callable[..., Any]:
    """Return a step that fails before it calls `then` or, with `is_late`, after it."""

    def step(*args: Any, **more: Any) -> Any:
        if is_late:
            then(*args, **more)
        raise Broken("as it was told to")

    return step


@pytest.fixture
def state() -> Iterator[Path]:
    with state_directory() as found:
        yield found


def config(store: str = "sqlite", peers: Sequence[str] = ()) -> Config:
    given = {
        "node.id": "a",
        "node.store": store,
        "node.bind": ["tcp://127.0.0.1:0"],
        "node.peers": peers,
        "discovery.mdns": False,
    }
    return load(None, {}, given)


def held() -> tuple[list[str], set[str]]:
    """Return the open files of this process, and the names of its threads."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the descriptor of the listing itself
            found.append(os.readlink(f"/proc/self/fd/{number}").partition(":")[0])
    return sorted(found), {thread.name for thread in threading.enumerate()}


def files(state: Path) -> list[Path]:
    """Return the files by which other processes would find the node."""
    return [path for kind in ("*.sock", "*.pub", "nodes/*") for path in state.rglob(kind)]


def planned(loop: Any) -> list[str]:
    """Return the timers of a node."""
    handles = [repr(handle) for handle in loop._scheduled if not handle.cancelled()]
    return [handle for handle in handles if "Driver" in handle or "Finding" in handle]


async def fails(settings: Config, environ: dict[str, str]) -> None:
    """Start a node, which fails, and check that nothing stays behind."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: pytest.fail(str(context)))
    before, tasks = held(), asyncio.all_tasks()
    with pytest.raises(Broken):
        await start(settings, environ)
    await asyncio.sleep(0)  # due callbacks have run
    await eventually(lambda: held() == before)  # ZeroMQ's threads end later
    assert asyncio.all_tasks() == tasks and not planned(loop)


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "done"])
def test_a_start_that_fails_at_any_step_lets_go_of_all(
    state: Path, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    """Each start takes the same directory, addresses and store as the failed ones before it."""
    for step in DONE if is_late else STEPS:
        settings = config("memory" if step[1] == "be_another" else "sqlite")
        with monkeypatch.context() as patched:
            patched.setattr(*step, failing(getattr(*step), is_late=is_late))
            asyncio.run(fails(settings, environment(state)))
        assert not files(state), step
    asyncio.run(lives(config(), environment(state)))


async def lives(settings: Config, environ: dict[str, str]) -> None:
    node = await start(settings, environ)
    assert node.described()["name"] == "a"
    await node.close()


def test_what_takes_a_while_is_left_off_when_the_node_is_closed(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(address: str) -> None:
        await asyncio.Event().wait()

    async def scenario() -> None:
        alone = asyncio.all_tasks()
        node = await start(config(peers=["tcp://nowhere.invalid:1"]), environment(state))
        await eventually(lambda: asyncio.all_tasks() - alone)
        await node.close()
        await eventually(lambda: asyncio.all_tasks() == alone)
        assert not planned(asyncio.get_running_loop())

    monkeypatch.setattr(world, "resolved", never)
    asyncio.run(scenario())


def test_a_disk_that_does_not_end_in_time_is_told_and_the_rest_is_let_go(
    state: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    close = StoreWorker.close

    def hangs(self: StoreWorker, timeout: float) -> None:
        close(self, timeout)
        raise MeshTimeout("The store has not finished.")

    async def scenario() -> None:
        before = held()
        node = await start(config(), environment(state))
        await node.close()
        await eventually(lambda: held() == before)

    monkeypatch.setattr(StoreWorker, "close", hangs)
    asyncio.run(scenario())
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage().startswith("The store has not finished.")
