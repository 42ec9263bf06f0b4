"""A client that is opened and never closed: nothing hangs, and a warning names it.

Each test runs a program of its own, because the program must not hang beyond Ctrl-C.
"""

import asyncio
import gc
import sys
import textwrap
import warnings

import pytest

import mesh
from mesh.errors import Closed
from tests.mesh.meshes import LIMIT, Mesh, eventually, mesh_of
from tests.seeds import scenarios

BEGIN = """
import asyncio, gc, os, signal, sys, time
import mesh

PATIENT = {"timeout": 120.0}

async def opened(**options):
    m = mesh.connect("a", **options, **PATIENT)
    await m.__aenter__()
    m.post("k", b"x")
    return m

async def is_free(session):
    while True:
        gc.collect()
        try:
            async with mesh.connect("a", client="joe", session=session, timeout=1.0):
                return
        except mesh.MeshError:
            await asyncio.sleep(0.05)

async def still_publishes():
    async with mesh.connect("a", **PATIENT) as m:
        await m.publish("over", b"x")

"""

SCENARIOS = {
    "three times, and then the garbage": """
        for _ in range(3):
            asyncio.run(opened())
        gc.collect()
        asyncio.run(still_publishes())
    """,
    "another client of the same loop goes on": """
        async def main():
            async with mesh.connect("a", **PATIENT) as other:
                for _ in range(3):
                    await opened()
                for _ in range(200):
                    other.post("other", b"x")
                    gc.collect(0)
                gc.collect()
                await other.flush()
        asyncio.run(main())
    """,
    "a gather that fails": """
        async def fails():
            await opened()
            raise ValueError("on purpose")
        async def main():
            await asyncio.gather(opened(), fails(), opened())
        for _ in range(2):
            try:
                asyncio.run(main())
            except ValueError:
                gc.collect()
        asyncio.run(still_publishes())
    """,
    "a session number is free again when its loop has ended": """
        asyncio.run(opened(client="joe", session=1))
        asyncio.run(is_free(1))
    """,
    "a loop that goes on, as in a notebook": """
        async def main():
            m = await opened(client="joe", session=2)
            await m.flush()
            m = None
            await is_free(2)
        asyncio.run(main())
    """,
    "a loop that is closed by hand": """
        loop = asyncio.new_event_loop()
        for _ in range(3):
            loop.run_until_complete(opened())
        loop.close()
        del loop
        gc.collect()
        asyncio.run(still_publishes())
    """,
    "the end of the program": """
        loop = asyncio.new_event_loop()
        m = loop.run_until_complete(opened())
    """,
    "the end of the program while a thread is using it": """
        import threading
        ready = threading.Event()
        async def main():
            async with mesh.connect("a", **PATIENT) as m:
                ready.set()
                while True:
                    await m.publish("k", bytes(10_000))
        threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
        ready.wait()
    """,
    "Ctrl-C while it is in use": """
        async def main():
            m = await opened()
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            gc.collect()
        asyncio.run(still_publishes())
    """,
    "a fork": """
        loop = asyncio.new_event_loop()
        m = loop.run_until_complete(opened())
        child = os.fork()
        if not child:
            del m, loop
            gc.collect()
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        loop.run_until_complete(m.publish("parent", b"x"))
        loop.run_until_complete(m.close())
    """,
    "iterators that nobody closes": """
        async def main():
            m = await opened()
            sub = await m.subscribe("k").__aenter__()
            batches, events = sub.batches(), m.events()
            waits = [asyncio.ensure_future(anext(batches)), asyncio.ensure_future(anext(events))]
            m.post("k", b"y")
            await asyncio.wait(waits, return_when="FIRST_COMPLETED")
        for _ in range(2):
            asyncio.run(main())
        gc.collect()
        asyncio.run(still_publishes())
    """,
    "blocking clients that are never closed": """
        clients = [mesh.sync.connect("a", **PATIENT).__enter__() for _ in range(3)]
        for m in clients:
            m.post("k", b"x")
        waits = iter(clients[0].subscribe("k").__enter__())
    """,
    "a client that could not be opened": """
        async def main():
            m = mesh.connect("tcp://127.0.0.1:1", timeout=0.2)
            try:
                await m.__aenter__()
            except mesh.MeshError:
                return
        for _ in range(3):
            asyncio.run(main())
        gc.collect()
        asyncio.run(still_publishes())
    """,
}


async def _tell(m: Mesh, name: str, gate: asyncio.Semaphore) -> str:
    """Run a program, and return "" if it ends as it should, else what happened."""
    program = BEGIN + textwrap.dedent(SCENARIOS[name]) + "print('over')\n"
    async with gate:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, env=m.environ, stdout=-1, stderr=-1
        )
        try:
            async with asyncio.timeout(LIMIT):
                out, err = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            return f"{name}: stood still"
    is_fine = (out, err, process.returncode) == (b"over\n", b"", 0)
    return "" if is_fine else f"{name}: {process.returncode} {out!r} {err.decode()}"


@pytest.mark.parametrize(
    "names", scenarios([list(SCENARIOS)[:1], list(SCENARIOS)[1:]]), ids=("some", "others")
)
def test_trial_B0_a_client_that_is_never_closed_freezes_nothing(names: list[str]) -> None:
    async def scenario() -> list[str]:
        gate = asyncio.Semaphore(3)
        async with mesh_of("a") as m:
            return await asyncio.gather(*(_tell(m, name, gate) for name in names))

    assert not [said for said in asyncio.run(scenario()) if said]


def test_trial_B0_a_client_that_its_loop_outlives_is_named_and_gone() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            held = m.connect("a", client="joe")
            await held.__aenter__()
            assert m.metric("a", "sessions") == 1
            with pytest.warns(ResourceWarning, match="client/joe/session/.* was never closed"):
                del held
                await eventually(lambda: gc.collect() < 0 or not m.metric("a", "sessions"))

    asyncio.run(scenario())


def test_trial_B0_at_the_end_of_its_loop_it_is_closed_and_says_so() -> None:
    held: list[mesh.Client] = []

    async def scenario() -> None:
        async with mesh_of("a") as m:
            held.append(await m.connect("a", client="joe").__aenter__())

    with pytest.warns(ResourceWarning, match="client/joe/session/.* was never closed"):
        asyncio.run(scenario())
    with pytest.raises(Closed, match="The client is closed"):
        held[0].post("k", b"x")


def test_a_client_that_is_used_by_what_it_made_is_not_forgotten() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m, m.connect("a") as other:
            sub = m.connect("a").subscribe("k")  # an unopened client says so
            with pytest.raises(Closed):
                await sub.__aenter__()
            held = await m.connect("a").__aenter__()
            sub = await held.subscribe("k").__aenter__()
            receipt = held.post("k", b"1")
            owner = [held.close]
            del held
            gc.collect()
            await receipt
            await other.publish("k", b"2")
            async with asyncio.timeout(LIMIT):
                assert [(await anext(sub)).content for _ in range(2)] == [b"1", b"2"]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                await owner[0]()

    asyncio.run(scenario())
