"""The forward table: entries leave in order and within a window, and stay until their final answer."""

from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import HERE, PendingForward
from tests.mesh.envelopes import STREAM, envelope
from tests.mesh.origins import CLIENT

OTHER = b"o" * 16
WINDOW = (10_000, 3)  # bytes, envelopes


def add(
    onward: ForwardTable, first: int, count: int = 1, hop: str = "heron", stream: bytes = STREAM
) -> PendingForward:
    e = envelope(" ".join("a" * count), first=first, stream=stream)
    entry = onward.add(e, CLIENT, 0.0)
    onward.set_next_hops(entry, (hop,), "DOMAIN X")
    return entry


def filled(numbers: int, hop: str = "heron") -> tuple[ForwardTable, list[PendingForward]]:
    onward = ForwardTable(*WINDOW)
    return onward, [add(onward, n, hop=hop) for n in range(1, numbers + 1)]


def left(onward: ForwardTable, hop: str = "heron") -> list[int]:
    """Return the numbers that may be sent now."""
    return [entry.envelope.first for entry in onward.next_to_send(hop)]


def waiting(onward: ForwardTable, hop: str) -> list[int]:
    return [entry.envelope.first for line in onward.lines(hop) for entry in line.entries()]


# --- leaving ----------------------------------------------------------------------------------------------


def test_what_came_first_leaves_first_and_at_most_a_window() -> None:
    onward, entries = filled(5)
    assert left(onward) == [1, 2, 3]
    assert left(onward) == []
    assert [e.was_sent for e in entries] == [True, True, True, False, False]


def test_an_answer_opens_the_window_for_the_next() -> None:
    onward, (one, two, *_) = filled(5)
    left(onward)
    onward.settle(two, "heron", 2, 2)
    assert left(onward) == [4]
    onward.settle(one, "heron", 1, 1)
    assert left(onward) == [5]


def test_half_an_answer_does_not() -> None:
    onward = ForwardTable(*WINDOW)
    one = add(onward, 1, count=2)
    for n in (3, 4, 5):
        add(onward, n)
    assert left(onward) == [1, 3, 4]
    onward.settle(one, "heron", 1, 1)
    assert left(onward) == []
    onward.settle(one, "heron", 2, 2)
    assert left(onward) == [5]


def test_one_envelope_may_overdraw_the_bytes_of_the_window() -> None:
    onward = ForwardTable(100, 10)
    for n in (1, 2, 3):
        add(onward, n)  # 64 bytes each
    assert left(onward) == [1, 2]


def test_each_node_has_a_window_of_its_own() -> None:
    onward, _ = filled(4)
    for n in (1, 2, 3, 4):
        add(onward, n, hop="avalon", stream=OTHER)
    assert (left(onward), left(onward, "avalon")) == ([1, 2, 3], [1, 2, 3])
    assert left(onward, "nobody") == []


def test_the_gateway_of_a_stream_is_known_while_any_of_it_is_in_flight() -> None:
    onward, (one, two, three) = filled(3)
    other = add(onward, 1, stream=OTHER)
    left(onward)
    for entry, gateway in ((one, b"gull"), (two, b"grebe"), (other, b"hawk")):
        onward.record_gateway(entry, "heron", gateway)
    assert list(onward.gateways_of(STREAM, "heron")) == [b"gull", b"grebe"]
    assert list(onward.gateways_of(STREAM, "tern")) == list(onward.gateways_of(b"x", "heron")) == []
    onward.settle(one, "heron", 1, 1)
    onward.put_aside(two, "heron")
    assert list(onward.gateways_of(STREAM, "heron")) == [] and not three.is_done
    onward.requeue_in_flight("heron")
    assert list(onward.gateways_of(OTHER, "heron")) == []


def test_while_some_leave_more_may_come() -> None:
    onward, _ = filled(2)
    leaving = onward.next_to_send("heron")
    assert next(leaving).envelope.first == 1
    add(onward, 3)
    assert [entry.envelope.first for entry in leaving] == [2, 3]


# --- a broken connection ------------------------------------------------------------------------------


def test_after_a_broken_connection_all_that_was_under_way_leaves_again_first_and_in_order() -> None:
    onward, entries = filled(5)
    left(onward)
    onward.settle(entries[1], "heron", 2, 2)
    left(onward)
    assert onward.requeue_in_flight("heron") == [entries[0], entries[2], entries[3]]
    assert left(onward) == [1, 3, 4]
    onward.settle(entries[0], "heron", 1, 1)
    assert left(onward) == [5]


# --- another route ------------------------------------------------------------------------------------------


