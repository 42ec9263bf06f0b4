"""Each cell of the table of reach: its next state and its actions."""

import pytest

from mesh.kernel.peers.reach_table import REACH_TABLE, ReachAction, ReachEvent, ReachState
from tests.mesh.tables import drawn, reached

# Written by hand to catch slips in the table. W away, T reported, A alive, S suspect, L left, - impossible.
LEADS_TO = """
                from W  from T  from A  from S  from L
SIGHTED              T       T       -       -       T
DIALLED              W       W       A       S       -
CONNECTED            W       T       A       S       L
ENDED                W       T       A       S       L
UNWELCOME            W       T       A       S       L
ASKED                W       T       A       S       L
JOINED               A       A       A       A       A
RESTARTED            -       -       A       A       -
MOVED                -       -       A       S       -
SUSPECTED            -       -       S       S       -
TRUSTED              -       -       A       A       -
DIED                 -       -       W       W       -
DOUBLED              -       -       W       W       -
SAID_GOODBYE         -       -       L       L       -
SAID_TO_LEAVE        -       -       W       W       -
"""
LETTERS = {
    "W": ReachState.AWAY,
    "T": ReachState.TOLD_OF,
    "A": ReachState.ALIVE,
    "S": ReachState.SUSPECT,
    "L": ReachState.LEFT,
}
CELLS = drawn(LEADS_TO, ReachEvent, LETTERS)
LEGAL = [(state, event) for state, row in REACH_TABLE.items() for event in row]
LIVING = (ReachState.ALIVE, ReachState.SUSPECT)
WAITS = {
    ReachAction.SOON,
    ReachAction.NOW,
    ReachAction.BACK_OFF,
    ReachAction.RETRY,
    ReachAction.RETRY_RARELY,
    ReachAction.AFRESH,
}


def test_the_hand_written_table_names_every_cell() -> None:
    assert {(state, event) for event, state, _ in CELLS} == {(s, e) for s in ReachState for e in ReachEvent}


def test_each_cell_leads_where_it_should() -> None:
    for event, start, target in CELLS:
        assert (cell[0] if (cell := REACH_TABLE[start].get(event)) else None) is target, (start, event)


def test_each_state_can_be_reached_from_each() -> None:
    for start in ReachState:
        assert set(ReachState) <= set(reached(REACH_TABLE, start)), start


@pytest.mark.parametrize(("state", "event"), LEGAL)
def test_others_hear_that_it_joined_or_is_lost_exactly_when_it_begins_or_ends_to_live(
    state: ReachState, event: ReachEvent
) -> None:
    target, actions = REACH_TABLE[state][event]
    is_another = event in (ReachEvent.JOINED, ReachEvent.RESTARTED)
    assert (ReachAction.JOIN in actions) == is_another == (ReachAction.LOG_IN in actions)
    ends = state in LIVING and target not in LIVING
    assert (ReachAction.LOSE in actions) == (ends or event is ReachEvent.RESTARTED)
    if state not in LIVING and target in LIVING:
        assert event is ReachEvent.JOINED


@pytest.mark.parametrize(("state", "event"), LEGAL)
def test_who_is_lost_is_hung_up_on_first_and_dialled_anew(state: ReachState, event: ReachEvent) -> None:
    _, actions = REACH_TABLE[state][event]
    if ReachAction.LOSE in actions:
        assert actions.index(ReachAction.HANG_UP) < actions.index(ReachAction.LOSE)
        assert (ReachAction.AFRESH in actions) != (event is ReachEvent.RESTARTED)
        assert (ReachAction.SILENCE in actions) + (ReachAction.BYE in actions) == (
            ReachAction.AFRESH in actions
        )


def test_a_cell_says_once_at_most_when_to_dial_next() -> None:
    for state, event in LEGAL:
        assert len(WAITS & set(REACH_TABLE[state][event][1])) <= 1, (state, event)


@pytest.mark.parametrize("state", LIVING)
def test_who_is_alive_never_waits_for_long_after_a_connection_that_broke(state: ReachState) -> None:
    assert REACH_TABLE[state][ReachEvent.ENDED][1] == (ReachAction.RETRY,)
