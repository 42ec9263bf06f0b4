"""The chain of examples/masters on real nodes with keys, which accept only signed routes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from mesh.config import load
from mesh.shell.starting import start
from tests.mesh.meshes import Mesh, alive, eventually, take
from tests.mesh.security.keyed import at, mesh_file, user

EXAMPLES = Path(__file__).parents[3] / "examples" / "masters"
DOMAIN, KEY = "RUGBY_NEWS", "news/today"


@asynccontextmanager
async def masters() -> AsyncIterator[Mesh]:
    """The nodes heron, frodo and bilbo, with keys."""
    async with AsyncExitStack() as stack:
        _, environ = stack.enter_context(user(mesh_file("test")))
        made = Mesh(environ, {})
        for name in ("heron", "frodo", "bilbo"):
            given = {
                "node.id": name,
                "node.cluster": "test",
                "node.bind": ["tcp://127.0.0.1:0"],
                "node.peers": [at(first) for first in made.nodes.values()][:1],
                "discovery.mdns": False,
            }
            made.nodes[name] = node = await start(load(EXAMPLES / f"{name}.toml", {}, given), environ)
            stack.push_async_callback(node.close)
        await eventually(lambda: all(alive(made, name) == 3 for name in made.nodes))
        yield made


def test_trial_A4_the_examples_work_with_keys() -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            made = await stack.enter_async_context(masters())
            joe = await stack.enter_async_context(made.connect("bilbo"))
            ann = await stack.enter_async_context(made.connect("heron", client="ann", session=1))
            published = await joe.publish(KEY, b"We win", domain=DOMAIN)
            assert (published.state, made.metric("heron", "forged")) == ("OK", 0)
            assert [m.content for m in await ann.get(KEY, domain=DOMAIN)] == [b"We win"]
            async with ann.inbox() as inbox:
                to = "/node/heron/client/ann/session/1"
                await joe.send(to, b"see you", force_queuing=True)
                assert [m.content for m in await take(inbox, 1)] == [b"see you"]
            async with joe.subscribe(KEY, domain=DOMAIN) as heard:
                await ann.publish(KEY, b"We win again", domain=DOMAIN)
                assert [m.content for m in await take(heard, 2)] == [b"We win", b"We win again"]
            assert await joe.erase(KEY, domain=DOMAIN) == [KEY]
            assert await ann.get(KEY, domain=DOMAIN) == []
            assert [made.metric(name, "unasked") for name in made.nodes] == [0, 0, 0]

    asyncio.run(main())
