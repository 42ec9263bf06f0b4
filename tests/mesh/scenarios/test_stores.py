"""Does a node keep its promises with a store other than SQLite?"""

import asyncio

import mesh
from tests.mesh.running import running
from tests.mesh.scenarios.hearing import hearing, nothing_more
from tests.postgres import PostgresServer

WORDS = [b"%d" % number for number in range(30)]


def test_what_waits_in_postgresql_survives_kill_9_and_is_delivered_once(postgres: PostgresServer) -> None:
    async def story() -> None:
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
        asyncio.run(story())
        assert "waiting up to 10 s for the lease of boot 1 of node" in a.log
        assert postgres.sql("SELECT count(*) FROM heronry.meta", url) == [(2,)]
        assert a.stop() == 0
        a.start()  # at once: it has let go of its lease
        assert a.log.count("waiting up to 10 s") == 1
        assert not (a.state / "data" / "a" / "store.sqlite").exists()


def test_a_node_that_was_overtaken_stops_and_says_by_whom(postgres: PostgresServer) -> None:
    url = postgres.database()
    with running("a", options=("--store", url)) as a:
        postgres.sql("UPDATE heronry.lease SET epoch = epoch + 1, boot = 9", url)
        a.mesh("pub", "--persistent", "k", "word")
        assert a.wait() == 2
        assert "[FENCED]" in a.log and "boot 9 of node" in a.log


def test_others_take_in_all_that_a_node_without_memory_sends_after_a_restart() -> None:
    async def story() -> None:
        async with mesh.connect("b", environ=b.environ) as subscriber, hearing(subscriber, "k") as ear:
            for start in range(3):
                async with mesh.connect("a", environ=a.environ) as publisher:
                    for word in WORDS[: 10 + start]:
                        assert (await publisher.publish("k", word, persistent=True)).state == "OK"
                    await nothing_more(publisher, ear)
                a.kill()
                await asyncio.to_thread(a.start)
                async with mesh.connect("a", environ=a.environ) as publisher:
                    while (await publisher.publish("k", b"met?")).matched == 0:
                        await asyncio.sleep(0.05)
            heard = [word for word in ear.contents if word != b"met?"]
            assert heard == [*WORDS[:10], *WORDS[:11], *WORDS[:12]]

    with running("a", options=("--store", "memory")) as a, running("b", beside=a) as b:
        asyncio.run(story())
        assert not (a.state / "data" / "a" / "store.sqlite").exists()
