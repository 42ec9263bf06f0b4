"""Deliveries and settlements of a queue consumer, over reconnects. The test plays the node."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mesh.client.core.delivered_envelope import ACK
from mesh.client.core.effects import Find, Report
from mesh.client.core.places import Place, Source
from mesh.errors import LeaseOver
from mesh.wire import commands as c
from mesh.wire.commands import EXTEND
from tests.mesh.client.core.benches import ACCESS, result
from tests.mesh.client.core.takers import STREAM, WELCOME, Bench, counts, is_open, jobs, opened

OTHER = b"t" * 16


# --- in one epoch -------------------------------------------------------------------------------------------


def test_it_is_asked_for_and_told_when_it_holds() -> None:
    bench = Bench(5)
    asked = bench.consume()
    assert (asked.subscription, asked.address, asked.credit, asked.held) == (7, "queue/jobs", 5, ())
    assert is_open(bench.entered)
    bench.open()
    assert result(bench.entered) is None


def test_the_nth_message_has_the_count_n_whatever_it_came_with() -> None:
    bench = opened()
    bench.give(jobs(3))
    bench.give(jobs(4, first=4), indices=[1, 3])
    taken = bench.take(9)
    assert counts(taken) == [1, 2, 3, 4, 5] and bench.it.take_message() is None
    assert [delivered.numbers()[place] for delivered, place in taken] == [1, 2, 3, 5, 7]


def test_a_batch_is_what_came_together_but_for_what_was_taken_singly() -> None:
    bench = opened()
    bench.give(jobs(5))
    bench.give(jobs(2, first=6))
    bench.take(2)
    found = [bench.it.take_batch(), bench.it.take_batch(), bench.it.take_batch()]
    assert [list(each[1]) if each else None for each in found] == [[2, 3, 4], [0, 1], None]


def test_a_node_that_gives_far_more_than_was_asked_for_is_left() -> None:
    bench = opened(5)
    for first in range(1, 6000, 1000):
        bench.give(jobs(1000, first=first))
    assert [text for kind, text in bench.told() if kind == "disconnected"]


# --- a new epoch --------------------------------------------------------------------------------------------


def test_what_is_here_is_listed_as_it_was_begun_or_will_be_and_has_the_first_counts() -> None:
    bench = opened()
    bench.give(jobs(3))
    bench.give(jobs(2, first=9, stream=OTHER))
    bench.give(jobs(2, first=5), indices=[1])
    a, b = bench.take(2)
    bench.say(ACK, b)
    bench.settled()
    asked = bench.lose()
    # The user holds a, the ack of b is unanswered, and the rest waits.
    assert asked.held == ((STREAM, (1, 3)), (OTHER, (9, 10)), (STREAM, (6, 6)))
    bench.give(jobs(1, first=100))  # of the earlier epoch
    bench.open()
    assert counts([a, b]) == [1, 2] and [s.done for s in bench.settled()] == [(2, 2)]
    rest = bench.take(9)
    assert counts(rest) == [3, 4, 5, 6]
    bench.give(jobs(1, first=7))
    assert counts(bench.take(9)) == [7]


def test_what_is_void_is_thrown_away_and_cannot_be_settled() -> None:
    bench = opened()
    bench.give(jobs(4))
    one, two = bench.take(2)
    bench.lose()
    bench.open(void=[1, 1, 3, 3])
    with pytest.raises(LeaseOver):
        bench.say(ACK, one)
    kept = bench.say(ACK, two)
    assert counts(bench.take(9)) == [4]
    [settle] = bench.settled()
    assert settle.done == (2, 2) and settle.epoch == 2
    bench.answer(settle)
    assert result(kept) is None


def test_nothing_is_begun_while_no_epoch_is_open() -> None:
    bench = opened()
    bench.give(jobs(2))
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    assert bench.it.take_message() is None and bench.it.take_batch() is None
    bench.again_with(WELCOME)
    assert bench.it.take_message() is None
    bench.open(void=[2, 2])
    assert counts(bench.take(9)) == [1]


@pytest.mark.parametrize(
    "value",
    [None, {}, {"epoch": -1}, {"epoch": 2**64}, {"epoch": "1"}, 5, {"epoch": 5, "void": [1]},
     {"epoch": 5, "void": [3, 3]}, {"epoch": 5, "void": [2, 1]}, {"epoch": 5, "void": [0, 1]},
     {"epoch": 5, "void": [1, 1, 1, 1]}, {"epoch": 5, "void": "ab"}, {"epoch": float("nan")}],
)  # fmt: skip
def test_an_answer_that_is_none_ends_the_connection_and_it_is_asked_again(value: object) -> None:
    bench = opened()
    bench.give(jobs(2))
    bench.lose()
    bench.hear(c.Reply(bench.consume().request, value))
    assert [text for kind, text in bench.told() if kind == "disconnected"]
    bench.again_with(WELCOME)
    assert bench.consume().held == ((STREAM, (1, 2)),)
    bench.open()
    assert counts(bench.take(9)) == [1, 2]


def test_more_is_never_listed_than_a_node_would_read_and_what_was_said_gives_way() -> None:
    bench = opened(1000)
    bench.give(jobs(1000))
    promises = [bench.say(ACK, each) for each in bench.take(1000)]
    bench.settled()
    bench.give(jobs(900, first=1001))  # the ack arrived, but its answer is lost
    asked = bench.lose()
    assert asked.held == ((STREAM, (1, 100, 1001, 1900)),)
    bench.open(void=[1, 100])
    [settle] = bench.settled()
    assert settle.done == (1, 100)
    bench.answer(settle)
    assert [result(each) for each in promises[:100]] == [None] * 100
    with pytest.raises(LeaseOver):
        result(promises[100])
    assert len(bench.take(2000)) == 900


# --- leases -------------------------------------------------------------------------------------------------


def test_what_waits_keeps_its_lease_and_is_its_users_from_when_he_begins() -> None:
    bench = opened(10, lease=3000)
    bench.give(jobs(3))
    [one] = bench.take(1)
    assert bench.settled() == [], "it is fresh"
    bench.wait(1.1)
    bench.hear(c.Pong(1))
    [kept] = bench.settled()
    assert kept.entries == ((2, 3, EXTEND, 3000, ""),)
    bench.answer(kept, (3, 3))
    bench.wait(0.5)
    assert counts(bench.take(9)) == [2], "the third one is somebody else's by now"
    assert [s.entries for s in bench.settled()] == [((2, 2, EXTEND, 3000, ""),)]
    late = bench.say(ACK, one)
    assert [s.done for s in bench.settled()] == [(1, 1)] and is_open(late), "a late ack is the node's matter"


def test_what_is_given_again_was_taken_away_before_if_it_had_a_lease() -> None:
    bench = opened(lease=3000)
    bench.give(jobs(3))
    [one] = bench.take(1)
    bench.give(jobs(2), tries=b"\1\1")
    with pytest.raises(LeaseOver):
        bench.say(ACK, one)
    assert counts(bench.take(9)) == [3, 4, 5], "the second one that waited is void, too"
    assert bench.lose().held == ((STREAM, (3, 3)), (STREAM, (1, 2)))


def test_a_second_copy_of_what_is_here_is_another_job() -> None:
    """A node may have two copies after a lost transfer or a rollback of its store. Each is settled."""
    bench = opened()
    bench.give(jobs(2))
    [one] = bench.take(1)
    bench.give(jobs(2), tries=b"\1\0")
    others = bench.take(9)
    assert counts(others) == [2, 3, 4]
    kept = bench.say(ACK, one, *others)
    [settle] = bench.settled()
    assert settle.done == (1, 4) and is_open(kept)
    bench.answer(settle)
    assert result(kept) is None


# --- a blocked process --------------------------------------------------------------------------------------


def stopped(bench: Bench, seconds: float) -> None:
    """Let time pass while the client's loop is blocked."""
    bench.done.clear()
    bench.context.now += seconds


