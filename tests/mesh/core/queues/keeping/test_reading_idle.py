"""A queue in which nothing is, and from which nobody takes, is not looked at."""

import pytest

from mesh.core.queues.keeping.reading import PartReading
from tests.mesh.core.queues.worker import Worker
from tests.simulation import SimNetwork

TIDIED = 5.0  # s in which a node tidies up several times


def test_only_queues_in_which_something_is_are_tidied(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    unpage = PartReading.unpage

    def seen(self: PartReading) -> bool:
        looked.append(self._name)
        return unpage(self)

    monkeypatch.setattr(PartReading, "unpage", seen)
    net = SimNetwork()
    a = net.node("a")
    a.start()
    boss = Worker(a, "boss")
    for n in range(20):
        boss.declare(f"idle/{n}")
    boss.declare("jobs")
    net.run(TIDIED)

    def tidied() -> set[str]:
        looked.clear()
        net.run(TIDIED)
        return set(looked)

    def figures() -> tuple[int | float, ...]:
        found = a.core.parts.queues.queues.figures()
        return tuple(found[name] for name in ("queues", "queue_messages", "queue_consumers", "queue_acked"))

    assert (tidied(), figures()) == (set(), (21, 0, 0, 0))
    boss.put("jobs", b"one")
    assert (tidied(), figures()) == ({"jobs"}, (21, 1, 0, 0))
    joe = Worker(a, "joe")
    joe.take("jobs", credit=1)
    net.until(lambda: joe.contents() == [b"one"])
    assert joe.settle(1, 1) == []
    assert (tidied(), figures()) == ({"jobs"}, (21, 0, 1, 1)), "somebody takes"
    joe.leave("jobs")
    net.run(2)
    assert (tidied(), figures()) == (set(), (21, 0, 0, 1))
