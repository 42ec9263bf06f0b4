"""Does whoever looks on at a part hear all that happens in it, in order?"""

from collections.abc import Callable
from math import inf

from mesh.queues.declared.definition import QueueTerms
from mesh.queues.part.local_queue import LocalQueue
from mesh.routing.memory import Memory
from tests.mesh.queues.making import WALL, lot


class Ear:
    """Somebody who hears everything, and keeps the names of what he has heard."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: self.heard.append(name)

    def take(self) -> list[str]:
        heard, self.heard = self.heard, []
        return heard


def watched(memory: float = inf) -> tuple[LocalQueue, Ear]:
    it, ear = LocalQueue("jobs", QueueTerms(), Memory(memory)), Ear()
    it.watch = ear
    return it, ear


def test_what_comes_moves_and_is_thrown_away_is_heard() -> None:
    it, ear = watched()
    a = lot(1, 6)
    it.add(a, 0.0, WALL)
    assert ear.take() == ["adds", "keeps"]
    for number, run in enumerate([(1, 1), (2, 2), (3, 3)]):
        it.start_transfer(a, [run], b"heron", number)
    it.finish_moved(a, b"heron", 0)
    it.came_back(a, it.record_refused_transfer(a, b"heron", 1, is_sure=True))
    it.gave_up(a, it.record_refused_transfer(a, b"heron", 2, is_sure=True))
    assert ear.take() == ["goes"] * 3 + [
        "went",
        "transfer_refused",
        "came_back",
        "transfer_refused",
        "gave_up",
    ]
    assert (it.purge(), ear.take()) == (4, ["purges", "purged"])


def test_what_waits_on_the_disk_alone_is_heard_when_it_goes_there_and_comes_back() -> None:
    it, ear = watched(memory=0)
    a, b, c = lot(1), lot(2), lot(3)
    it.page(a)
    it.page_plain(b.parcel)
    it.page(c)
    assert ear.take() == ["pages", "pages_plain", "pages"]
    assert it.pick(lot(3), 0.0, WALL) and ear.take() == ["keeps"]
    it.put_back(next(iter(it.picked)))
    assert ear.take() == ["puts_back"]
    assert it.to_load() is not None
    it.purge()
    ear.take()
    it.loaded(a.priority, [lot(1)], 0.0, WALL)
    assert ear.take() == ["keeps", "voids"]
