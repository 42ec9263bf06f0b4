"""The wait of a node before its next dial, and the end of that wait."""

import pytest

from mesh.kernel.peers.reach import HEAD_START, SHORT, SHORT_WAIT, STAGGER, Reach
from mesh.kernel.peers.reach_table import REACH_TABLE, ReachAction, ReachEvent, ReachState
from mesh.links.backoff import Timing
from mesh.wire.commands import Census

PLACES = ("tcp://10.0.0.1:1", "", "tcp://10.0.0.2:1", "tcp://10.0.0.1:1")
OWN = {
    ReachAction.SOON,
    ReachAction.NOW,
    ReachAction.FORGIVE,
    ReachAction.BACK_OFF,
    ReachAction.RETRY,
    ReachAction.RETRY_RARELY,
    ReachAction.AFRESH,
}
INTO = {
    ReachState.AWAY: (),
    ReachState.TOLD_OF: (ReachEvent.SIGHTED,),
    ReachState.ALIVE: (ReachEvent.JOINED,),
    ReachState.SUSPECT: (ReachEvent.JOINED, ReachEvent.SUSPECTED),
    ReachState.LEFT: (ReachEvent.JOINED, ReachEvent.SAID_GOODBYE),
}


def reach(state: ReachState = ReachState.AWAY) -> Reach:
    """Return the reach of a node in this state at 0 s. Random waits are always the longest."""
    made = Reach(lambda: 1.0, Timing(low=0.1, high=30.0))
    for event in INTO[state]:
        made.happens(event, 0.0)
    assert made.state is state
    return made


@pytest.mark.parametrize(("state", "event"), [(s, e) for s, row in REACH_TABLE.items() for e in row])
def test_what_is_not_about_waiting_is_for_the_caller_in_its_order(
    state: ReachState, event: ReachEvent
) -> None:
    one = reach(state)
    target, actions = REACH_TABLE[state][event]
    assert one.happens(event, 1.0) == [action for action in actions if action not in OWN]
    assert one.state is target


@pytest.mark.parametrize("state", ReachState)
def test_only_who_has_left_is_never_due(state: ReachState) -> None:
    one = reach(state)
    one.delay_dial(5.0)
    assert not one.is_due(4.9)
    assert one.is_due(5.0) == (state is not ReachState.LEFT)


def test_each_address_is_dialled_once_with_a_head_start_of_the_next() -> None:
    one = reach(ReachState.TOLD_OF)
    assert one.next_address(PLACES, False, 1.0) == "tcp://10.0.0.1:1"
    assert (one.state, one.due, one.is_waiting) == (ReachState.AWAY, 1.0 + STAGGER, True)
    assert one.next_address(PLACES, True, 2.0) == "tcp://10.0.0.2:1"
    assert not one.is_waiting
    assert one.next_address(PLACES, True, 3.0) is None
    assert one.next_address(PLACES, False, 3.0) == "tcp://10.0.0.1:1"


@pytest.mark.parametrize("state", [ReachState.AWAY, ReachState.ALIVE])
def test_the_next_address_need_not_wait_for_one_that_does_not_answer(state: ReachState) -> None:
    one = reach(state)
    one.next_address(PLACES, False, 1.0)
    one.happens(ReachEvent.ENDED, 1.01)
    assert (one.due, one.attempt) == (1.01, 0)


def test_who_is_away_is_given_more_time_after_many_dials_and_who_lives_never() -> None:
    away, alive = reach(ReachState.AWAY), reach(ReachState.ALIVE)
    waits = []
    for _ in range(SHORT + 1):
        for one in (away, alive):
            one.happens(ReachEvent.ENDED, 100.0)
        waits.append((away.due - 100, alive.due - 100))
    assert waits[0] == pytest.approx((0.2, 0.2))
    assert waits[SHORT - 2] == (SHORT_WAIT, SHORT_WAIT)
    assert waits[SHORT - 1 :] == [(30.0, SHORT_WAIT)] * 2


def test_a_dial_that_ends_after_there_was_news_puts_off_nothing() -> None:
    one = reach()
    one.attempt = SHORT
    one.next_address(PLACES[:1], False, 1.0)
    one.happens(ReachEvent.SIGHTED, 2.0)
    one.happens(ReachEvent.ENDED, 2.1)
    assert one.due <= 2.0 + HEAD_START
    one.next_address(PLACES[:1], False, 2.3)
    one.happens(ReachEvent.ENDED, 2.4)
    assert one.due == 32.4, "that one was for the news"


@pytest.mark.parametrize("state", [ReachState.AWAY, ReachState.ALIVE, ReachState.LEFT])
def test_who_is_unwelcome_is_dialled_rarely(state: ReachState) -> None:
    one = reach(state)
    one.happens(ReachEvent.UNWELCOME, 100.0)
    assert one.due == 130.0


def test_news_and_questions_make_the_next_dial_come_sooner_and_never_later() -> None:
    one = reach()
    one.delay_dial(50.0)
    one.happens(ReachEvent.SIGHTED, 10.0)
    assert one.due == 10.0 + HEAD_START
    one.set_question(Census(), 10.1)
    assert one.due == 10.1
    one.happens(ReachEvent.SIGHTED, 11.0)
    assert one.due == 10.1


def test_a_question_waits_for_the_connection_and_is_asked_once() -> None:
    one = reach(ReachState.ALIVE)
    first, last = Census((b"1" * 16,)), Census()
    one.set_question(first, 1.0)
    one.set_question(last, 1.0)
    one.happens(ReachEvent.CONNECTED, 2.0)
    assert one.is_waiting
    assert one.answerable() is last
    assert one.answerable() is None
    assert not one.is_waiting


@pytest.mark.parametrize(
    "event", [ReachEvent.DIED, ReachEvent.DOUBLED, ReachEvent.SAID_GOODBYE, ReachEvent.SAID_TO_LEAVE]
)
def test_of_who_is_lost_all_that_was_begun_is_forgotten(event: ReachEvent) -> None:
    one = reach(ReachState.ALIVE)
    one.happens(ReachEvent.ENDED, 1.0)
    one.next_address(PLACES, False, 1.0)
    one.set_question(Census(), 1.0)
    one.happens(event, 10.0)
    assert (one.is_waiting, one.attempt, one.question) == (False, 0, None)
    assert one.due == pytest.approx(10.2)


def test_a_connection_makes_all_dials_in_vain_forgotten() -> None:
    one = reach()
    for _ in range(3):
        one.happens(ReachEvent.ENDED, 1.0)
    one.next_address(PLACES, False, 1.0)
    one.happens(ReachEvent.CONNECTED, 2.0)
    assert (one.attempt, one.untried) == (0, None)
