"""A year in production, in minutes: backup and restore under load, an upgrade of three nodes one by one."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import mesh
import mesh.sync
from mesh.local.backup import verified
from tests.mesh.running import LIMIT, RunningNode, running, until
from tests.mesh.scenarios.test_mixed_releases import OLD

MANY = 30  # jobs in the queue
pytestmark = pytest.mark.slow


def connected(node: RunningNode, name: str | None = None) -> mesh.sync.Client:
    return mesh.sync.connect(node.name, client=name, environ=node.environ, timeout=LIMIT)


def drained(node: RunningNode, count: int) -> list[str]:
    """Ack `count` messages, which are all in the queue, and return their contents."""
    found: list[str] = []

    async def scenario() -> None:
        async with mesh.connect(node.name, environ=node.environ, timeout=LIMIT) as m:
            queue = m.queue("jobs")
            async with queue.consume(prefetch=50) as jobs, asyncio.timeout(LIMIT):
                async for job in jobs:
                    async with job:
                        found.append(job.content.decode())
                    if len(found) == count:
                        break
            row = await queue.info()
            assert (row.ready, row.out, row.delayed) == (0, 0, 0)

    asyncio.run(scenario())
    return found


@pytest.mark.smoke
def test_a_backup_under_load_is_whole_and_brings_back_what_was_done_since(tmp_path: Path) -> None:
    out = tmp_path / "heron.backup"
    with running("heron") as heron:
        with connected(heron) as m:
            queue = m.queue("jobs")
            queue.declare()
            for number in range(MANY):
                queue.put(str(number))
            for number in range(3000):  # in transit during the copy
                m.post("load", f"{number}" * 20, persistent=True)
            made = heron.mesh("backup", "create", str(out))
            assert made.returncode == 0, made.stderr
            m.flush()
        assert "checked" in made.stderr and not (Path(heron.it["data"]) / "backup").exists()
        assert heron.mesh("backup", "create", str(out)).returncode == 2  # an existing backup is not replaced
        assert heron.mesh("backup", "check", str(out)).returncode == 0
        assert len(drained(heron, MANY)) == MANY  # consumed after the backup
        with connected(heron) as m:
            m.queue("jobs").put("since")
        refused = heron.mesh("backup", "restore", str(out), "--replace")
        assert (refused.returncode, "its node runs" in refused.stderr) == (2, True)
        boot = heron.it["boot"]
        heron.kill()
        shutil.rmtree(heron.it["data"])
        restored = heron.mesh("backup", "restore", str(out))
        assert restored.returncode == 0 and "--accept-rollback" in restored.stderr, restored.stderr
        heron._options = ("--accept-rollback",)
        heron.start()
        with verified(out) as (manifest, _):
            assert (heron.it["uuid"], heron.it["boot"] > boot) == (manifest.uuid, True)
        assert sorted(map(int, drained(heron, MANY))) == list(range(MANY))  # again, without the later one


def test_a_restored_node_needs_a_word_whether_it_is_alone_or_others_know_more_of_it(tmp_path: Path) -> None:
    out = tmp_path / "heron.backup"
    with running("swift") as swift, running("heron", beside=swift) as heron:
        with connected(heron) as m:
            m.queue("jobs").declare()
            m.queue("jobs").put("before")
            assert heron.mesh("backup", "create", str(out), "--url", "heron").returncode == 0
            for number in range(5):
                m.queue("jobs").put(str(number))
        uuid = heron.it["uuid"]

        def heard() -> bool:
            nodes = json.loads(swift.mesh("ls", "--url", "swift", "--json").stdout)["nodes"]
            return any(node["uuid"] == uuid and node.get("queued") == 6 for node in nodes)

        until(heard)
        heron.kill()
        shutil.rmtree(heron.it["data"])
        assert heron.mesh("backup", "restore", str(out)).returncode == 0
        for options in ((), ("--peer", swift.it["tcp"][0])):
            said = heron.mesh("up", "--id", "heron", "--cluster", heron.cluster, "--no-mdns", *options)
            assert said.returncode == 2 and "[STORE_ROLLED_BACK]" in said.stderr, said.stderr
        heron._options = (*heron._options, "--accept-rollback")
        heron.start()
        assert drained(heron, 1) == ["before"]
        assert heron.stop() == 0
        heron._options = heron._options[:-1]
        heron.start()  # the mark is gone


@contextmanager
def three(old: tuple[str, ...]) -> Iterator[list[RunningNode]]:
    with ExitStack() as nodes:
        first = nodes.enter_context(running("heron", inside=old))
        rest = [nodes.enter_context(running(name, beside=first, inside=old)) for name in ("frodo", "bilbo")]
        yield [first, *rest]


def test_three_nodes_are_upgraded_one_by_one_and_nothing_is_lost() -> None:
    """Each node is stopped and started as this release, as docs/upgrade.md says, while others publish."""
    with three(OLD) as nodes:
        heron, frodo, bilbo = nodes
        sent = 0
        with connected(bilbo, "reader") as reader, connected(heron, "publisher") as publisher:
            with reader.subscribe(pattern="orders/#") as subscription:
                for node in (frodo, heron, bilbo):
                    for _ in range(300):
                        publisher.post(f"orders/{sent % 7}", str(sent), persistent=True)
                        sent += 1
                    assert node.stop() == 0
                    node._inside = ()
                    node.start()
                for _ in range(300):
                    publisher.post(f"orders/{sent % 7}", str(sent), persistent=True)
                    sent += 1
                publisher.flush()
                got: list[int] = []
                while len(got) < sent:
                    batch = subscription.next_batch(timeout=LIMIT)
                    assert batch is not None
                    got += [int(message.content) for message in batch]
        assert sorted(got) == list(range(sent))
        versions = json.loads(heron.mesh("info", "--url", "heron", "--json").stdout)
        assert "log" in versions  # only this release has this key
