"""A program that is killed: its session name is free, and its jobs go to another consumer."""

import asyncio
import subprocess
import sys

import pytest

import mesh
import mesh.sync
from mesh.errors import Refused
from tests.mesh.running import LIMIT, RunningNode, running, until

HOLDER = """
import sys, time, mesh.sync
m = mesh.sync.connect(sys.argv[1], client="joe", session=1, timeout=120).__enter__()
print("in", flush=True)
time.sleep(1000)
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", [pytest.param("file", marks=pytest.mark.smoke), "tcp"])
def test_trial_B6_the_session_of_a_program_that_was_killed_is_free(way: str) -> None:
    with running("a") as a:
        address = "a" if way == "file" else a.tcp
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, address], env=a.environ, stdout=subprocess.PIPE, text=True
        )
        try:
            assert holder.stdout is not None and holder.stdout.readline() == "in\n"
            with pytest.raises(Refused) as refused:
                with mesh.sync.connect(address, client="joe", session=1, environ=a.environ):
                    pass
            assert refused.value.code == "SESSION_IN_USE"
        finally:
            holder.kill()
            holder.communicate()
        with mesh.sync.connect(address, client="joe", session=1, environ=a.environ) as m:
            assert m.publish("k", b"v").ok


CONSUMER = """
import asyncio, sys, mesh
async def main():
    async with mesh.connect(sys.argv[1], timeout=120) as m, m.queue("jobs").consume(prefetch=5) as jobs:
        first = await anext(jobs)
        await first.ack()
        print(first.text, flush=True)
        await anext(jobs)
        print("holds", flush=True)
        await asyncio.sleep(1000)
asyncio.run(main())
"""


@pytest.mark.smoke
def test_jobs_of_a_consumer_that_is_killed_go_to_another_and_what_it_acked_does_not() -> None:
    async def scenario(a: RunningNode, b: RunningNode) -> None:
        async with mesh.connect("b", environ=b.environ, timeout=LIMIT) as m:
            q = m.queue("jobs")
            await q.declare()
            for n in range(10):
                await q.put(str(n))
            acked = await asyncio.to_thread(consume_and_die, a)
            found: dict[int, bool] = {}
            async with asyncio.timeout(LIMIT), q.consume() as jobs:
                while len(found) < 9:
                    job = await anext(jobs)
                    assert int(job.text) not in found
                    found[int(job.text)] = job.redelivered
                    await job.ack()
            assert found.keys() == set(range(10)) - {acked}
            assert any(found.values()), "what the killed consumer had is marked"
            info = await q.info()
            assert (info.ready, info.out) == (0, 0)

    with running("a") as a, running("b", beside=a) as b:
        until(lambda: "b" in a.mesh("ls", "--url", "a").stdout)
        asyncio.run(scenario(a, b))


def consume_and_die(node: RunningNode) -> int:
    """Kill a consumer that has acked one job and holds others. Return the job that it acked."""
    command = [sys.executable, "-c", CONSUMER, node.name]
    with subprocess.Popen(command, env=node.environ, stdout=subprocess.PIPE, text=True) as consumer:
        try:
            assert consumer.stdout is not None
            acked = int(consumer.stdout.readline())
            assert consumer.stdout.readline() == "holds\n"
        finally:
            consumer.kill()
    return acked
