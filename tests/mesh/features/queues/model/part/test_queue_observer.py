"""The observer of a local queue, which is notified of all changes in order."""

from collections.abc import Callable
from math import inf

from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.routing.memory import Memory
from tests.mesh.features.queues.model.making import WALL, queued


class Ear:
    """An observer that records the names of its notifications."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: self.heard.append(name)

    def take(self) -> list[str]:
        heard, self.heard = self.heard, []
        return heard


def watched(memory: float = inf) -> tuple[LocalQueue, Ear]:
    it, ear = LocalQueue("jobs", QueueTerms(), Memory(memory)), Ear()
    it.backlog.watch = ear
    return it, ear


def test_what_comes_moves_and_is_thrown_away_is_heard() -> None:
    it, ear = watched()
    a = queued(1, 6)
    it.add(a, 0.0, WALL)
    assert ear.take() == ["adds", "keeps"]
    for number, run in enumerate([(1, 1), (2, 2), (3, 3)]):
        it.moving.start_transfer(a, [run], b"heron", number)
    it.moving.finish_moved(a, b"heron", 0)
    it.moving.came_back(a, it.moving.record_refused_transfer(a, b"heron", 1, is_sure=True))
    it.moving.gave_up(a, it.moving.record_refused_transfer(a, b"heron", 2, is_sure=True))
    refused = ["transfer_refused", "came_back", "transfer_refused", "gave_up"]
    assert ear.take() == ["goes"] * 3 + ["went", *refused]
    assert (it.backlog.purge(), ear.take()) == (4, ["purges", "purged"])


def test_what_waits_on_the_disk_alone_is_heard_when_it_goes_there_and_comes_back() -> None:
    it, ear = watched(memory=0)
    a, b, c = queued(1), queued(2), queued(3)
    it.backlog.page(a)
    it.backlog.page_plain(b.stored)
    it.backlog.page(c)
    assert ear.take() == ["pages", "pages_plain", "pages"]
    assert it.backlog.keep_ahead(queued(3), 0.0, WALL) and ear.take() == ["keeps"]
    it.backlog.evict_picked(next(iter(it.backlog.picked)))
    assert ear.take() == ["puts_back"]
    assert it.order.to_load() is not None
    it.backlog.purge()
    ear.take()
    it.backlog.loaded(a.priority, [queued(1)], 0.0, WALL)
    assert ear.take() == ["keeps", "voids"]
