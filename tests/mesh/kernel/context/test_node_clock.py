"""The clocks of a node: timestamps rise, follow those of other nodes, and the earliest alarm counts."""

from random import Random

import pytest
from msgspec.structs import replace

from mesh.kernel.context.node_clock import AHEAD, NodeClock
from mesh.values import Hop
from tests.mesh.envelopes import envelope

SECOND = 1_000_000_000
WALL = 1_700_000_000 * SECOND


@pytest.fixture
def leaps() -> list[int]:
    return []


@pytest.fixture
def clock(leaps: list[int]) -> NodeClock:
    made = NodeClock(leaps.append)
    made.set_time(1.0, WALL)
    return made


def test_stamps_rise_also_when_the_wall_clock_does_not(clock: NodeClock) -> None:
    stamps = [clock.stamp(), clock.stamp()]
    clock.set_time(2.0, WALL - SECOND)
    stamps.append(clock.stamp())
    assert stamps == [WALL, WALL + 1, WALL + 2]
    assert clock.last_stamp < clock.stamp()


def test_stamps_are_above_those_of_an_earlier_boot(clock: NodeClock) -> None:
    clock.stamped(WALL + 3600 * SECOND)
    assert clock.stamp() == WALL + 3600 * SECOND + 1


@pytest.mark.parametrize(("ahead", "stamp"), [(59 * SECOND, WALL + 59 * SECOND + 1), (60 * SECOND, WALL)])
def test_a_clock_that_is_a_minute_ahead_does_not_move_ours(clock: NodeClock, ahead: int, stamp: int) -> None:
    clock.observe_timestamp(envelope(sent=WALL + ahead))
    assert clock.stamp() == stamp


def test_a_message_of_another_site_counts_from_its_last_hop_in_this_site(clock: NodeClock) -> None:
    came = replace(envelope(), sender="/site/far/node/a/client/joe", route=(Hop("heron", 0, WALL + SECOND),))
    clock.observe_timestamp(came)
    assert clock.stamp() == WALL + SECOND + 1


def test_the_alarm_is_the_earliest_wish(clock: NodeClock) -> None:
    clock.alarm = 9.0
    for at in (7.0, None, 8.0):
        clock.wake(at)
    assert clock.alarm == 7.0


@pytest.mark.parametrize("seed", range(10))
def test_timestamps_rise_whatever_the_clocks_do(clock: NodeClock, seed: int) -> None:
    """Laws 1 and 2, with a wall clock that jumps and timestamps of nodes with wrong clocks."""
    dice, last = Random(seed), 0
    for step in range(200):
        clock.set_time(2.0 + step, wall := WALL + dice.randrange(-3, 3) * 3600 * SECOND)
        heard = wall + dice.randrange(-2 * AHEAD, 2 * AHEAD)
        clock.heard_stamp(heard)
        bound, stamp = clock.last_stamp, clock.stamp()
        assert stamp > bound and stamp > last and (stamp > heard or heard >= wall + AHEAD)
        assert stamp <= max(last + 1, wall, min(heard, wall + AHEAD) + 1)
        last = stamp


def test_a_leap_of_the_wall_clock_is_reported_once_and_expires_nothing(
    clock: NodeClock, leaps: list[int]
) -> None:
    clock.set_time(2.0, WALL + 3600 * SECOND)
    clock.set_time(3.0, WALL + 3601 * SECOND)
    assert leaps == [3599 * SECOND]
    assert (clock.now, clock.wall, clock.believed) == (3.0, WALL + 3601 * SECOND, WALL + 2 * SECOND)
