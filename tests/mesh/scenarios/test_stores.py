"""The promises of a node whose store is not SQLite."""

import asyncio
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import pytest

import mesh
from mesh.config import load
from mesh.features.postgres.store import PostgresStore
from mesh.shell.starting import start
from tests.mesh.meshes import eventually, take
from tests.mesh.running import LIMIT, environment, running, state_directory
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.postgres import PostgresServer

WORDS = [b"%d" % number for number in range(30)]


def test_what_waits_in_postgresql_survives_kill_9_and_is_delivered_once(postgres: PostgresServer) -> None:
    async def scenario() -> None:
        async with mesh.connect("b", environ=b.environ) as subscriber, hearing(subscriber, "k") as ear:
            async with mesh.connect("a", environ=a.environ) as publisher:
                await publisher.publish("k", b"first", persistent=True)
                await ear.heard(1)
                b.kill()
                published = [await publisher.publish("k", word, persistent=True) for word in WORDS]
            assert {each.state for each in published} == {"OK"}
            a.kill()
            await asyncio.gather(asyncio.to_thread(a.start), asyncio.to_thread(b.start))
            await ear.heard(1 + len(WORDS))
            async with mesh.connect("a", environ=a.environ) as publisher:
                await nothing_more(publisher, ear)
            assert ear.contents == [b"first", *WORDS]

    url = postgres.database()
    with running("a", options=("--store", url)) as a, running("b", beside=a, options=("--store", url)) as b:
        asyncio.run(scenario())
        assert "waiting up to 10 s for the lease of boot 1 of node" in a.log
        assert postgres.sql("SELECT count(*) FROM heronry.meta", url) == [(2,)]
        assert a.stop() == 0
        a.start()  # without a wait: it has released its lease
        assert a.log.count("waiting up to 10 s") == 1
        assert not (a.state / "data" / "a" / "store.sqlite").exists()


def test_a_node_that_was_overtaken_stops_and_says_by_whom(postgres: PostgresServer) -> None:
    url = postgres.database()
    with running("a", options=("--store", url)) as a:
        postgres.sql("UPDATE heronry.lease SET epoch = epoch + 1, boot = 9", url)
        command = [sys.executable, "-m", "mesh", "pub", "--persistent", "k", "word", "--url", "a"]
        with subprocess.Popen(command, env=a.environ, stderr=subprocess.PIPE, text=True) as publisher:
            assert a.wait() == 2
            publisher.kill()
            assert publisher.stderr is not None
            assert "FENCED" not in publisher.stderr.read(), "it is called refused by nobody"
        assert "[FENCED]" in a.log and "boot 9 of node" in a.log


class Overtaken:
    """A stand-in for a connection: one COMMIT is executed, its answer is lost, and so is the lease."""

    def __init__(self, postgres: PostgresServer, url: str, real: Any) -> None:
        self._postgres, self._url, self._real = postgres, url, real
        self.happened = False

    def __call__(self, sql: str, values: Any = ()) -> Any:
        found = self._real(sql, values)
        if sql != "COMMIT" or self.happened:
            return found
        self.happened = True
        ended = "expires = clock_timestamp() - interval '1 s'"
        self._postgres.sql(f"UPDATE heronry.lease SET epoch = epoch + 1, {ended}", self._url)
        self._real.__self__.hang_up()
        return self._real("SELECT 1")


def test_trial_B7_who_is_fenced_off_calls_nothing_refused_of_which_the_answer_was_lost(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit was executed. The publisher asks the next process, which has the message, once."""
    url = postgres.database()

    async def scenario(state: Path) -> None:
        environ = environment(state)
        config = load(None, {}, {"node.id": "a", "node.store": url, "discovery.mdns": False})
        first = await start(config, environ)
        running = asyncio.create_task(first.run())
        async with (
            AsyncExitStack() as stack,
            mesh.connect("a", environ=environ) as m,
            m.subscribe("k") as subscription,
        ):
            store: PostgresStore = cast(Any, first.held.store.load).__self__
            db = store._connection
            overtaken = Overtaken(postgres, url, db.execute)
            monkeypatch.setattr(db, "execute", overtaken)
            publishing = asyncio.create_task(m.publish("k", b"once", persistent=True))
            with pytest.raises(mesh.MeshError) as ended:
                await asyncio.wait_for(running, LIMIT)
            assert ended.value.code == "FENCED" and overtaken.happened
            await first.close()
            assert not publishing.done()
            second = await start(config, environ)
            stack.push_async_callback(second.close)
            assert (await asyncio.wait_for(publishing, LIMIT)).state == "OK"
            await m.publish("k", b"end")
            got = [message.content for message in await take(subscription, 2)]
            assert got == [b"once", b"end"]

    with state_directory() as state:
        asyncio.run(scenario(state))


def test_others_take_in_all_that_a_node_without_memory_sends_after_a_restart() -> None:
    async def scenario() -> None:
        async with mesh.connect("b", environ=b.environ) as subscriber, hearing(subscriber, "k") as ear:
            for start in range(3):
                async with mesh.connect("a", environ=a.environ) as publisher:
                    for word in WORDS[: 10 + start]:
                        assert (await publisher.publish("k", word, persistent=True)).state == "OK"
                    await nothing_more(publisher, ear)
                a.kill()
                await asyncio.to_thread(a.start)
                async with mesh.connect("a", environ=a.environ) as publisher:

                    async def has_met(publisher: mesh.Client = publisher) -> bool:
                        return (await publisher.publish("k", b"met?")).matched > 0

                    await eventually(has_met)
            heard = [word for word in ear.contents if word != b"met?"]
            assert heard == [*WORDS[:10], *WORDS[:11], *WORDS[:12]]

    with running("a", options=("--store", "memory")) as a, running("b", beside=a) as b:
        asyncio.run(scenario())
        assert not (a.state / "data" / "a" / "store.sqlite").exists()
