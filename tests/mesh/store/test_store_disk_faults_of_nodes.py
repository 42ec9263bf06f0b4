"""Nodes on bad disks: they keep their promises, or stop with one clear sentence."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import mesh
from mesh.errors import DataDirRefused, MeshError, PublishRefused
from mesh.local import mounts
from mesh.operations import BOOT
from mesh.store.sqlite import SQLiteStore
from mesh.store.witness import SLOT, unpack
from tests.mesh.meshes import eventually, mesh_of
from tests.mesh.running import LIMIT, RunningNode, run_mesh, running, until
from tests.mesh.store.disks import failing, fill_up, small_disk

pytestmark = pytest.mark.slow
MIB = 1 << 20


def data_of(node: RunningNode) -> Path:
    return Path(node.it["data"])


def up(node: RunningNode, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run `mesh up` for a node that does not get ready."""
    return run_mesh("up", "--id", node.name, "--cluster", node.cluster, *options, environ=node.environ)


def test_row_43_a_node_on_a_full_disk_goes_on_by_itself_when_there_is_room_again() -> None:
    """Publishing recovers without a restart.

    Publishers are refused, a returning subscriber receives its waiting messages, and they are settled on
    disk. When the other file on the disk is deleted, publishing works again.
    """

    async def scenario(disk: Path) -> None:
        settings: dict[str, object] = {
            "node.data": str(disk / "data"),
            "limits.disk_reserve_bytes": 2 * MIB,
            "snapshots.enabled": False,
        }
        async with mesh_of("heron", settings=settings) as m, m.connect("heron") as publisher:
            async with m.connect("heron") as reader, reader.subscribe("k") as subscription:
                taken = await publish_until_refused(publisher)
                other = await asyncio.to_thread(fill_up, disk)
                with pytest.raises(PublishRefused) as found:
                    await publisher.publish("k", b"more", persistent=True)
                assert found.value.code == "STORE_FULL"
                count = 0
                async with asyncio.timeout(LIMIT):
                    async for _ in subscription:
                        count += 1
                        if count == taken:
                            break
                await publisher.publish("k", b"a transient one needs no disk")
                async with asyncio.timeout(LIMIT):
                    async for message in subscription:
                        assert message.content == b"a transient one needs no disk"
                        break
                await eventually(lambda: m.metric("heron", "stored_envelopes") == 0)
            status = (await publisher.call("info"))["disk"]
            assert status["disk_short"] == 1 and status["disk_refused"] > 0
            other.unlink()
            await eventually(lambda: not m.nodes["heron"].held.store.status()["disk_short"])
            await publisher.publish("k", b"more", persistent=True)
            told = [
                event["text"]
                for event in (await publisher.call("events"))["events"]
                if event["kind"] == "disk"
            ]
            assert "little space" in told[0] and "has space again" in told[-1]

    with small_disk("10m") as disk:
        asyncio.run(scenario(disk))


def test_trial_B5_a_node_whose_disk_is_full_to_the_last_byte_starts_again(tmp_path: Path) -> None:
    """Restart a killed node whose disk was filled by another file.

    Its identity, its lock and all its other files are on that disk. The reserve lends it the bytes that a
    start needs, and its messages are still there. Growth is refused until there is space.
    """

    async def scenario(node: RunningNode, other: Path) -> None:
        async def has_room() -> bool:
            return not (await client.call("info"))["disk"]["disk_short"]

        async with mesh.connect("heron", environ=node.environ) as client, client.subscribe("k"):
            assert [message.content for message in await client.get("k")] == [b"before"]
            with pytest.raises(PublishRefused) as found:
                await client.publish("k", b"more", persistent=True)
            assert found.value.code == "STORE_FULL"
            assert (await client.call("info"))["disk"]["disk_short"] == 1
            await asyncio.to_thread(other.unlink)
            await eventually(has_room)
            await client.publish("k", b"more", persistent=True)

    with small_disk("8m") as disk:
        node = on_small_disk(tmp_path, disk)
        try:
            node.start()
            reserve = data_of(node) / "reserve"
            assert node.mesh("pub", "k", "before", "--persistent", "--url", "heron").returncode == 0
            size = reserve.stat().st_size
            node.kill()
            for _ in range(3):  # each start frees only what it needs
                other = fill_up(disk)
                boot = node.it["boot"]
                node.start()
                assert node.it["boot"] == boot + 1
                node.kill()
            assert 0 < reserve.stat().st_blocks * 512 < size
            node.start()
            asyncio.run(scenario(node, other))
            assert reserve.stat().st_size == size
            assert node.stop() == 0
        finally:
            if node.is_running:
                node.kill()
        assert "Traceback" not in node.log, node.log


