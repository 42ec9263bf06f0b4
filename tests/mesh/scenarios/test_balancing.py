"""The share of three masters, real nodes, each on a machine as busy as its file says."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import mesh
from mesh.client.client import Client
from tests.mesh.meshes import eventually
from tests.mesh.running import LIMIT, RunningNode, running

MASTERS, READER = ("a", "b", "c"), "reader"
DOMAIN, KEY = "NEWS", "news/today"
FILE = "[nodes.reader]\n" + "".join(
    f'[nodes.{name}]\n[[nodes.{name}.master]]\ndomains = ["{DOMAIN}"]\n' for name in MASTERS
)
GETS, AT_ONCE = 600, 40
IDLE, BUSY = 0, 100  # % used of each core
ROOM, NONE = 0.25, 0.9  # a load up to the first is as good as idle; from the second on it is busy


class Company:
    """Three masters of one domain, and a node that requests values from them."""

    def __init__(self, place: Path, strategy: str) -> None:
        self._place = place
        self._nodes: dict[str, RunningNode] = {}
        self._path = place / "mesh.toml"
        self._path.write_text(f'[balancing]\nstrategy = "{strategy}"\n{FILE}')

    def is_used(self, name: str, percent: int) -> None:
        """Set the processor use of a node's machine, which the node reports with its next state."""
        figures = {"cpu": [percent, percent], "ram_free": 4_000_000_000, "ram_total": 8_000_000_000}
        new = self._place / f"{name}.new"
        new.write_text(json.dumps(figures))
        new.replace(self._probe(name))

    def start(self, name: str, stack: ExitStack) -> None:
        options = ("--config", str(self._path), "--probe", str(self._probe(name)))
        beside = self._nodes.get(MASTERS[0])
        self._nodes[name] = stack.enter_context(running(name, beside=beside, options=options))

    def node(self, name: str) -> RunningNode:
        return self._nodes[name]

    def connect(self, name: str) -> Client:
        return mesh.connect(name, environ=self._nodes[name].environ, timeout=LIMIT)

    def _probe(self, name: str) -> Path:
        return self._place / f"{name}.json"


@contextmanager
def company(place: Path, strategy: str, **used: int) -> Iterator[Company]:
    """Run all nodes. The masters' machines are idle, except those in `used` (in %)."""
    made = Company(place, strategy)
    with ExitStack() as stack:
        for name in (*MASTERS, READER):
            made.is_used(name, used.get(name, IDLE))
            made.start(name, stack)
        yield made


async def rows(reader: Client) -> dict[str, dict[str, Any]]:
    """Return the rows of `mesh ls` about masters that are alive for the reader's node."""
    nodes = (await reader.call("ls"))["nodes"]
    return {row["name"]: row for row in nodes if row["name"] in MASTERS and row["state"] == "alive"}


async def knows(reader: Client, fits: Callable[[dict[str, dict[str, Any]]], bool]) -> None:
    """Wait until the reader's node knows all masters, with rows that fit."""

    async def is_so() -> bool:
        known = await rows(reader)
        return len(known) == len(MASTERS) and fits(known)

    await eventually(is_so)


async def hears(reader: Client, *busy: str) -> None:
    """Wait until the node knows that these masters are busy, and that the others are not."""

    def is_so(known: dict[str, dict[str, Any]]) -> bool:
        loads = {name: row["load"] for name, row in known.items()}
        if None in loads.values():
            return False
        return all(load >= NONE if name in busy else load <= ROOM for name, load in loads.items())

    await knows(reader, is_so)


async def publish(reader: Client) -> None:
    """Publish the value once all masters are known, so that each of them has it."""
    await knows(reader, lambda known: True)
    assert (await reader.publish(KEY, b"We win", domain=DOMAIN)).ok


async def shares(reader: Client, gets: int = GETS) -> dict[str, float]:
    """Return the share of the gets that each master answers, in %."""
    answered: Counter[str] = Counter()

    async def ask() -> None:
        for _ in range(gets // AT_ONCE):
            [message] = await reader.get(KEY, domain=DOMAIN, fresh=True)
            answered[message.source] += 1

    await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
    assert answered.total() == gets and set(answered) <= set(MASTERS)
    return {name: 100 * answered[name] / gets for name in MASTERS}


async def comes_to(reader: Client, fits: Callable[[dict[str, float]], bool]) -> None:
    """Wait until the shares of a round fit.

    In the first round after b was relieved, b makes up for the requests that it did not get. Late states, on
    a busy machine, say nothing about the present: all masters are then asked alike for a while.
    """

    async def is_so() -> bool:
        return fits(await shares(reader))

    await eventually(is_so)


@pytest.mark.smoke
def test_round_robin_asks_each_master_a_third_of_the_times_however_busy_it_is(tmp_path: Path) -> None:
    async def scenario(c: Company) -> None:
        async with c.connect(READER) as reader:
            await publish(reader)
            await hears(reader, "b")
            for share in (await shares(reader)).values():
                assert 32.3 < share < 34.4

    with company(tmp_path, "RoundRobin", b=BUSY) as c:
        asyncio.run(scenario(c))


@pytest.mark.smoke
def test_the_least_loaded_are_asked_and_one_that_was_busy_comes_back_when_it_is_relieved(
    tmp_path: Path,
) -> None:
    async def scenario(c: Company) -> None:
        async with c.connect(READER) as reader:
            await publish(reader)
            await hears(reader, "b")
            await comes_to(reader, lambda found: 0 < found["b"] < 15)

            c.is_used("b", IDLE)
            await hears(reader)
            await comes_to(reader, lambda found: found["b"] > 25)

            c.is_used("b", BUSY)
            await hears(reader, "b")
            await comes_to(reader, lambda found: found["b"] < 15)

    with company(tmp_path, "LeastLoaded", b=BUSY) as c:
        asyncio.run(scenario(c))


def test_of_two_choices_the_busy_one_is_taken_the_least_and_still_sometimes(tmp_path: Path) -> None:
    def is_not_nearer(known: dict[str, dict[str, Any]]) -> bool:
        # The round trip counts as well: a quarter of the time outweighs any load.
        return bool(0 < max(row["rtt"] for row in known.values()) < 2 * known["b"]["rtt"])

    async def scenario(c: Company) -> None:
        async with c.connect(READER) as reader:
            await publish(reader)
            await hears(reader, "b")
            await knows(reader, is_not_nearer)
            await comes_to(reader, lambda found: 0 < 1.2 * found["b"] < min(found["a"], found["c"]))

    with company(tmp_path, "TwoChoices", b=BUSY) as c:
        asyncio.run(scenario(c))