def asked(bench: Bench) -> list[c.Consume]:
    bench.wait()
    return [each for each in bench.all(c.Consume) if each.credit]


@pytest.mark.parametrize("is_batch", [False, True])
def test_what_waits_is_not_begun_by_who_stood_still_for_longer_than_its_lease(is_batch: bool) -> None:
    bench = opened(lease=3000)
    bench.give(jobs(3))
    [one] = bench.take(1)
    stopped(bench, 3.0)
    assert (bench.it.take_batch() if is_batch else bench.it.take_message()) is None
    [consume] = asked(bench)
    assert consume.held == (), "all of it is somebody else's"
    bench.open()
    assert bench.it.take_message() is None
    with pytest.raises(LeaseOver):
        bench.say(ACK, one)
    bench.give(jobs(1, first=2), tries=b"\1")
    [(delivered, _)] = bench.take(9)
    assert delivered.tries == b"\1", "it says that it was given before"


def test_nor_is_what_lay_in_the_socket_meanwhile() -> None:
    bench = opened(lease=3000)
    stopped(bench, 3.0)
    bench.give(jobs(2))
    bench.give(jobs(2, first=3))
    assert bench.it.take_message() is None and len(asked(bench)) == 1
    bench.open()
    assert bench.it.take_message() is None
    bench.give(jobs(1), tries=b"\1")
    assert counts(bench.take(9)) == [1]


