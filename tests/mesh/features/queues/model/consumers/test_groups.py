"""Message groups: whether a new message may go to another node, or must stay behind older ones."""

from __future__ import annotations

from mesh.features.queues.model.consumers.groups import MessageGroups
from tests.mesh.features.queues.model.making import WALL, numbers, queue, queued, taker

LINE, OTHER = ["to heron"], ["to egret"]


def groups(n: int = 1) -> MessageGroups:
    made = MessageGroups()
    made.add("joe", n)
    return made


def test_what_is_alone_goes_and_what_is_behind_it_goes_the_same_way() -> None:
    it = groups()
    assert it.follows("joe", 1, LINE)
    it.add("joe", 1)
    assert it.follows("joe", 1, LINE)


def test_what_was_put_together_is_not_behind_itself() -> None:
    it = groups(3)
    assert it.follows("joe", 3, LINE) and it.follows("joe", 2, LINE)


def test_behind_what_waits_nothing_goes() -> None:
    it = groups(2)
    assert not it.follows("joe", 1, LINE)
    assert not it.follows("joe", 1, None) and not it.follows("joe", 1, LINE)


def test_another_line_is_not_the_same_though_it_looks_so() -> None:
    it = groups()
    assert it.follows("joe", 1, LINE)
    it.add("joe", 1)
    assert not it.follows("joe", 1, [*LINE])  # the line has ended and begun again
    assert not it.follows("joe", 1, LINE)  # the message that stayed is ahead


def test_what_goes_in_no_line_leaves_the_rest_behind_it() -> None:
    it = groups()
    assert it.follows("joe", 1, LINE)
    it.add("joe", 1)
    assert not it.follows("joe", 1, None)
    assert not it.follows("joe", 1, LINE)


def test_what_is_out_late_or_on_its_way_is_nothing_that_waits() -> None:
    it = groups(4)
    it.out("joe", taker(), 1)
    it.add_published_late("joe", 1)
    it.add_moving("joe", 1)
    assert it.follows("joe", 1, LINE)
    it.add_moving("joe", -1)  # the message is back
    assert not it.follows("joe", 1, OTHER)


def test_of_a_group_that_is_gone_nothing_waits() -> None:
    assert MessageGroups().follows("joe", 0, None)


def test_a_queue_says_what_of_a_group_waits() -> None:
    """The state of the group is followed through a put, a delayed put, a delivery, a move and its return."""
    first, late, last = (queued(n, put=(5, delay, "joe")) for n, delay in ((1, 0), (2, 5000), (3, 0)))
    it = queue(first, late)
    assert it.backlog.groups.follows("joe", 1, None)
    it.moving.start_transfer(first, list(first.ready), b"heron", 1)
    it.add(last, 0.0, WALL)
    assert it.backlog.groups.follows("joe", 1, None)
    it.moving.came_back(first, it.moving.record_refused_transfer(first, b"heron", 1, is_sure=True))
    assert not it.backlog.groups.follows("joe", 1, None)
    it.consumers.add_consumer(taker())
    assert numbers(it) == [1, 3] and it.backlog.groups.follows("joe", 0, None)
    it.tick(6.0, WALL + 6 * 10**9)
    assert not it.backlog.groups.follows("joe", 0, None)
