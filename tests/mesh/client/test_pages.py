"""Lists that come in pages are read whole, from nodes in the test's own event loop."""

import asyncio
from functools import partial

import pytest

from mesh import sync
from mesh.kernel import status
from mesh.kernel.context.pages import page
from tests.mesh.meshes import Mesh, in_memory, mesh_of


@pytest.fixture(autouse=True)
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages so short that a short list needs several."""
    monkeypatch.setattr(status, "page", partial(page, size=400))


def test_trial_A6_a_client_asks_on_until_it_has_the_whole_list() -> None:
    wanted = [f"tcp://127.0.0.1:{n}" for n in range(1, 21)]

    async def main() -> None:
        async with in_memory("a") as made, made.connect("a") as m:
            for address in wanted:
                await m.call("peer", add=address)
            found = await m.call("peers")
            assert sorted(row["address"] for row in found["peers"]) == sorted(wanted)
            assert "next" not in found
            first = await m.call("peers", limit=2)
            assert len(first["peers"]) == 2 and first["next"]
            assert len((await m.call("peers", after=first["next"]))["peers"]) < 18

    asyncio.run(main())


def test_trial_A6_so_does_one_without_a_loop() -> None:
    def names(made: Mesh) -> list[str]:
        with sync.connect("a", environ=made.environ) as m:
            return [row["name"] for row in m.call("ls")["nodes"]]

    async def main() -> None:
        async with mesh_of("a", "c", "b") as made:
            assert await asyncio.to_thread(names, made) == ["a", "b", "c"]

    asyncio.run(main())
