"""When the driver of a node carries out effects, without a node."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from mesh.shell.driver import Driver
from mesh.shell.poison import Poison
from mesh.shell.world import World


def test_who_watches_and_has_gone_meanwhile_is_told_nothing_and_harms_nobody(tmp_path: Path) -> None:
    asked: list[int] = []

    async def scenario() -> None:
        core: Any = SimpleNamespace(
            answer_process=lambda *_: asked.append(1), take_effects=lambda: [], alarm=1e9
        )
        nothing = cast(World, SimpleNamespace(carry_out=None))
        driver = Driver(
            asyncio.get_running_loop(), Poison(tmp_path), lambda driver: nothing, lambda world: core
        )
        gone: Future[Any] = Future()
        assert gone.cancel()
        driver._fill_state(gone)

    asyncio.run(scenario())
    assert asked == []


def turns(happens: Callable[[Driver], None], place: Path) -> list[int]:
    """Return how often effects were taken right after `happens`, and one turn of the loop later."""
    counts: list[int] = []
    taken: list[None] = []

    def take_effects() -> list[Any]:
        taken.append(None)
        return []

    async def scenario() -> None:
        core: Any = SimpleNamespace(
            receive=lambda *_: None, stored=lambda *_, **__: None, take_effects=take_effects, alarm=1e9
        )
        nothing = cast(World, SimpleNamespace(carry_out=None))
        driver = Driver(asyncio.get_running_loop(), Poison(place), lambda driver: nothing, lambda world: core)
        happens(driver)
        counts.append(len(taken))
        await asyncio.sleep(0)
        counts.append(len(taken))

    asyncio.run(scenario())
    return counts


def test_a_lone_message_is_answered_at_once_and_many_together(tmp_path: Path) -> None:
    def hears(sockets: int, each: int) -> Callable[[Driver], None]:
        def happens(driver: Driver) -> None:
            for _ in range(sockets):
                for _ in range(each):
                    driver.received("conn", [b"x"])
                driver.heard_all()

        return happens

    assert turns(hears(1, 1), tmp_path) == [1, 1]
    assert turns(hears(1, 2), tmp_path) == [0, 1]
    assert turns(hears(3, 5), tmp_path) == [0, 1]


def test_who_waited_for_the_disk_waits_no_turn_more(tmp_path: Path) -> None:
    assert turns(lambda driver: driver.stores._stored([1], None), tmp_path) == [1, 1]