def test_by_another_way_it_leaves_in_its_place_among_those_before_and_after() -> None:
    onward, (one, two, three, four) = filled(4)
    for entry in (two, four, one):
        onward.set_next_hops(entry, ("avalon",), "DOMAIN X")
    assert left(onward, "avalon") == [1, 2, 4]
    onward.set_next_hops(three, ("avalon",), "DOMAIN X")
    onward.requeue_in_flight("avalon")
    assert left(onward, "avalon") == [1, 2, 3]


def test_one_that_was_under_way_gives_back_its_place_in_the_window() -> None:
    onward, (one, *_) = filled(4)
    left(onward)
    onward.set_next_hops(one, ("avalon",), "DOMAIN X")
    assert left(onward) == [4]
    assert left(onward, "avalon") == [1]
    assert (one.hops, one.was_sent) == (["avalon"], True)


def test_the_same_way_again_changes_only_why() -> None:
    onward, (one, *_) = filled(2)
    left(onward)
    onward.set_next_hops(one, ("heron",), "EXACT a")
    assert (one.why, left(onward)) == ("EXACT a", [])


def test_many_that_change_their_way_at_once_are_put_among_those_that_are_there() -> None:
    onward = ForwardTable(10**9, 10**6)
    entries = [add(onward, n, hop="heron" if n <= 500 else "avalon") for n in range(1, 1001)]
    for entry in entries[:500]:
        onward.set_next_hops(entry, ("avalon",), "DOMAIN X")
    assert left(onward, "avalon") == list(range(1, 1001))
    assert onward.lines("heron") == []


def test_what_nobody_knows_a_way_for_waits_under_no_name() -> None:
    onward, entries = filled(2, hop="")
    assert waiting(onward, "") == [1, 2]
    onward.set_next_hops(entries[0], ("heron",), "DOMAIN X")
    assert (waiting(onward, ""), waiting(onward, "heron")) == ([2], [1])
    assert set(onward.hops()) == {"", "heron"}


# --- the final answer -------------------------------------------------------------------------------------


def test_parts_are_settled_in_any_order_and_each_number_once() -> None:
    onward = ForwardTable(*WINDOW)
    entry = add(onward, 11, count=5)
    assert onward.settle(entry, "heron", 12, 13) == [(12, 13)]
    assert (onward.messages, list(entry.open)) == (3, [(11, 11), (14, 15)])
    assert onward.settle(entry, "heron", 11, 14) == [(11, 11), (14, 14)]
    assert onward.settle(entry, "heron", 12, 14) == []
    assert (onward.messages, len(onward), entry.is_done) == (1, 1, False)
    assert onward.settle(entry, "heron", 15, 15) == [(15, 15)]
    assert (onward.messages, onward.bytes, len(onward), entry.is_done) == (0, 0, 0, True)
    assert onward.hops() == []


def test_an_answer_is_about_all_the_entries_that_hold_its_numbers() -> None:
    onward = ForwardTable(*WINDOW)
    one, two, three = add(onward, 1, count=3), add(onward, 4, count=3), add(onward, 7, count=3)
    assert onward.find_answered(STREAM, "", 2, 8) == [(one, 2, 3), (two, 4, 6), (three, 7, 8)]
    assert onward.find_answered(STREAM, "", 5, 5) == [(two, 5, 5)]
    assert onward.find_answered(STREAM, "", 10, 99) == []
    assert onward.find_answered(STREAM, "sport", 1, 9) == []
    assert onward.find_answered(OTHER, "", 1, 9) == []


def test_what_somebody_else_takes_over_is_here_no_more_and_can_still_be_settled() -> None:
    onward, (one, two) = filled(2)
    left(onward)
    onward.remove_entry(one)
    onward.remove_entry(one)
    assert (onward.messages, onward.bytes, onward.entries()) == (1, 64, [two])
    assert onward.settle(one, "heron", 1, 1) == [(1, 1)]
    assert (onward.messages, onward.bytes) == (1, 64)


# --- several masters --------------------------------------------------------------------------------------


def to_both(onward: ForwardTable, first: int, count: int = 1) -> PendingForward:
    entry = add(onward, first, count)
    onward.set_next_hops(entry, ("heron", "avalon"), "DOMAIN X")
    return entry


def test_to_several_masters_it_leaves_for_each_and_stays_until_all_have_had_their_last_word() -> None:
    onward = ForwardTable(*WINDOW)
    entry = to_both(onward, 1, count=3)
    assert (left(onward), left(onward, "avalon")) == ([1], [1])
    assert onward.settle(entry, "heron", 1, 3) == []
    assert (entry.hops, onward.messages, entry.is_done) == (["avalon"], 3, False)
    assert (waiting(onward, "heron"), waiting(onward, "avalon")) == ([], [1])
    assert onward.settle(entry, "avalon", 2, 2) == [(2, 2)]
    assert onward.settle(entry, "avalon", 1, 3) == [(1, 1), (3, 3)]
    assert (onward.messages, len(onward), onward.hops()) == (0, 0, [])