def test_nor_when_the_alarm_is_the_first_to_see_it() -> None:
    bench = opened(lease=3000)
    bench.give(jobs(3))
    stopped(bench, 3.5)
    assert len(asked(bench)) == 1 and bench.all(c.Settle) == [], "nothing is extended"


def test_what_was_settled_before_is_said_again_when_the_node_has_answered() -> None:
    bench = opened(lease=3000)
    bench.give(jobs(2))
    one, _ = bench.take(2)
    done = bench.say(ACK, one)
    assert len(bench.settled()) == 1
    stopped(bench, 3.0)
    bench.wait()
    [consume] = asked(bench)
    assert consume.held == ((STREAM, (1, 1)),)
    bench.open()
    [settle] = bench.settled()
    bench.answer(settle)
    assert settle.done == (1, 1) and result(done) is None


def test_who_stood_still_for_less_goes_on_and_extends_what_may_have_lain_in_the_socket() -> None:
    bench = opened(lease=3000)
    bench.give(jobs(1))
    stopped(bench, 2.5)
    bench.give(jobs(1, first=2))
    assert counts(bench.take(9)) == [1, 2] and asked(bench) == []
    assert [s.entries for s in bench.all(c.Settle)] == [((1, 2, EXTEND, 3000, ""),)]


def test_without_a_lease_it_is_the_nodes_matter() -> None:
    bench = opened()
    bench.give(jobs(1))
    stopped(bench, 3.0)
    assert counts(bench.take(9)) == [1]


def test_in_another_site_nothing_is_claimed_and_all_settlements_fail() -> None:
    bench = opened()
    bench.give(jobs(4))
    first, second = bench.take(2)
    said = bench.say(ACK, first)
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    bench.done.clear()
    while not any(isinstance(each, Find) for each in bench.done):
        bench.wait(bench.context.due - bench.context.now)
    bench.core.line.choice._last = Place("tcp://127.0.0.1:1", Source.SITE, site="NYC")
    bench.core.found(bench.context.now, ACCESS)
    bench.wait()
    bench.hear(replace(WELCOME, node=replace(WELCOME.node, uuid=b"nyc0" * 4, name="gull"), next=1 << 20))
    assert bench.consume().held == ()
    with pytest.raises(LeaseOver, match="in another site"):
        result(said)
    with pytest.raises(LeaseOver):
        bench.it.check_settleable(*second)
    bench.open()
    assert bench.it.take_message() is None
    moved = [each for each in bench.done if isinstance(each, Report) and each.kind == "session_moved"]
    assert [(each.text, each.resumed) for each in moved] == [
        ("from heron to gull in the site NYC: the subscriptions began anew", False)
    ]
