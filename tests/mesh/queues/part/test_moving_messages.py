"""Messages that move to other nodes are accepted or refused there."""

from tests.mesh.queues.making import WALL, lot, numbers, queue, taker

S = 10**9


def test_a_row_says_what_is_on_its_way_elsewhere() -> None:
    a = lot(1, 6)
    it = queue(a)
    it.moving.start_transfer(a, [(2, 3), (5, 5)], b"heron", 7)
    it.moving.start_transfer(a, [(6, 6)], b"egret", 7)
    a.moves = 2
    b = lot(1, 6)
    b.restore(a.row())
    again = queue()
    again.add(b, 0.0, WALL)
    assert (again.backlog.messages, again.ready, again.moving.messages, b.moves) == (6, 2, 4, 2)
    again.consumers.open(taker(credit=10))
    assert numbers(again) == [1, 4]
    again.moving.finish_moved(b, b"heron", 7)
    back = again.moving.record_refused_transfer(b, b"egret", 7, is_sure=False)
    assert (again.moving.messages, numbers(again)) == (1, []), "until that is on disk"
    again.moving.came_back(b, back)
    assert (again.backlog.messages, again.moving.messages, numbers(again), b.column([(6, 6)])) == (
        3,
        0,
        [6],
        b"\x01",
    )
    again.moving.finish_moved(b, b"heron", 7)  # once more
    assert again.backlog.messages == 3