def test_each_of_them_has_its_own_pace() -> None:
    onward = ForwardTable(*WINDOW)
    entries = [to_both(onward, n) for n in range(1, 6)]
    assert (left(onward), left(onward, "avalon")) == ([1, 2, 3], [1, 2, 3])
    onward.settle(entries[0], "heron", 1, 1)
    assert (left(onward), left(onward, "avalon")) == ([4], [])


def test_who_has_had_his_last_word_is_not_asked_again_while_the_way_stays_and_is_when_it_changes() -> None:
    onward = ForwardTable(*WINDOW)
    entry = to_both(onward, 1)
    onward.settle(entry, "heron", 1, 1)
    onward.set_next_hops(entry, ("avalon", "heron"), "DOMAIN X")
    assert entry.hops == ["avalon"]
    onward.set_next_hops(entry, ("frodo",), "DOMAIN X")
    onward.set_next_hops(entry, ("heron", "avalon"), "DOMAIN X")
    assert entry.hops == ["heron", "avalon"]


def test_this_node_as_one_of_the_masters_stands_in_no_line() -> None:
    onward = ForwardTable(*WINDOW)
    entry = add(onward, 1)
    onward.set_next_hops(entry, (HERE, "avalon"), "DOMAIN X")
    assert (entry.hops, onward.hops()) == (["avalon"], ["avalon"])
    assert onward.settle(entry, "avalon", 1, 1) == []
    assert (entry.hops, entry.is_done, onward.messages) == ([], False, 1)
    assert onward.settle(entry, HERE, 1, 1) == [(1, 1)]
    assert (entry.is_done, onward.messages) == (True, 0)


def test_a_stream_is_held_in_each_domain_until_its_last_word() -> None:
    onward = ForwardTable(*WINDOW)
    entry = onward.add(envelope("a", domain="sport"), CLIENT, 0.0)
    assert onward.holds(STREAM, "sport")
    assert not onward.holds(STREAM, "")
    onward.settle(entry, "", 1, 1)
    assert not onward.holds(STREAM, "sport")


# --- resent messages ----------------------------------------------------------------------------------------


def test_what_is_sent_again_is_known_as_far_as_it_is_held_here() -> None:
    onward = ForwardTable(*WINDOW)
    one, two = add(onward, 3, count=2), add(onward, 7, count=2)
    assert onward.split_known(envelope("a a a a a a a a a", first=1)) == (
        [one, two],
        [(1, 2), (5, 6), (9, 9)],
    )
    assert onward.split_known(envelope("a", first=4)) == ([one], [])
    assert onward.split_known(envelope("a", first=9)) == ([], [(9, 9)])
    assert onward.split_known(envelope("a", first=3, domain="sport")) == ([], [(3, 3)])


def test_one_that_comes_late_is_found_by_its_numbers_and_leaves_by_its_arrival() -> None:
    onward = ForwardTable(*WINDOW)
    later, late = add(onward, 5), add(onward, 2)
    assert onward.find_answered(STREAM, "", 1, 9) == [(late, 2, 2), (later, 5, 5)]
    assert onward.entries() == [later, late]
    assert left(onward) == [5, 2]


# --- entries set aside ------------------------------------------------------------------------------------


def test_what_stands_aside_lets_others_go_and_goes_again_in_its_place() -> None:
    onward, (one, two, *_) = filled(6)
    assert left(onward) == [1, 2, 3]
    onward.put_aside(one, "heron")
    assert left(onward) == [4] and waiting(onward, "heron") == [1, 2, 3, 4, 5, 6]
    onward.requeue("heron", [one, two])
    onward.settle(two, "heron", 2, 2)
    assert left(onward) == [1] and one.may_be_there and not two.may_be_there


def test_what_is_to_stand_aside_does_not_leave() -> None:
    onward, (one, two, *_) = filled(3)
    leaving = onward.next_to_send("heron", is_aside=lambda entry: entry is not two)
    assert [entry.envelope.first for entry in leaving] == [2]
    assert (one.was_sent, two.was_sent) == (False, True)
    onward.remove_entry(one)
    assert waiting(onward, "heron") == [2, 3]


def test_the_next_higher_number_of_the_stream_has_the_timestamp() -> None:
    table = ForwardTable(10_000, 10_000)
    for first, sent in ((4, 70), (8, 90)):
        table.add(envelope("k", first=first, sent=sent), CLIENT, 0.0)
    found = {first: table.sent_after(envelope("k", first=first)) for first in (1, 4, 6, 8, 9)}
    assert found == {1: 70, 4: 90, 6: 90, 8: 0, 9: 0}
    assert table.sent_after(envelope("k", domain="NEWS")) == 0