def test_trial_B5_a_node_without_a_reserve_on_a_full_disk_says_that_there_must_be_room(
    tmp_path: Path,
) -> None:
    """The error does not suggest another directory, as that would start another node."""
    with small_disk("8m") as disk:
        node = on_small_disk(tmp_path, disk)
        node.start()
        node.kill()
        (data_of(node) / "reserve").unlink()
        fill_up(disk)
        for _ in range(2):
            said = up(node)
            assert (said.returncode, said.stdout) == (2, "")
            assert "No space left on device" in said.stderr and "Free space on that disk" in said.stderr
            assert "--data" not in said.stderr and "Traceback" not in said.stderr
        fresh = run_mesh("up", "--id", "fresh", "--data", str(disk / "fresh"), environ=node.environ)
        assert fresh.returncode == 2 and "Free space on that disk" in fresh.stderr
        (disk / "somebody-else").unlink()
        node.start()
        assert node.stop() == 0


def on_small_disk(tmp_path: Path, disk: Path) -> RunningNode:
    """Return a node, not started, whose whole state is on that disk. Its output is kept elsewhere."""
    node = RunningNode("heron", tmp_path, "test-small-disk", ())
    (disk / "state").mkdir(mode=0o700)
    node.environ |= {
        "MESH_STATE_DIR": str(disk / "state"),
        "MESH_LIMITS__DISK_RESERVE_BYTES": str(4 * MIB),
        "MESH_SNAPSHOTS__ENABLED": "false",
    }
    return node


async def publish_until_refused(publisher: mesh.Client) -> int:
    taken = 0
    while True:
        try:
            await publisher.publish("k", os.urandom(100_000), persistent=True)
        except PublishRefused as error:
            assert error.code == "STORE_FULL"
            return taken
        taken += 1


def test_row_44_a_node_ends_at_an_error_of_fsync_and_all_it_answered_is_there() -> None:
    """The disk fails once, at an fsync under load.

    The node answers nothing after it and ends with code 2. After a restart every answered message is
    delivered to its subscriber.
    """

    async def scenario(node: RunningNode) -> None:
        environ = node.environ
        async with mesh.connect("heron", environ=environ) as reader, reader.subscribe("k") as subscription:
            node.kill()
            node.program = [*failing("fdatasync:error=EIO:when=25"), *node.program]
            await asyncio.to_thread(node.start)
            answered: list[bytes] = []
            publishing = asyncio.create_task(publish_numbers(environ, answered))
            assert await asyncio.to_thread(node.wait) == 2
            publishing.cancel()
            await asyncio.wait([publishing])
            assert "[STORE]" in node.log and 5 < len(answered) < 1000
            node.program = (sys.executable, "-m", "mesh")
            await asyncio.to_thread(node.start)
            got: list[bytes] = []
            async with asyncio.timeout(LIMIT):
                async for message in subscription:
                    got.append(message.content)
                    if set(answered) <= set(got):
                        break
            assert got[: len(answered)] == answered and len(got) <= len(answered) + 1

    with running() as node:
        asyncio.run(scenario(node))


async def publish_numbers(environ: dict[str, str], answered: list[bytes]) -> None:
    """Publish numbers one by one, until the node or the caller ends it."""
    with suppress(MeshError):
        async with mesh.connect("heron", environ=environ) as publisher:
            for number in range(1000):
                await publisher.publish("k", b"%d" % number, persistent=True)
                answered.append(b"%d" % number)


