"""Results of the store threads, as the core receives them, without a node."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mesh.errors import StoreError, StoreFull
from mesh.operations import Stored
from mesh.shell.driver import Driver
from mesh.shell.poison import Poison
from mesh.shell.world import World
from mesh.store.lease import FENCED, LEASE_LOST


def told(error: StoreError | None, place: Path, *later: StoreError) -> tuple[list[int], str]:
    """Return the commits whose end the core receives, and the code with which the node stops."""
    heard: list[int] = []

    async def scenario() -> Driver:
        core: Any = SimpleNamespace(
            stored=lambda token, *_, **__: heard.append(token), take_effects=lambda: [], alarm=1e9
        )
        nothing = cast(World, SimpleNamespace(carry_out=None))
        driver = Driver(asyncio.get_running_loop(), Poison(place), lambda driver: nothing, lambda world: core)
        driver.stores._stored([1, 2, "no commit of the core"], error)
        assert driver.stores._commit_ended.is_set()
        for each in later:
            driver.stores._stored([3], each)
        return driver

    why = asyncio.run(scenario()).why
    return heard, why.code if why else ""


def test_the_first_failure_is_reported_and_not_those_of_later_commits(tmp_path: Path) -> None:
    first, later = StoreError("it is damaged", code="DATA_LOSS"), StoreError("it has stopped")
    assert told(first, tmp_path, later) == ([], "DATA_LOSS")


@pytest.mark.parametrize("error", [None, StoreFull("no room")])
def test_of_a_commit_whose_end_is_known_the_core_hears(error: StoreError | None, tmp_path: Path) -> None:
    assert told(error, tmp_path) == ([1, 2], "")


@pytest.mark.parametrize("code", [FENCED, LEASE_LOST, "STORE", "DATA_LOSS", "STORE_ROLLED_BACK"])
def test_trial_B7_of_one_that_may_be_written_nobody_hears_and_the_node_stops(
    code: str, tmp_path: Path
) -> None:
    assert told(StoreError("it may be written", code=code), tmp_path) == ([], code)


def told_of_reading(found: list[Stored] | StoreError, place: Path) -> tuple[list[Any], str]:
    """Return the values that the core receives after a read, and the code with which the node stops."""
    heard: list[Any] = []

    async def scenario() -> Driver:
        core: Any = SimpleNamespace(
            fetched=lambda token, found, *_, **__: heard.append((token, found)),
            take_effects=lambda: [],
            alarm=1e9,
        )
        nothing = cast(World, SimpleNamespace(carry_out=None))
        driver = Driver(asyncio.get_running_loop(), Poison(place), lambda driver: nothing, lambda world: core)
        driver.stores._read(7, found)
        assert driver.stores._has_failed is isinstance(found, StoreError)
        return driver

    why = asyncio.run(scenario()).why
    return heard, why.code if why else ""


def test_what_was_read_is_told(tmp_path: Path) -> None:
    assert told_of_reading([(1, b"h", b"b")], tmp_path) == ([(7, [(1, b"h", b"b")])], "")


def test_what_cannot_be_read_is_told_and_the_node_stops(tmp_path: Path) -> None:
    error = StoreError("damaged", code="DATA_LOSS")
    assert told_of_reading(error, tmp_path) == ([(7, error)], "DATA_LOSS")
