"""Which ready message is next, in memory and on disk."""

from tests.mesh.queues.making import lot, numbers, queue, taker

S = 10**9


def test_a_lot_that_came_late_stands_where_its_stamp_says() -> None:
    it, joe = queue(lot(3, position=3), lot(9, position=9), lot(5, position=5)), taker()
    it.consumers.open(joe)
    assert numbers(it) == [3, 5, 9]


def test_of_higher_priority_comes_first() -> None:
    it, joe = queue(lot(1), lot(2, put=(9, 0, "")), lot(3, put=(0, 0, "")), lot(4, put=(9, 0, ""))), taker()
    it.consumers.open(joe)
    assert numbers(it) == [2, 4, 1, 3]
