"""A durable subscription with a store of its own, on a real node that is killed."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

import mesh
from mesh.store.sqlite import SQLiteStore
from mesh.wire.envelope import decode
from tests.mesh.running import RunningNode, run_mesh, running

TEXTS = [f"{number}" for number in range(300)]


def lying(file: Path) -> list[str]:
    """Return the contents for the subscription in a store whose node does not run."""
    with closing(SQLiteStore(file)) as store:
        found = [decode(header, body) for _, header, body in store.load().envelopes]
    return [content.decode() for e in found if e.to == "queue/sub/audit" for content in e.contents()]


async def subscribe_and_publish(node: RunningNode) -> None:
    """Publish until all texts are answered. The node still moves the last ones."""
    async with mesh.connect(node.name, environ=node.environ) as m:
        async with m.subscribe(pattern="orders/#", durable="audit"):
            pass
        answers = await asyncio.gather(*(m.publish("orders/x", text) for text in TEXTS))
        assert {answer.state for answer in answers} == {"OK"}
        node.kill()


async def read_all(node: RunningNode) -> list[str]:
    texts = list[str]()
    async with mesh.connect(node.name, environ=node.environ) as m:
        async with m.subscribe(pattern="orders/#", durable="audit") as jobs:
            async for job in jobs:
                texts.append(job.text)
                await job.ack()
                if len(texts) == len(TEXTS):
                    break
        queue = m.queue("sub/audit")

        async def is_empty() -> bool:
            return (await queue.info()).ready == 0

        assert await is_empty()
    return texts


@pytest.mark.slow
def test_002_02_what_a_killed_node_had_accepted_is_in_the_store_of_the_subscription_once(
    tmp_path: Path,
) -> None:
    file, own = tmp_path / "audit.db", Path("data") / "heron" / "store.sqlite"
    config = tmp_path / "mesh.toml"
    config.write_text(f'[[queues]]\nname = "sub/audit"\nstore = "sqlite://{file}"\n')
    with running("heron", options=("--config", str(config))) as heron:
        asyncio.run(subscribe_and_publish(heron))
        both = lying(file) + lying(heron.state / own)
        assert set(both) == set(TEXTS), "some may be in both"
        heron.start()
        heron.kill()
        assert (lying(file), lying(heron.state / own)) == (TEXTS, [])
        heron.start()
        assert asyncio.run(read_all(heron)) == TEXTS
        assert heron.stop() == 0
        assert lying(file) == lying(heron.state / own) == []


@pytest.mark.slow
def test_002_02_an_existing_subscription_moves_to_its_new_store_and_back(tmp_path: Path) -> None:
    file, config = tmp_path / "audit.db", tmp_path / "mesh.toml"
    config.write_text("")
    with running("heron", options=("--config", str(config))) as heron:
        own = heron.state / "data" / "heron" / "store.sqlite"
        asyncio.run(subscribe_and_publish(heron))
        assert lying(own) == TEXTS
        for text, places in (
            (f'[[queues]]\nname = "sub/#"\nstore = "sqlite://{file}"\n', (file, own)),
            ("", (own, file)),
        ):
            config.write_text(text)
            heron.start()
            assert heron.stop() == 0
            assert (lying(places[0]), lying(places[1])) == (TEXTS, [])
        heron.start()
        assert asyncio.run(read_all(heron)) == TEXTS


@pytest.mark.slow
def test_002_02_a_backup_under_load_has_each_message_accepted_before_once(tmp_path: Path) -> None:
    file, config, backup = tmp_path / "audit.db", tmp_path / "mesh.toml", tmp_path / "heron.backup"
    config.write_text(f'[[queues]]\nname = "sub/audit"\nstore = "sqlite://{file}"\n')

    async def publish_during_backup() -> None:
        async with mesh.connect(heron.name, environ=heron.environ) as m:
            async with m.subscribe(pattern="orders/#", durable="audit"):
                pass
            await asyncio.gather(*(m.publish("orders/x", text) for text in TEXTS))
            copy = asyncio.create_task(
                asyncio.to_thread(run_mesh, "backup", "create", str(backup), environ=heron.environ)
            )
            while not copy.done():
                await m.publish("orders/x", "later")
            made = await copy
            assert made.returncode == 0, made.stderr

    with running("heron", options=("--config", str(config))) as heron:
        asyncio.run(publish_during_backup())
        heron.kill()
        place = (
            "--queue-store",
            f"sub/audit={file}",
            "--data",
            str(heron.state / "data" / "heron"),
            "--replace",
        )
        restored = heron.mesh("backup", "restore", str(backup), *place)
        assert restored.returncode == 0, restored.stderr
        options = ("--config", str(config), "--accept-rollback")
        again = RunningNode(heron.name, heron.state, heron.cluster, options, ())
        again.start()
        again.kill()
        texts = lying(file)
        assert texts[: len(TEXTS)] == TEXTS and set(texts[len(TEXTS) :]) <= {"later"}
