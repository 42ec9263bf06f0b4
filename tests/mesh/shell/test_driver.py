"""Who is answered when a commit has ended? Without a node."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mesh.errors import StoreError, StoreFull
from mesh.shell.driver import Driver
from mesh.shell.poison import Poison
from mesh.shell.world import World
from mesh.store.lease import FENCED, LEASE_LOST


def told(error: StoreError | None, place: Path) -> tuple[list[int], str]:
    """The commits whose end the core hears of, and the code with which the node stops."""
    heard: list[int] = []

    async def story() -> Driver:
        core: Any = SimpleNamespace(
            stored=lambda token, *_: heard.append(token), take_effects=lambda: [], alarm=1e9
        )
        nothing = cast(World, SimpleNamespace(carry_out=None))
        driver = Driver(asyncio.get_running_loop(), Poison(place), lambda driver: nothing, lambda world: core)
        driver._stored([1, 2, "no commit of the core"], error)
        assert driver._commit_ended.is_set()
        return driver

    why = asyncio.run(story()).why
    return heard, why.code if why else ""


@pytest.mark.parametrize("error", [None, StoreFull("no room")])
def test_of_a_commit_whose_end_is_known_the_core_hears(error: StoreError | None, tmp_path: Path) -> None:
    assert told(error, tmp_path) == ([1, 2], "")


@pytest.mark.parametrize("code", [FENCED, LEASE_LOST, "STORE", "DATA_LOSS", "STORE_ROLLED_BACK"])
def test_trial_B7_of_one_that_may_be_written_nobody_hears_and_the_node_stops(
    code: str, tmp_path: Path
) -> None:
    assert told(StoreError("it may be written", code=code), tmp_path) == ([], code)
