"""The difference between the clock at the other end of a connection and ours."""

import pytest

from mesh.kernel.context.otherclock import EXACT, FURTHEST, OtherClock

S = 10**9
HERE = 1_700_000_000 * S


def clock(*ahead: float) -> OtherClock:
    found = OtherClock()
    for seconds in ahead:
        found.tells(HERE + int(seconds * S), HERE)
    return found


@pytest.mark.parametrize(
    ("ahead", "reported", "shift"),
    [
        ((), 0, 0),
        ((3600,), 3600, 3600),
        ((-3600,), -3600, -3600),
        ((0.4,), 0.4, 0),
        ((0, -20, -9), 0, -20),  # late: a message lives longer here, never shorter
        ((3600, 0), 3600, 0),  # corrected just now, or late
        ((3600, 0, 0, 0), 0, 0),
        ((-3600, 0), 0, -3600),
    ],
    ids=str,
)
def test_the_highest_sample_is_reported_and_the_lowest_corrects(
    ahead: tuple[float, ...], reported: float, shift: float
) -> None:
    found = clock(*ahead)
    assert (found.ahead, found.shift, found.is_told) == (reported * S, shift * S, bool(ahead))


def test_no_time_is_no_sample_and_an_impossible_one_is_bounded() -> None:
    assert (clock().shift, clock(EXACT / S).shift) == (0, EXACT)
    silent = OtherClock()
    silent.tells(0, HERE)
    assert (silent.ahead, silent.is_told) == (0, False)
    silent.shows(2**62, HERE)
    assert (silent.ahead, silent.is_told) == (FURTHEST, False)
