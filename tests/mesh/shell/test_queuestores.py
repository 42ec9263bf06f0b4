"""Queues with stores of their own, on real files: after a kill -9, with a missing store, and after a move."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mesh.config import load
from mesh.errors import MeshError
from mesh.features.queues.node.parts import QueueParts
from mesh.shell.node import NodeRuntime
from mesh.shell.preparing import rehearsed
from mesh.store.sqlite import SQLiteStore
from mesh.wire.envelope import decode
from tests.mesh.running import environment, state_directory
from tests.mesh.shell.queueing import declare, node, put, settle, waiting
from tests.waiting import LIMIT

HEAD = '[node]\nid = "heron"\n[discovery]\nmdns = false\n[snapshots]\nenabled = false\n'
ROOT = Path(__file__).parents[3]


class Place:
    """A state directory, a directory for the stores of queues, and a configuration."""

    def __init__(self, state: Path) -> None:
        self.state, self.disk, self.file = state, state / "disk", state / "mesh.toml"
        self.data = state / "data" / "heron"
        self.disk.mkdir()
        self.set()

    def store(self, name: str) -> str:
        return f"sqlite://{self.disk}/{name}.db"

    def set(self, head: str = HEAD, **queues: str) -> None:
        """Write a configuration in which these queues have these stores."""
        rows = [f'[[queues]]\nname = "{name}"\nstore = "{store}"\n' for name, store in queues.items()]
        self.file.write_text(head + "".join(rows))

    def run(self, scenario: Callable[[NodeRuntime], Awaitable[None]], **options: Any) -> None:
        async def told() -> None:
            async with node(self.file, self.state, **options) as it:
                await scenario(it)

        asyncio.run(told())

    def started(self, **options: Any) -> str:
        """Return the code with which the start refuses the configuration, or an empty string."""

        async def nothing(it: NodeRuntime) -> None:
            pass

        try:
            self.run(nothing, **options)
        except MeshError as error:
            self.why = str(error)
            return error.code
        return ""

    def checked(self) -> str:
        environ = environment(self.state)
        before = {path: path.lstat().st_mtime_ns for path in self.disk.iterdir()}
        try:
            rehearsed(load(self.file, environ, {}), environ)
        except MeshError as error:
            return error.code
        finally:
            assert {path: path.lstat().st_mtime_ns for path in self.disk.iterdir()} == before
        return ""

    def both(self) -> tuple[str, str]:
        return self.checked(), self.started()

    def lying(self, name: str) -> list[bytes]:
        """Return the contents in the store of that name. An empty name is the node's own store."""
        store = SQLiteStore(self.disk / f"{name}.db" if name else self.data / "store.sqlite")
        try:
            found = [decode(header, body) for _, header, body in store.load().envelopes]
        finally:
            store.close()
        return [content for e in found if e.to.startswith("queue/") for content in e.contents()]


@pytest.fixture
def place() -> Iterator[Place]:
    with state_directory() as state:
        yield Place(state)


async def fill(it: NodeRuntime, *names: str, count: int = 3) -> None:
    await declare(it, *names)
    for name in names:
        for number in range(1, count + 1):
            assert await put(it, name, number, f"{name} {number}".encode()) == "OK"


def contents(*names: str, count: int = 3) -> list[bytes]:
    return [f"{name} {number}".encode() for name in names for number in range(1, count + 1)]


def test_each_queue_lies_in_its_own_file_and_is_there_again(place: Place) -> None:
    async def first(it: NodeRuntime) -> None:
        await fill(it, "orders", "orders/eu", "others")

    async def second(it: NodeRuntime) -> None:
        for name in ("orders", "orders/eu", "others"):
            assert waiting(it, name) == contents(name)
        assert await put(it, "orders", 3, b"again") == "OK"
        assert waiting(it, "orders") == contents("orders"), "it was known"

    place.set(**{"orders/#": place.store("orders")})
    place.run(first)
    assert place.lying("orders") == contents("orders", "orders/eu") and place.lying("") == contents("others")
    assert oct(os.stat(place.disk / "orders.db").st_mode)[-3:] == "600"
    place.run(second)


