"""Do the checks of queues know the limits of what is promised, and no others?"""

from dataclasses import replace

import pytest

from tests.tools.queue_cases import (
    ACKED,
    BEGAN,
    BOB,
    CRASH,
    QUEUES,
    START,
    gives,
    opened,
    put,
    put_said,
    takes,
)
from tests.tools.test_simulated_checks import history
from tools.simulating.checks import CHECKS
from tools.simulating.history import Event


def broken(check: str, *events: Event) -> int:
    """How often they break a promise of queues."""
    in_time = sorted(events, key=lambda event: event.at)
    return len(CHECKS[check](history(tuple(in_time)), QUEUES[check][0]))


@pytest.mark.parametrize(
    ("before", "at", "found"),
    [
        ((takes(BOB),), 7.0, 0),
        ((takes(BOB),), 12.0, 1),
        ((), 7.0, 1),
        ((takes(BOB), takes(BOB, 2.5, "e")), 7.0, 1),
    ],
    ids=["took before", "is back too late", "takes for the first time", "took no more"],
)
def test_after_a_crash_who_took_before_may_be_believed_to_have_what_another_had(
    before: tuple[Event, ...], at: float, found: int
) -> None:
    his = (takes(BOB, at), opened(at=at + 1.0))
    assert broken("Q3", put(), takes(), *before, gives(), CRASH, START, *his) == found


@pytest.mark.parametrize(("lease", "at", "found"), [(0, 60.0, 1), (4000, 60.0, 0), (4000, 6.0, 1)])
def test_what_somebody_has_for_a_time_is_anybodys_after_it(lease: int, at: float, found: int) -> None:
    assert broken("Q3", put(), takes(lease=lease), takes(BOB), gives(), gives(to=BOB, at=at)) == found


@pytest.mark.parametrize(("kind", "at", "found"), [("away", 6.0, 1), ("away", 10.0, 0), ("closed", 6.0, 0)])
def test_who_is_away_has_it_for_five_seconds_more(kind: str, at: float, found: int) -> None:
    gone = Event(4.5, kind, "a", to=takes().to)
    assert broken("Q3", put(), takes(), takes(BOB), gives(), gone, gives(to=BOB, at=at)) == found


@pytest.mark.parametrize(
    ("tries", "boot", "found"),
    [(2, 1, 1), (3, 1, 0), (1, 2, 0), (0, 2, 1)],
    ids=["same", "more", "crash", "none"],
)
def test_a_process_counts_each_attempt_and_the_next_one_knows_of_one_at_least(
    tries: int, boot: int, found: int
) -> None:
    events = (put(), gives(tries=2), replace(BEGAN, gap=2), gives(at=7.0, tries=tries, boot=boot))
    assert broken("Q5", *events) == found


def test_what_was_put_and_is_transient_may_be_lost_with_a_process() -> None:
    for flags, ends, found in (("p", (CRASH,), 1), ("", (CRASH,), 0), ("", (), 1)):
        assert broken("Q2", put(flags=flags), put_said(), *ends) == found
    assert broken("Q2", put(), put_said("QUEUE_FULL"), gives(), ACKED) == 1
    assert broken("Q2", put(), Event(9.0, "open publish", "joe")) == 1