def witnessed(data: Path) -> int:
    """Return the next position that the witness has recorded."""
    content = (data / "witness").read_bytes()
    return max(slot.next_position for place in (0, SLOT) if (slot := unpack(content[place : place + SLOT])))


@contextmanager
def killed_with_messages() -> Iterator[RunningNode]:
    """Yield a node that was killed after the witness recorded ten messages in its store."""
    with running() as node:
        sub = subprocess.Popen(
            [sys.executable, "-m", "mesh", "sub", "k", "--url", "heron"],
            stdout=subprocess.PIPE,
            env=node.environ,
        )
        node.mesh("pub", "k", "first", "--url", "heron", "--persistent")
        assert sub.stdout is not None and sub.stdout.readline()
        sub.send_signal(signal.SIGSTOP)
        try:
            lines = "".join(f"{number}\n" for number in range(10))
            for line in lines.split():
                node.mesh("pub", "k", line, "--url", "heron", "--persistent")
            until(lambda: witnessed(data_of(node)) >= BOOT + 10)
            node.kill()
        finally:
            sub.kill()
            sub.communicate()
        yield node


def test_row_47_a_node_does_not_start_with_a_store_that_went_backwards_unless_it_is_accepted() -> None:
    """The database was deleted.

    The error of `mesh up` names the loss and the remedy in one message, with code 2. With --accept-rollback
    the node continues behind all positions that it ever gave.
    """
    with killed_with_messages() as node:
        data = data_of(node)
        known = witnessed(data)
        for file in data.glob("store.sqlite*"):
            file.unlink()
        for _ in range(2):
            said = up(node)
            assert (said.returncode, said.stdout) == (2, "")
            assert "holds 0 commits and is at position 1, but had" in said.stderr
            assert f"was at {known} before" in said.stderr and "[STORE_ROLLED_BACK]" in said.stderr
            assert said.stderr.strip().endswith(
                "to continue without the lost data: mesh up --accept-rollback"
            )
        node._options = ["--accept-rollback"]
        node.start()
        until(lambda: f"accepted: positions 1..{known - 1} are lost" in node.log)
        node.stop()
        node._options = []
        node.start()
        assert witnessed(data) > known + BOOT


def up_of(name: str, at: RunningNode) -> float:
    """Return the uptime of a node, by its last state at another node."""
    with mesh.sync.connect(at.name, environ=at.environ) as m:
        return next(float(row["up"] or 0) for row in m.call("ls")["nodes"] if row["name"] == name)


def test_trial_A2_row_47_a_node_whose_store_and_witness_are_old_stops_when_another_has_its_word_for_more(
    tmp_path: Path,
) -> None:
    """Both files were restored from a backup, so they agree.

    Another node has kept a state that this one signed later. The node refuses each start before it serves,
    until the loss is accepted.
    """

    async def scenario(heron: RunningNode, swift: RunningNode) -> None:
        data, copy = data_of(heron), tmp_path / "copy"
        async with (
            mesh.connect("swift", environ=swift.environ) as reader,
            reader.subscribe("k") as subscription,
        ):
            async with mesh.connect("heron", environ=heron.environ) as publisher:
                await publisher.publish("k", b"before", persistent=True)
                heron.stop()
                copy.mkdir()
                for file in ("store.sqlite", "witness"):
                    (copy / file).write_bytes((data / file).read_bytes())
                await asyncio.to_thread(heron.start)
                for content in (b"1", b"2"):
                    await publisher.publish("k", content, persistent=True)
                got = [m.content async for m in first(subscription, 3)]
                assert got == [b"before", b"1", b"2"]
                up_now = up_of("heron", heron)
                await asyncio.to_thread(until, lambda: up_of("heron", swift) > up_now)
            heron.stop()
            for file in ("store.sqlite", "witness"):
                (data / file).write_bytes((copy / file).read_bytes())
            for _ in range(2):
                await asyncio.to_thread(heron.start)
                assert await asyncio.to_thread(heron.wait) == 2
                assert "swift kept a state" in heron.log and "[STORE_ROLLED_BACK]" in heron.log
            heron._options = [*heron._options, "--accept-rollback"]
            await asyncio.to_thread(heron.start)
            async with mesh.connect("heron", environ=heron.environ) as publisher:
                await publisher.publish("k", b"after", persistent=True)
            assert [m.content async for m in first(subscription, 1)] == [b"after"]

    with running("heron") as heron, running("swift", beside=heron) as swift:
        asyncio.run(scenario(heron, swift))


