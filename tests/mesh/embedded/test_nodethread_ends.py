"""Programs that end without closing their node: they do not hang, and peers receive a goodbye.

Each scenario is a program of its own.
"""

import asyncio
import os
import sys
import textwrap
from typing import Any

import pytest

from mesh.discovery.member import NodeLife
from tests.mesh.embedded.own import Place, address_of, place, runtime
from tests.mesh.meshes import LIMIT, eventually
from tests.seeds import scenarios

BEGIN = """
import asyncio, gc, os, signal, sys, threading, time
import mesh

SETTINGS = {"discovery": {"remember": False, "interfaces": ["lo"]}}

def node():
    return mesh.node("robot", seeds=[sys.argv[1]], config=SETTINGS, timeout=120.0)

async def opened():
    m = node()
    await m.__aenter__()
    while not (await m.publish("here", b"x")).matched:
        await asyncio.sleep(0.01)
    return m

"""

SCENARIOS = {
    "the end of the program": """
        loop = asyncio.new_event_loop()
        m = loop.run_until_complete(opened())
    """,
    "one that is forgotten": """
        asyncio.run(opened())
        gc.collect()
    """,
    "an error": """
        async def main():
            async with node() as m:
                while not (await m.publish("here", b"x")).matched:
                    await asyncio.sleep(0.01)
                raise ValueError("on purpose")
        try:
            asyncio.run(main())
        except ValueError:
            pass
    """,
    "Ctrl-C": """
        async def main():
            async with node() as m:
                while not (await m.publish("here", b"x")).matched:
                    await asyncio.sleep(0.01)
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(600)
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            pass
    """,
    "a loop that is closed by hand, as in a notebook": """
        loop = asyncio.new_event_loop()
        m = loop.run_until_complete(opened())
        loop.close()
        del m, loop
        gc.collect()
    """,
    "the same in a loop that goes on": """
        async def main():
            m = await opened()
            m = None
            while any(t.name == "mesh-node" for t in threading.enumerate()):
                gc.collect()
                await asyncio.sleep(0.01)
        asyncio.run(main())
    """,
    "a client without a loop that is never closed": """
        m = mesh.sync.node("robot", seeds=[sys.argv[1]], config=SETTINGS, timeout=120.0).__enter__()
        while not m.publish("here", b"x").matched:
            time.sleep(0.01)
    """,
    "a fork": """
        loop = asyncio.new_event_loop()
        m = loop.run_until_complete(opened())
        s = mesh.sync.node("second", config=SETTINGS, timeout=120.0).__enter__()
        child = os.fork()
        if not child:
            try:
                s.publish("k", b"x")
            except mesh.MeshError as error:
                assert error.code == "CLOSED" and "fork" in error.hint, error
                try:
                    loop.run_until_complete(m.publish("k", b"x"))
                except mesh.MeshError as error:
                    assert error.code == "CLOSED" and "fork" in error.hint, error
                    s.close()
                    sys.exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        loop.run_until_complete(m.publish("parent", b"x"))
        s.publish("parent", b"x")
        loop.run_until_complete(m.close())
        s.close()
    """,
    "a fork that lives longer": """
        loop = asyncio.new_event_loop()
        m = loop.run_until_complete(opened())
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            os.close(theirs)
            os.read(ours, 1)
            os._exit(0)
        loop.run_until_complete(m.close())
        async def again():
            async with node() as m:
                await m.publish("k", b"x")
        loop.run_until_complete(again())
        os.close(theirs)
        assert os.waitpid(child, 0)[1] == 0
    """,
    "while another thread computes": """
        def compute():
            n = 0
            while True:
                n += 1
        async def main():
            m = await opened()
            threading.Thread(target=compute, daemon=True).start()
            await asyncio.sleep(0.1)
        asyncio.run(main())
    """,
}


async def told(here: Place, name: str, seed: str) -> str:
    """Run the program of a scenario, and return an empty string, or a description of its failure."""
    program = BEGIN + textwrap.dedent(SCENARIOS[name]) + "print('over')\n"
    command = [sys.executable, "-W", "ignore::ResourceWarning", "-c", program, seed]
    process = await asyncio.create_subprocess_exec(*command, env=here.environ, stdout=-1, stderr=-1)
    try:
        async with asyncio.timeout(LIMIT):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"{name}: stood still"
    is_fine = (out, err, process.returncode) == (b"over\n", b"", 0)
    return "" if is_fine else f"{name}: {process.returncode} {out!r} {err.decode()}"


@pytest.mark.timeout(600)  # each step has its own limit
@pytest.mark.parametrize(
    "names", scenarios([list(SCENARIOS)[:1], list(SCENARIOS)[1:]]), ids=("some", "others")
)
def test_a_program_that_ends_takes_its_node_along_and_others_hear_it(names: list[str]) -> None:
    def fate(m: Any) -> object:
        member = runtime(m).core.parts.neighbours.membership.by_name("robot")
        return member and member.state

    async def scenario() -> list[str]:
        said = []
        with place() as here:
            async with here.node("stays") as m, m.subscribe("here") as sub:
                for name in names:
                    said.append(await told(here, name, address_of(m)))
                    assert (await anext(sub)).content == b"x"
                    await eventually(lambda: fate(m) not in (NodeLife.ALIVE, NodeLife.SUSPECT))
                    if fate(m) is not NodeLife.LEFT:
                        said.append(f"{name}: no goodbye, but {fate(m)}")
        return said

    assert not [text for text in asyncio.run(scenario()) if text]


@pytest.mark.smoke
@pytest.mark.slow
def test_a_process_that_is_killed_leaves_its_name_to_the_next() -> None:
    async def scenario() -> None:
        with place() as here:
            async with here.node("stays") as m, m.subscribe("here"):
                program = BEGIN + "asyncio.run(opened()); os.kill(os.getpid(), signal.SIGKILL)"
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-c", program, address_of(m), env=here.environ
                )
                assert await process.wait() == -9
                async with here.node("robot", m) as after:
                    assert (await after.publish("k", b"x")).ok
                assert os.listdir(os.path.join(here.environ["MESH_STATE_DIR"], "nodes")) == ["stays.json"]

    asyncio.run(scenario())
