"""The expiry of messages when the clock of the machine leaps. (Fault row 23.)"""

import pytest

from mesh.kernel.context.leap_free_clock import TRUST, LeapFreeClock
from tests.simulated_client import client_of
from tests.simulation import SimNetwork

START = 1_700_000_000_000_000_000
HOUR = 3600 * 1_000_000_000


def wall(now: float, leap: int = 0) -> int:
    return START + int(now * 1e9) + leap


def test_a_clock_that_goes_on_is_believed_as_it_is() -> None:
    believed = LeapFreeClock()
    assert believed.at(1.0, wall(1.0)) == wall(1.0)
    assert believed.at(2.0, wall(2.0, 30 * 10**9)) == wall(2.0, 30 * 10**9), "it is being set right"
    assert believed.at(3.0, wall(3.0, 80 * 10**9)) == wall(3.0, 80 * 10**9), "little by little"
    assert believed.leapt == 0


@pytest.mark.parametrize("leap", [HOUR, -HOUR, 87_600 * HOUR, -87_600 * HOUR])
def test_row_23_one_that_leaps_is_believed_only_when_it_has_gone_on_for_long(leap: int) -> None:
    believed = LeapFreeClock()
    believed.at(0.0, wall(0.0))
    assert believed.at(1.0, wall(1.0, leap)) == wall(1.0)
    assert believed.leapt == leap, "told once"
    assert believed.at(TRUST, wall(TRUST, leap)) == wall(TRUST)
    assert believed.leapt == 0
    assert believed.at(TRUST + 2, wall(TRUST + 2, leap)) == wall(TRUST + 2, leap)


def test_one_that_leaps_back_in_time_was_never_wrong() -> None:
    believed = LeapFreeClock()
    believed.at(0.0, wall(0.0))
    believed.at(1.0, wall(1.0, HOUR))
    assert believed.at(2.0, wall(2.0)) == wall(2.0)
    assert believed.at(3.0 + TRUST, wall(3.0 + TRUST)) == wall(3.0 + TRUST)


def test_one_that_leaps_again_begins_anew() -> None:
    believed = LeapFreeClock()
    believed.at(0.0, wall(0.0))
    believed.at(1.0, wall(1.0, HOUR))
    believed.at(TRUST, wall(TRUST, 2 * HOUR))
    assert believed.leapt == HOUR
    assert believed.at(TRUST + 5, wall(TRUST + 5, 2 * HOUR)) == wall(TRUST + 5)


def test_row_23_nothing_that_waits_for_its_master_is_void_because_the_clock_leapt() -> None:
    net = SimNetwork()
    a, _ = net.mesh("a", "b")
    publisher = client_of(a)
    publisher.send("/node/gone/client/joe", b"waits", force=True, persistent=True)
    net.run(5)
    assert a.metric("tailed_back") == 1
    a.leap(87_600 * HOUR)
    net.run(60)
    assert (a.metric("tailed_back"), a.metric("expired")) == (1, 0)
    assert any("clock" in note for note in a.notes)