async def first(subscription: mesh.Subscription, count: int):  # type: ignore[no-untyped-def]
    async with asyncio.timeout(LIMIT):
        async for message in subscription:
            yield message
            count -= 1
            if not count:
                return


def test_row_48_a_second_node_on_the_same_directory_is_refused() -> None:
    """The error is one message with code 2, and names the process. The first node continues."""
    with running() as node:
        said = run_mesh("up", "--id", "twin", "--data", node.it["data"], environ=node.environ)
        assert (said.returncode, said.stdout) == (2, "")
        assert f"is in use by process {node.pid}" in said.stderr and "[DATA_DIR_IN_USE]" in said.stderr
        assert node.mesh("pub", "k", "v", "--url", "heron", "--persistent").returncode == 0


SLOW = """
import os, sys, time
from mesh.cli.main import main
from mesh.store.sqlite import SQLiteStore

swift = SQLiteStore.commit
def commit(store, ops):
    while os.path.exists(os.environ["TEST_HOLD"]):
        time.sleep(0.01)
    swift(store, ops)
SQLiteStore.commit = commit
sys.exit(main())
"""


def test_row_49_a_node_with_a_slow_disk_serves_others_and_makes_larger_commits(tmp_path: Path) -> None:
    """During a long commit the node answers calls, and publishes that arrive share a few commits."""
    hold = tmp_path / "hold"

    async def scenario(heron: RunningNode) -> None:
        async with mesh.connect("heron", environ=heron.environ) as publisher:
            await publisher.publish("k", b"", persistent=True)
            hold.touch()
            publishes = [
                asyncio.create_task(publisher.publish(f"k{n}", b"x", persistent=True)) for n in range(150)
            ]
            await asyncio.sleep(0)  # the publishes begin
            await publisher.call("info")  # after them on the same connection
            assert not any(publish.done() for publish in publishes)
            hold.unlink()
            await asyncio.gather(*publishes)

    with running("heron") as heron:
        heron.stop()
        heron.program = (sys.executable, "-c", SLOW)
        heron.environ["TEST_HOLD"] = str(hold)
        before = commits_of(heron)
        heron.start()
        asyncio.run(scenario(heron))
        heron.stop()
        assert commits_of(heron) - before < 30


def commits_of(node: RunningNode) -> int:
    store = SQLiteStore(data_of(node) / "store.sqlite")
    try:
        return store.reach.commits
    finally:
        store.close()


def test_row_48_a_node_whose_directory_is_on_a_network_disk_starts_only_when_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All paths look like NFS to the node. It refuses before it makes the store, unless settings allow it."""
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text("21 1 0:44 / / rw - nfs4 server:/ rw\n")
    monkeypatch.setattr(mounts, "MOUNTS", mountinfo)

    async def scenario(allowed: bool) -> None:
        settings: dict[str, object] = {
            "node.data": str(tmp_path / "data"),
            "node.allow_network_disk": allowed,
        }
        async with mesh_of("heron", settings=settings) as m, m.connect("heron") as publisher:
            await publisher.publish("k", b"v", persistent=True)

    with pytest.raises(DataDirRefused, match="network file system \\(nfs4\\)") as found:
        asyncio.run(scenario(allowed=False))
    assert found.value.code == "DATA_DIR" and not (tmp_path / "data" / "store.sqlite").exists()
    asyncio.run(scenario(allowed=True))
