"""Exclusive consumers, selectors and message groups of one part of a queue."""

from tests.mesh.features.queues.model.making import WALL, given, numbers, queue, queued, taker


def test_a_selector_takes_what_it_wants_and_leaves_the_rest_in_order() -> None:
    it, joe, ann = (
        queue(queued(1, 6, kinds="abcabc")),
        taker("joe", selector="kind == 'b'"),
        taker("ann", credit=2),
    )
    it.consumers.add_consumer(joe)
    assert numbers(it) == [2, 5]
    it.consumers.add_consumer(ann)
    assert numbers(it) == [1, 3]
    it.deliveries.ack(ann, 1, 2)
    assert numbers(it) == [4, 6]


def test_a_selector_finds_what_is_given_back_and_what_came_later() -> None:
    it, joe, ann = (
        queue(queued(1, 2, kinds="ab")),
        taker("joe", selector="kind == 'b'"),
        taker("ann", selector="kind == 'a'"),
    )
    it.consumers.add_consumer(joe)
    it.consumers.add_consumer(ann)
    assert sorted(given(it)) == [("ann", [(1, 1)]), ("joe", [(2, 2)])]
    it.deliveries.nack(joe, 1, 1, 0.0, 0.0, WALL)
    assert given(it) == [("joe", [(2, 2)])]
    it.add(queued(3, 2, kinds="ba"), 0.0, WALL)
    assert sorted(given(it)) == [("ann", [(4, 4)]), ("joe", [(3, 3)])]


def test_a_group_stays_with_one_taker_and_others_go_past_it() -> None:
    g, h = (5, 0, "g"), (5, 0, "h")
    it = queue(queued(1, put=g), queued(2, put=h), queued(3, put=g), queued(4, put=h), queued(5))
    joe, ann = taker("joe", credit=2), taker("ann", credit=5)
    it.consumers.add_consumer(joe)
    it.consumers.add_consumer(ann)
    got = given(it)
    of_g = {name for name, runs in got if runs[0][0] in (1, 3)}
    of_h = {name for name, runs in got if runs[0][0] in (2, 4)}
    assert len(of_g) == len(of_h) == 1
    assert [n for _, runs in got for n, _ in runs if n in (1, 3)] == [1, 3]


def test_what_is_given_back_for_later_holds_its_group_up_and_no_other() -> None:
    g = (5, 0, "g")
    it, joe = queue(queued(1, put=g), queued(2, put=g), queued(3)), taker("joe", credit=1)
    it.consumers.add_consumer(joe)
    assert numbers(it) == [1]
    it.deliveries.nack(joe, 1, 1, 5.0, 0.0, WALL)
    assert numbers(it) == [3]
    it.deliveries.ack(joe, 2, 2)
    assert numbers(it) == []
    it.tick(5.0, WALL)
    assert numbers(it, 5.0) == [1]
    it.deliveries.ack(joe, 3, 3)
    assert numbers(it, 5.0) == [2]


def test_a_group_whose_taker_has_gone_is_anybodys() -> None:
    g = (5, 0, "g")
    it, joe, ann = queue(queued(1, put=g), queued(2, put=g)), taker("joe", credit=1), taker("ann")
    it.consumers.add_consumer(joe)
    assert given(it) == [("joe", [(1, 1)])]
    it.consumers.add_consumer(ann)
    assert given(it) == []
    it.consumers.close(joe)
    assert given(it) == [("ann", [(1, 1)]), ("ann", [(2, 2)])]
    it.deliveries.ack(ann, 1, 2)
    assert not it.backlog.groups
