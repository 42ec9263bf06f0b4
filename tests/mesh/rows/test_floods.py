"""Rows 39 and 73: a client that stores, subscribes or names topics without end."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import mesh
from mesh.errors import MeshError
from tests.mesh.meshes import eventually
from tests.mesh.running import LIMIT, RunningNode, running, until
from tests.pages import ROOT

MIB = 1 << 20
BACKLOG = 200_000  # messages that wait for one subscriber
SUBSCRIPTIONS = 1_000  # limit of a session
TOPICS, ROOM = 40_000, 4 * MIB  # topics; bytes for their values

# Consumes numbers until all have come, and prints what it received.
READER = """
import asyncio, json, pathlib, sys, mesh
async def main():
    count, last, wrong = 0, -1, 0
    async with mesh.connect("heron", client="reader", session=1) as m, m.subscribe("flood") as subscription:
        pathlib.Path(sys.argv[1]).touch()
        async for batch in subscription.batches():
            for content in batch.contents():
                wrong += int(content) != last + 1
                count, last = count + 1, int(content)
            if last == int(sys.argv[2]) - 1:
                print(json.dumps({"count": count, "wrong": wrong, "dropped": subscription.dropped}))
                return
asyncio.run(main())
"""


@contextmanager
def reader(node: RunningNode, ready: Path) -> "Iterator[subprocess.Popen[str]]":
    """A process that is stopped as soon as it has subscribed."""
    environ = {**node.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", READER, str(ready), str(BACKLOG)]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
    try:
        until(ready.exists)
        process.send_signal(signal.SIGSTOP)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_row_39_many_stored_messages_wait_for_a_subscriber_that_stands_still(tmp_path: Path) -> None:
    """When the subscriber goes on, it receives each message once, in order."""
    config = tmp_path / "mesh.toml"
    config.write_text("[limits]\nbacklog_bytes = 134217728\ntopics_bytes = 1048576\n")

    async def scenario(node: RunningNode) -> None:
        async with mesh.connect("heron", environ=node.environ, timeout=LIMIT) as publisher:
            with reader(node, tmp_path / "ready") as process:
                await publisher.publish_many("flood", (b"%d" % n for n in range(BACKLOG)), persistent=True)
                assert (await publisher.call("info"))["metrics"]["pending"] >= BACKLOG
                process.send_signal(signal.SIGCONT)
                said, _ = await asyncio.to_thread(process.communicate, None, 4 * LIMIT)
                assert json.loads(said) == {"count": BACKLOG, "wrong": 0, "dropped": 0}

            async def nothing_is_stored() -> bool:
                return not (await publisher.call("info"))["metrics"]["stored_envelopes"]

            await eventually(nothing_is_stored)

    with running("heron", options=("--config", str(config))) as node:
        asyncio.run(scenario(node))


def test_row_73_who_subscribes_without_end_is_stopped_at_its_limit_and_disturbs_nobody() -> None:
    async def scenario(node: RunningNode) -> None:
        async with (
            mesh.connect("heron", environ=node.environ) as good,
            mesh.connect("heron", environ=node.environ, timeout=LIMIT) as greedy,
            good.subscribe("k") as subscription,
        ):
            entered, refused = [], set()
            for n in range(SUBSCRIPTIONS + 50):
                one = greedy.subscribe(f"flood/{n}")
                try:
                    await one.__aenter__()
                    entered.append(one)
                except MeshError as error:
                    refused.add(error.code)
            assert (len(entered), refused) == (SUBSCRIPTIONS, {"TOO_MANY"})
            await greedy.publish("k", b"it may still publish")
            assert (await anext(subscription)).content == b"it may still publish"
            metrics = (await good.call("info"))["metrics"]
            assert metrics["subscriptions"] <= SUBSCRIPTIONS + 2

    with running("heron") as node:
        asyncio.run(scenario(node))


@pytest.mark.parametrize("persistent", [False, True])
def test_row_73_topics_without_end_are_forgotten_beyond_the_room_for_their_values(
    tmp_path: Path, persistent: bool
) -> None:
    """The newest topics are kept, and the others forgotten in memory and on disk."""
    config = tmp_path / "mesh.toml"
    config.write_text(f"[limits]\ntopics_bytes = {ROOM}\n")

    async def scenario(node: RunningNode) -> None:
        async with mesh.connect("heron", environ=node.environ, timeout=LIMIT) as m:
            for n in range(TOPICS):
                if n % 500 == 0:
                    await m.room()
                m.post(f"flood/{n}", b"%d" % n, persistent=persistent)
            await m.flush()
            assert [message.content for message in await m.get(f"flood/{TOPICS - 1}")] == [
                b"%d" % (TOPICS - 1)
            ]
            assert await m.get("flood/0") == []
            metrics = (await m.call("info"))["metrics"]
            assert 1000 < metrics["topics"] < ROOM / 400

    with running("heron", options=("--config", str(config))) as node:
        asyncio.run(scenario(node))
        if persistent:
            node.stop()
            assert os.path.getsize(Path(node.it["data"]) / "store.sqlite") < 16 * ROOM