@pytest.mark.slow
def test_over_a_kill_9_all_that_was_answered_is_there_once(place: Place) -> None:
    place.set(orders=place.store("orders"))
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.mesh.shell.queueing", place.file, place.state],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert program.stdout is not None
    lines = [program.stdout.readline().split() for _ in range(30)]
    program.kill()
    lines += [line.split() for line in program.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    program.wait()
    program.stdout.close()
    last = int(lines[-1][0])
    assert all(states == ["OK", "OK"] for _, *states in lines) and last >= 30

    async def after(it: NodeRuntime) -> None:
        for name in ("orders", "others"):
            found = [int(content) for content in waiting(it, name)]
            assert found[:last] == list(range(1, last + 1)) and len(found) <= last + 1
            assert await put(it, name, last) == "OK"
            assert len(waiting(it, name)) == len(found)

    place.run(after)


def test_a_store_that_is_missing_is_an_error_that_says_so_and_can_be_accepted(place: Place) -> None:
    async def first(it: NodeRuntime) -> None:
        await fill(it, "orders", "others")

    async def rest(it: NodeRuntime) -> None:
        assert (waiting(it, "orders"), waiting(it, "others")) == ([], contents("others"))
        assert await put(it, "orders", 7) == "OK"

    place.set(orders=place.store("orders"))
    place.run(first)
    for path in place.disk.iterdir():
        path.unlink()
    assert place.both() == ("STORE_ROLLED_BACK", "STORE_ROLLED_BACK")
    assert f"{place.disk}/orders.db, a store of this node's queues at the last start" in place.why
    place.run(rest, accept_rollback=True)
    assert place.both() == ("", "")


def test_the_nodes_own_store_that_is_missing_is_an_error_too(place: Place) -> None:
    async def first(it: NodeRuntime) -> None:
        await fill(it, "orders", "others")

    place.set(orders=place.store("orders"))
    place.run(first)
    for path in place.data.glob("store.sqlite*"):
        path.unlink()
    assert place.started() == "STORE_ROLLED_BACK"
    assert place.lying("orders") == contents("orders")


def test_an_old_copy_of_a_queues_store_is_refused(place: Place) -> None:
    async def more(it: NodeRuntime) -> None:
        await declare(it, "orders")
        assert await put(it, "orders", it.held.data.boot) == "OK"

    place.set(orders=place.store("orders"))
    place.run(more)
    copy = (place.disk / "orders.db").read_bytes()
    place.run(more)
    (place.disk / "orders.db").write_bytes(copy)
    assert place.started() == "STORE_ROLLED_BACK" and "orders.db went backwards" in place.why


def test_what_waits_goes_along_when_its_queue_has_another_store(place: Place) -> None:
    async def first(it: NodeRuntime) -> None:
        await fill(it, "orders", "bills", "others")

    def still_there(number: int) -> Callable[[NodeRuntime], Awaitable[None]]:
        async def scenario(it: NodeRuntime) -> None:
            for name in ("orders", "bills", "others"):
                assert waiting(it, name) == contents(name, count=number - 1)
                assert await put(it, name, number - 1, b"again") == "OK"
                assert await put(it, name, number, f"{name} {number}".encode()) == "OK"
            assert it.core.parts[QueueParts].queues.get("orders").part.backlog.messages == number

        return scenario

    place.run(first)  # all in the node's own store
    place.set(orders=place.store("one"), bills=place.store("one"))
    place.run(still_there(4))
    assert sorted(place.lying("one")) == sorted(contents("orders", "bills", count=4))
    assert place.lying("") == contents("others", count=4)
    place.set(orders=place.store("two"), bills=place.store("one"))
    place.run(still_there(5))
    assert place.lying("two") == contents("orders", count=5)
    assert place.lying("one") == contents("bills", count=5)
    place.set()
    place.run(still_there(6))
    assert place.lying("one") == place.lying("two") == []
    assert sorted(place.lying("")) == sorted(contents("orders", "bills", "others", count=6))
    for name in ("one.db", "two.db"):
        with closing(sqlite3.connect(place.disk / name)) as db, db:
            (rows,) = db.execute("SELECT count(*) FROM side").fetchone()
        assert rows == 0
    for path in place.disk.iterdir():
        path.unlink()
    assert place.both() == ("", ""), "nobody needs them any more"


def test_a_store_that_is_configured_no_more_must_be_there_if_anything_may_lie_in_it(place: Place) -> None:
    async def first(it: NodeRuntime) -> None:
        await fill(it, "orders")

    async def rest(it: NodeRuntime) -> None:
        assert waiting(it, "orders") == []

    place.set(orders=place.store("orders"))
    place.run(first)
    place.set()
    away = place.state / "away"
    (place.disk / "orders.db").rename(away)
    assert place.both() == ("STORE_ROLLED_BACK", "STORE_ROLLED_BACK")
    assert "It had queues at the last start" in place.why and "stores.json" in place.why
    away.rename(place.disk / "orders.db")
    assert place.both() == ("", "")
    assert place.lying("") == contents("orders")


def test_what_lasts_does_not_go_into_memory(place: Place) -> None:
    async def first(it: NodeRuntime) -> None:
        await fill(it, "orders", "bills")

    async def empty(it: NodeRuntime) -> None:
        assert settle(it, "orders") == 3

    async def forgets(it: NodeRuntime) -> None:
        assert waiting(it, "orders") == []
        assert await put(it, "orders", 9) == "OK"
        assert waiting(it, "orders") == [b"9"] and waiting(it, "bills") == contents("bills")

    place.run(first)
    place.set(orders="memory")
    assert place.started() == "STORE_MISPLACED" and "'orders'" in place.why
    place.set()
    place.run(empty)
    place.set(orders="memory")
    place.run(forgets)
    place.run(forgets)
    assert place.lying("") == contents("bills")


def test_a_move_that_a_crash_cuts_short_at_any_commit_loses_nothing_and_doubles_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def first(it: NodeRuntime) -> None:
        await fill(it, "orders", "others", count=3)

    async def rest(it: NodeRuntime) -> None:
        assert await put(it, "orders", 3, b"again") == "OK", "it is known still"
        assert waiting(it, "orders") == contents("orders")
        assert waiting(it, "others") == contents("others")

    monkeypatch.setattr("mesh.store.moving.MOST", 2)
    place.run(first)
    commit, left = SQLiteStore.commit, [0]

    def dying(store: SQLiteStore, ops: Any) -> None:
        if not left[0]:
            raise MeshError("killed", code="KILLED")
        left[0] -= 1
        commit(store, ops)

    for step in range(100):
        codes = []
        for stores in ({"orders": place.store("one")}, {}):  # there, and back
            place.set(**stores)
            with monkeypatch.context() as patched:
                patched.setattr(SQLiteStore, "commit", dying)
                left[0] = step
                codes.append(place.started())
            place.run(rest)
        if codes == ["", ""]:
            break
        assert set(codes) <= {"KILLED", ""}
    assert 5 < step < 99, "so many commits there are"


def test_a_store_in_a_directory_that_is_not_there_is_refused_by_the_check_and_by_the_start(
    place: Place,
) -> None:
    place.set(orders="sqlite:///nowhere/at/all.db")
    assert place.both() == ("BAD_CONFIG", "BAD_CONFIG") and "mkdir -p /nowhere/at" in place.why


def test_two_stores_are_never_one_file(place: Place) -> None:
    (place.disk / "link.db").symlink_to(place.disk / "one.db")
    own = f"sqlite://{place.data}/store.sqlite"
    for queues in (
        {"orders": place.store("one"), "bills": place.store("link")},
        {"orders": place.store("one"), "bills": place.store("./one")},
        {"orders": place.store("one"), "bills": f"sqlite://{place.disk}/one.db.witness"},
        {"orders": own},
    ):
        place.set(**queues)
        assert place.both() == ("BAD_CONFIG", "BAD_CONFIG")
        assert " would use " in place.why


def test_a_file_of_another_node_is_in_use(place: Place) -> None:
    async def first(it: NodeRuntime) -> None:
        await fill(it, "orders")
        with state_directory() as state:
            other = Place(state)
            other.set(orders=place.store("orders"))
            assert await asyncio.to_thread(other.both) == ("STORE_IN_USE", "STORE_IN_USE")

    place.set(orders=place.store("orders"))
    place.run(first)
    with state_directory() as state:
        other = Place(state)
        other.set(orders=place.store("orders"))
        assert other.both() == ("STORE_IN_USE", "STORE_IN_USE"), "though that does not run"
    (place.disk / "some.db").write_text("somebody's own text")
    place.set(orders=place.store("orders"), bills=place.store("some"))
    assert place.both() == ("STORE_IN_USE", "STORE_IN_USE")
    assert (place.disk / "some.db").read_text() == "somebody's own text"


def test_what_lasts_needs_a_node_that_does(place: Place) -> None:
    place.set(HEAD.replace('id = "heron"', 'id = "heron"\nstore = "memory"'), orders=place.store("orders"))
    assert place.both() == ("BAD_CONFIG", "BAD_CONFIG") and "node.store is memory" in place.why
    place.set(HEAD.replace('id = "heron"', 'id = "heron"\nstore = "memory"'), orders="memory")
    assert place.both() == ("", "")


def test_what_the_last_start_wrote_down_and_nobody_can_read_is_an_error(place: Place) -> None:
    place.set(orders=place.store("orders"))
    assert place.started() == ""
    told = place.data / "stores.json"
    assert json.loads(told.read_text())["settled"] is True
    for text in ("", "{}", "[1]", '{"queues": [["a"]], "settled": true}'):
        told.write_text(text)
        assert place.both() == ("DATA_DIR", "DATA_DIR") and "is damaged" in place.why


def test_a_store_at_its_end_ends_the_node(place: Place) -> None:
    async def scenario(it: NodeRuntime) -> None:
        await fill(it, "orders", "others")
        store: Any = it.held.queue_stores[place.store("orders")]
        store._store._store._db.close()
        putting = asyncio.create_task(put(it, "orders", 9))
        await asyncio.wait_for(it.driver.stopping.wait(), LIMIT)
        assert not putting.done(), "nobody says that it is done"
        putting.cancel()
        assert it.driver.why is not None and it.driver.why.code == "STORE"
        it.driver.why = None

    place.set(orders=place.store("orders"))
    place.run(scenario)
    assert place.lying("") == contents("others")


def test_another_way_to_the_same_file_is_the_same_store(place: Place) -> None:
    async def first(it: NodeRuntime) -> None:
        await fill(it, "orders")

    async def second(it: NodeRuntime) -> None:
        assert waiting(it, "orders") == contents("orders")

    place.set(orders=place.store("orders"))
    place.run(first)
    (place.state / "link").symlink_to(place.disk)
    place.set(orders=place.store("orders").replace(str(place.disk), str(place.state / "link")))
    assert place.both() == ("", "")
    place.run(second)
    assert place.lying("orders") == contents("orders")
