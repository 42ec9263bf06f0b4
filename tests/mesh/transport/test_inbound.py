"""The ends of inbound connections, though another connection may have the same descriptor by then."""

import pytest

from mesh.transport.inbound import Arrivals, Inbound, is_newer

PLACE, ELSEWHERE = (0, 17), (1, 17)  # the same descriptor, of connections to two listeners


def key(number: int, listener: int = 0) -> Inbound:
    """Return the id that ZeroMQ gives to a connection: a higher number is a newer connection."""
    return listener, b"\0" + (number % (1 << 32)).to_bytes(4, "big")


def nothing_new() -> None:
    """Read the events, of which there are none."""


A, B, C = key(1), key(2), key(3)


def test_an_end_is_that_of_the_connection_that_was_there() -> None:
    arrivals = Arrivals()
    arrivals.accepted(PLACE)
    assert arrivals.spoke(A, PLACE, nothing_new) is None and arrivals.lives(A)
    assert arrivals.end_place(PLACE) == A and not arrivals.lives(A)
    assert arrivals.end_place(PLACE) is None


def test_an_end_that_was_told_before_is_not_that_of_the_next_one() -> None:
    arrivals = Arrivals()
    arrivals.accepted(PLACE)
    arrivals.spoke(A, PLACE, nothing_new)
    assert arrivals.end_place(PLACE) == A
    assert arrivals.accepted(PLACE) is None
    assert arrivals.spoke(B, PLACE, nothing_new) is None and arrivals.lives(B)
    assert arrivals.forget_connection(A) is None, "nobody is to be thrown out for it"
    assert arrivals.forget_connection(B) == PLACE


def test_an_end_that_was_never_told_is_known_when_the_next_one_comes() -> None:
    arrivals = Arrivals()
    arrivals.accepted(PLACE)
    arrivals.spoke(A, PLACE, nothing_new)
    assert arrivals.accepted(PLACE) == A
    assert arrivals.spoke(B, PLACE, nothing_new) is None


def test_one_that_ended_before_it_was_heard_is_over_and_takes_nobodys_place() -> None:
    arrivals = Arrivals()
    arrivals.accepted(PLACE)
    arrivals.end_place(PLACE)
    assert arrivals.spoke(A, PLACE, nothing_new) == A and not arrivals.lives(A)
    arrivals.accepted(PLACE)
    assert arrivals.spoke(B, PLACE, nothing_new) is None and arrivals.lives(B)
    assert arrivals.forget_connection(A) is None


@pytest.mark.parametrize("order", [(A, B, C), (B, A, C), (C, B, A), (A, C, B)])
def test_of_all_that_have_spoken_on_a_descriptor_the_newest_lives_in_whatever_order_they_are_heard(
    order: tuple[Inbound, ...],
) -> None:
    """After a pause of the node, messages of several past connections wait side by side."""
    arrivals = Arrivals()
    for _ in range(2):
        arrivals.accepted(PLACE)
        arrivals.end_place(PLACE)
    arrivals.accepted(PLACE)
    over = [arrivals.spoke(each, PLACE, nothing_new) for each in order]
    assert arrivals.lives(C)
    assert {each for each in over if each} == {A, B}
    assert [arrivals.forget_connection(each) for each in (A, B, C)] == [None, None, PLACE]


def test_the_end_of_the_connection_before_is_read_before_the_next_one_is_named() -> None:
    arrivals = Arrivals()
    arrivals.accepted(PLACE)
    arrivals.spoke(A, PLACE, nothing_new)
    over: list[Inbound | None] = []

    def catch_up() -> None:
        over.extend([arrivals.end_place(PLACE), arrivals.accepted(PLACE)])

    assert arrivals.spoke(B, PLACE, catch_up) is None
    assert over == [A, None] and arrivals.lives(B)


def test_the_same_descriptor_of_another_listener_is_another_place() -> None:
    arrivals = Arrivals()
    there = key(1, listener=1)
    for place, each in ((PLACE, A), (ELSEWHERE, there)):
        arrivals.accepted(place)
        arrivals.spoke(each, place, nothing_new)
    assert arrivals.end_place(PLACE) == A and arrivals.lives(there)


def test_the_numbers_of_connections_begin_anew_and_of_a_chosen_name_nothing_is_known() -> None:
    assert is_newer(key(0), key(-1)) and not is_newer(key(-1), key(0))
    assert is_newer(B, A) and not is_newer(A, B) and not is_newer(A, A)
    chosen = (0, b"\0chosen by a peer")
    assert not is_newer(chosen, A) and not is_newer(A, chosen)


def test_nothing_is_kept_of_connections_that_are_over() -> None:
    arrivals = Arrivals()
    for number in range(10):
        arrivals.accepted(PLACE)
        arrivals.spoke(key(number), PLACE, nothing_new)
        arrivals.end_place(PLACE)
        arrivals.forget_connection(key(number))
        arrivals.forget_connection(key(number))
    assert [*vars(arrivals).values()] == [{}, set(), {}]
