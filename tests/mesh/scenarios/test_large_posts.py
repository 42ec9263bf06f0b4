"""A camera posts 30 pictures of 1 MB a second, and a subscriber receives them all."""

import asyncio

import pytest

import mesh
from tests.mesh.running import LIMIT, RunningNode, running

PICTURE = 1_000_000  # bytes of a picture
RATE, SECONDS = 30, 4


@pytest.mark.slow
@pytest.mark.parametrize("way", ["file", "tcp"])
def test_a_second_of_pictures_is_posted_without_a_wait(way: str) -> None:
    """All pictures of a second are posted at once, which is harder than one by one."""

    async def scenario(a: RunningNode) -> None:
        address = "a" if way == "file" else a.tcp
        async with (
            mesh.connect(address, environ=a.environ, timeout=LIMIT) as camera,
            mesh.connect(address, environ=a.environ, timeout=LIMIT) as screen,
            screen.subscribe("camera/1") as pictures,
        ):
            for second in range(SECONDS):
                for number in range(RATE):
                    camera.post("camera/1", bytes([second, number]) + bytes(PICTURE - 2))
                for number in range(RATE):
                    picture = await asyncio.wait_for(anext(pictures), LIMIT)
                    assert (picture.content[:2], len(picture.content)) == (bytes([second, number]), PICTURE)
                await camera.flush()

    with running("a") as a:
        asyncio.run(scenario(a))
