"""Many short connections over TCP are all admitted, though descriptors are reused all the time."""

import asyncio

import pytest

import mesh
from tests.mesh.meshes import mesh_of

AT_ONCE, EACH = 3, 60

pytestmark = pytest.mark.slow


def test_of_many_short_connections_over_tcp_none_is_refused() -> None:
    async def scenario() -> None:
        async with mesh_of("a") as m:
            address = m.nodes["a"].described()["tcp"][0]

            async def come_and_go() -> None:
                for _ in range(EACH):
                    async with mesh.connect(address, environ=m.environ) as client:
                        await client.info()

            await asyncio.gather(*[come_and_go() for _ in range(AT_ONCE)])
            assert m.metric("a", "hello_refused") == 0

    asyncio.run(scenario())
