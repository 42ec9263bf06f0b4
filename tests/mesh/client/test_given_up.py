"""A client that is given up while it connects leaves nothing at the node."""

import asyncio
import socket

from mesh import Client
from tests.mesh.meshes import LIMIT, eventually, mesh_of

AT_ONCE = 3.0  # s: far below those for which a node keeps a session whose connection broke


async def given_up(opening: asyncio.Future[Client]) -> None:
    opening.cancel()
    await asyncio.wait([opening])
    if not opening.cancelled():
        await opening.result().close()


def test_trial_2_connects_that_are_cancelled_leave_no_session() -> None:
    async def story() -> None:
        async with mesh_of("a") as made:
            sessions = made.nodes["a"].core.parts.clients.sessions
            for turns in range(60):  # each is cancelled at another point of the handshake
                opening = asyncio.ensure_future(made.connect("a").__aenter__())
                for _ in range(turns):
                    await asyncio.sleep(0)
                await given_up(opening)
            opening = asyncio.ensure_future(made.connect("a").__aenter__())
            while not sessions:  # the last one when the node has a session for it
                await asyncio.sleep(0)
            await given_up(opening)
            async with asyncio.timeout(AT_ONCE):
                await eventually(lambda: not sessions)

    asyncio.run(asyncio.wait_for(story(), LIMIT))


def test_trial_2_a_node_that_was_not_yet_reached_is_not_waited_for() -> None:
    async def story() -> None:
        async with mesh_of("a") as made:
            with socket.create_server(("127.0.0.1", 0)) as silent:
                address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
                opening = asyncio.ensure_future(made.connect(address).__aenter__())
                await asyncio.sleep(0)
                async with asyncio.timeout(AT_ONCE):
                    opening.cancel()
                    await asyncio.wait([opening])
                assert opening.cancelled()

    asyncio.run(asyncio.wait_for(story(), LIMIT))
