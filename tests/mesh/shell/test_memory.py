"""Waiting messages in the store after a restart of the node."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.shell import memory
from mesh.shell.memory import uncollected
from mesh.store.sqlite import SQLiteStore
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from tools.benchmarks.growth.guest import Guest
from tools.benchmarks.growth.host import Host

TOPICS = ("room/temp", "room/door")
WANTED = {"all": ("pattern", "room/#"), "some": ("exact", TOPICS[0])}
ROOM = 1 << 40  # bytes that may wait


class Reader(Guest):
    """A client that records the numbers of the messages that it received."""

    numbers: list[int]

    def _take(self, items: c.Items, envelopes: list[Envelope]) -> None:
        super()._take(items, envelopes)
        for envelope in envelopes:
            self.numbers += envelope.number_list(range(envelope.count))


def came(host: Host, name: str, token: bytes) -> list[int]:
    reader = Reader(host, name, token)
    reader.numbers = []
    reader.subscribe(1, *WANTED[name], resumed=True)
    reader.drain()
    return reader.numbers


@pytest.mark.parametrize("many", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_all_that_wait_come_in_order_after_a_restart(tmp_path: Path, many: int) -> None:
    store = SQLiteStore(tmp_path / "store.sqlite")
    host = Host(store, backlog_bytes=ROOM, group=500)
    tokens = {}
    for name, query in WANTED.items():
        reader = Guest(host, name)
        reader.subscribe(1, *query)
        host.commit()
        reader.drain()
        tokens[name] = reader.token
        host.leave(reader.key)
    publisher = Guest(host, "publisher")
    for number in range(many):
        publisher.publish([TOPICS[number % 2]], persistent=True)
        publisher.read()
    host.commit()
    publisher.read()
    assert publisher.answered == many
    store.close()

    store = SQLiteStore(tmp_path / "store.sqlite")
    again = Host(store, boot=2, backlog_bytes=ROOM)
    assert again.core.parts.context.figures()["pending"] == many + many // 2
    assert came(again, "all", tokens["all"]) == list(range(1, many + 1))
    assert came(again, "some", tokens["some"]) == list(range(1, many + 1, 2))
    again.quiet(2.0)
    again.commit()
    assert list(store.load().envelopes) == []
    store.close()


@pytest.fixture
def thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Unfreeze the objects that the test session has frozen, as in a node's process."""
    monkeypatch.setattr(memory, "_FROZEN", memory._Frozen())
    gc.unfreeze()
    yield
    gc.enable()
    gc.freeze()


def test_while_a_node_takes_up_what_waits_nobody_looks_for_garbage(thawed: None) -> None:
    with uncollected():
        assert not gc.isenabled()
        kept = [[number] for number in range(10_000)]
    assert gc.isenabled()
    assert any(each is kept[0] for each in gc.get_objects(generation=2)), "it is old now"
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled(), "as the program wants it"


def test_what_the_program_has_frozen_stays_so() -> None:
    frozen = gc.get_freeze_count()
    with uncollected():
        pass
    assert gc.get_freeze_count() > frozen / 2 > 0, "some of it may have ended meanwhile"


def test_that_it_has_is_asked_no_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with uncollected():
        pass
    monkeypatch.setattr(gc, "get_freeze_count", lambda: pytest.fail("to count them takes long"))
    with uncollected():
        pass
