"""After a message has expired in transit, later ones go back until the forwarding node knows of it."""

from mesh.routing.transit_holes import RETURNED, TransitHoles

KEY = (b"s" * 16, "NEWS")


def holes_after(last: int) -> TransitHoles:
    holes = TransitHoles()
    holes.open_hole(KEY, last)
    return holes


def test_later_messages_go_back_until_all_of_them_return() -> None:
    holes = holes_after(5)
    assert holes.must_return(KEY, 6, 8, low=1)
    assert holes.must_return(KEY, 9, 9, low=5)
    assert not holes.must_return(KEY, 6, 8, low=1)
    assert not holes.must_return(KEY, 9, 9, low=1)
    assert holes.after(KEY) is None
    assert not holes.must_return(KEY, 10, 10, low=1)


def test_a_message_that_left_before_others_had_come_back_does_not_overtake_them() -> None:
    holes = holes_after(5)
    assert holes.must_return(KEY, 6, 6, low=1)
    assert holes.must_return(KEY, 7, 8, low=1)
    assert not holes.must_return(KEY, 6, 6, low=1)
    assert holes.must_return(KEY, 9, 9, low=1), "7 and 8 have not returned"
    assert not holes.must_return(KEY, 7, 8, low=1)
    assert not holes.must_return(KEY, 9, 9, low=1)


def test_a_message_passes_that_returns_although_one_before_it_does_not() -> None:
    holes = holes_after(5)
    assert holes.must_return(KEY, 6, 6, low=1) and holes.must_return(KEY, 7, 7, low=1)
    assert not holes.must_return(KEY, 7, 7, low=1)
    assert holes.after(KEY) is None


def test_messages_pass_whose_publisher_has_the_answer_to_the_expired_one() -> None:
    holes = holes_after(5)
    assert not holes.must_return(KEY, 6, 6, low=6)
    assert not holes.must_return(KEY, 7, 7, low=1)


def test_a_message_that_went_back_is_not_overtaken_although_the_expired_one_is_answered() -> None:
    holes = holes_after(5)
    assert holes.must_return(KEY, 6, 8, low=1)
    assert holes.must_return(KEY, 9, 9, low=7)
    assert not holes.must_return(KEY, 7, 8, low=1)
    assert not holes.must_return(KEY, 9, 9, low=7)
    holes = holes_after(5)
    assert holes.must_return(KEY, 6, 8, low=1)
    assert not holes.must_return(KEY, 9, 9, low=9), "those that went back have their answers"


def test_the_expired_message_passes_when_it_is_sent_again() -> None:
    holes = holes_after(5)
    assert not holes.must_return(KEY, 5, 5, low=1)
    assert holes.must_return(KEY, 6, 6, low=1)


def test_other_streams_pass() -> None:
    assert not TransitHoles()
    holes = holes_after(5)
    assert holes and not holes.must_return((KEY[0], "SPORT"), 6, 6, low=1)


def test_a_later_hole_forgets_what_went_back_after_the_former_one() -> None:
    holes = holes_after(5)
    assert holes.must_return(KEY, 6, 6, low=1) and holes.must_return(KEY, 8, 8, low=1)
    holes.open_hole(KEY, 6)
    holes.open_hole(KEY, 3)
    assert holes.after(KEY) == 6
    assert holes.must_return(KEY, 8, 8, low=1)


def test_a_peer_that_sends_ever_other_numbers_ends_the_hole() -> None:
    holes = holes_after(5)
    assert all(holes.must_return(KEY, 6 + 2 * n, 6 + 2 * n, low=1) for n in range(RETURNED))
    assert not holes.must_return(KEY, 6 + 2 * RETURNED, 6 + 2 * RETURNED, low=1)
    assert holes.after(KEY) is None
