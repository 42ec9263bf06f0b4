"""The checks of queues know the limits of the promises, and no others."""

from dataclasses import replace

import pytest

from tests.tools.queue_cases import (
    ACKED,
    ANN,
    BEGAN,
    BOB,
    CRASH,
    DOUBLED,
    FACTS,
    JOBS,
    SETTLED,
    START,
    S,
    comes,
    gives,
    goes,
    opened,
    put,
    put_said,
    takes,
    there,
)
from tests.tools.simulator.checks.test_checks import history
from tools.simulator.checks import CHECKS
from tools.simulator.checks.facts import Facts
from tools.simulator.history import Event

MEMORY = replace(FACTS, in_memory=frozenset({("a", JOBS)}))
BACK = Event(4.5, "went back", "a")
WENT = Event(4.0, "went", "a", 1, S, JOBS, 1, to=FACTS.uuids["b"])


def broken(check: str, *events: Event, facts: Facts = FACTS) -> int:
    """Return how often these events violate a promise of queues."""
    in_time = sorted(events, key=lambda event: event.at)
    return len(CHECKS[check](history(tuple(in_time)), facts))


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


@pytest.mark.parametrize(("at", "found"), [(8.5, 1), (9.1, 0)])
def test_the_lease_of_a_consumer_that_came_again_counts_from_then_not_from_its_answer(
    at: float, found: int
) -> None:
    again = (takes(at=5.0, lease=4000), opened(ANN, at=5.5))
    assert broken("Q3", put(), takes(), takes(BOB), gives(), *again, gives(to=BOB, at=at)) == found


@pytest.mark.parametrize(("kind", "at", "found"), [("away", 6.0, 1), ("away", 10.0, 0), ("closed", 6.0, 0)])
def test_who_is_away_has_it_for_five_seconds_more(kind: str, at: float, found: int) -> None:
    gone = Event(4.5, kind, "a", to=takes().to)
    assert broken("Q3", put(), takes(), takes(BOB), gives(), gone, gives(to=BOB, at=at)) == found


@pytest.mark.parametrize(
    ("tries", "boot", "found"),
    [(1, 1, 1), (2, 1, 0), (1, 2, 0), (0, 2, 1)],
    ids=["same", "more", "crash", "none"],
)
def test_a_process_counts_each_attempt_and_the_next_one_knows_of_one_at_least(
    tries: int, boot: int, found: int
) -> None:
    events = (put(), gives(tries=1), replace(BEGAN, gap=1), gives(at=7.0, tries=tries, boot=boot))
    assert broken("Q5", *events) == found


def test_no_attempt_is_told_above_those_that_a_queue_allows() -> None:
    events = (put(), gives(tries=2), replace(BEGAN, gap=2), gives(at=7.0, tries=2))
    assert broken("Q5", *events) == 0


def test_what_was_put_and_is_transient_may_be_lost_with_a_process() -> None:
    for flags, ends, found in (("p", (CRASH,), 1), ("", (CRASH,), 0), ("", (), 1)):
        assert broken("Q2", put(flags=flags), put_said(), *ends) == found
    assert broken("Q2", put(), put_said("QUEUE_FULL"), gives(), ACKED) == 1
    assert broken("Q2", put(), Event(9.0, "open publish", "joe")) == 1


def test_a_message_waits_at_one_node_unless_somebody_has_forgotten_what_became_of_it() -> None:
    forgotten = Event(4.0, "fault", "b", text="forgotten")
    for before, facts, found in (
        ((), FACTS, 1),
        ((forgotten,), FACTS, 0),
        ((BACK,), FACTS, 0),
        ((CRASH,), FACTS, 1),
        ((CRASH,), MEMORY, 0),
    ):
        assert broken("Q1", put(), *before, DOUBLED, facts=facts) == found


@pytest.mark.parametrize(
    ("flags", "ends", "facts", "found"),
    [
        ("p", (), FACTS, 1),
        ("p", (CRASH,), FACTS, 1),
        ("", (CRASH,), FACTS, 0),
        ("p", (CRASH,), MEMORY, 0),
        ("p", (replace(CRASH, who="b"),), MEMORY, 1),
        ("p", (BACK,), FACTS, 0),
        ("p", (replace(BACK, who="b"),), FACTS, 1),
        ("p", (comes(4.0), replace(BACK, who="b")), FACTS, 0),
        ("p", (replace(WENT, at=4.0), replace(BACK, who="b")), FACTS, 0),
        ("p", (Event(4.0, "fault", "joe", text="queue removed", to=JOBS),), FACTS, 0),
    ],
)
def test_what_is_nowhere_may_be_lost_with_what_held_it(
    flags: str, ends: tuple[Event, ...], facts: Facts, found: int
) -> None:
    was_put = put(flags=flags), replace(put_said(), to="/node/a/client/joe/session/1")
    assert broken("Q1", *was_put, *ends, there(at=9.0), facts=facts) == found
    assert broken("Q2", *was_put, *ends, facts=facts) == found


@pytest.mark.parametrize(
    ("before", "said", "found"), [(0, 0, 1), (0, 1, 0), (1, 0, 0)], ids=["neither", "the second", "the first"]
)
def test_of_two_deliveries_one_says_so_where_a_store_went_back(before: int, said: int, found: int) -> None:
    first = (put(), gives(tries=before), replace(BEGAN, gap=before), SETTLED, BACK)
    again = gives(at=7.0, tries=said, boot=2)
    assert (broken("Q4", *first, again), broken("Q5", *first, again)) == (found, found)
    if not (before or said):
        assert broken("Q4", *first[:-1], replace(again, gap=1)) == 1


def test_another_node_says_that_something_was_begun_and_counts_on_from_what_it_was_told() -> None:
    there_again = replace(gives(at=7.0, tries=0), who="b")
    assert broken("Q5", put(), gives(), BEGAN, there_again) == 1
    assert broken("Q5", put(), gives(), BEGAN, replace(there_again, gap=1)) == 0


def test_what_has_moved_comes_at_any_place() -> None:
    late = gives(1, 5.0)
    assert broken("Q6", put(), put(2), gives(2), late) == 1
    assert broken("Q6", put(), put(2), gives(2), replace(late, flags="m")) == 0
    assert broken("Q6", put(), put(2), gives(2), replace(late, who="b")) == 0


def test_what_nobody_wants_moves_at_once_and_seldom_when_it_has_moved_often() -> None:
    seven = [comes(float(n)) for n in range(3, 10)]
    assert broken("Q8", *seven, goes(10.0, flags="")) == 0
    assert broken("Q8", *seven, comes(10.0), goes(11.0, flags="")) == 1
    assert broken("Q8", *seven, comes(10.0), goes(41.0, flags="")) == 0
    assert broken("Q8", *seven, comes(10.0), goes(41.0)) == 1
    assert broken("Q8", comes(10.0), goes(11.0, boot=2)) == 0


def test_what_was_done_in_a_queue_that_was_removed_may_come_again_and_says_so() -> None:
    settled, again = replace(SETTLED, at=4.2), replace(gives(at=9.0), gap=1)
    removed = Event(5.0, "fault", "boss", text="queue removed", to=JOBS)
    assert broken("Q4", put(), gives(), settled, removed, again) == 0
    assert broken("Q4", put(), gives(), settled, removed, replace(again, gap=0)) == 1
    assert broken("Q4", put(), gives(), settled, replace(removed, to="queue/other"), again) == 1
    assert broken("Q4", put(), gives(), settled, again, replace(removed, at=9.5)) == 1


@pytest.mark.parametrize(
    ("flags", "at", "who", "found"),
    [("", 3.05, "a", 0), ("p", 3.05, "a", 1), ("", 3.05, "b", 1), ("", 3.2, "a", 1)],
    ids=["transient", "persistent", "another node", "answered before"],
)
def test_what_is_put_anew_since_a_process_has_ended_without_an_answer_may_be_two(
    flags: str, at: float, who: str, found: int
) -> None:
    said = replace(put_said(at=3.1), to="/node/a/client/joe/session/1")
    before = (put(flags=flags), said, Event(at, "crash", who))
    settled, again = replace(SETTLED, at=4.2), gives(at=9.0, boot=2)
    assert broken("Q1", *before, DOUBLED) == found
    assert broken("Q4", *before, gives(), settled, again) == found
    assert broken("Q5", *before, gives(), BEGAN, again) == found
    assert broken("Q3", *before, takes(), takes(BOB), gives(), gives(to=BOB, at=9.0)) == found
    if flags and who == "a":
        assert broken("Q4", *before, gives(), settled, again, facts=MEMORY) == 0, "its queue is in memory"


@pytest.mark.parametrize(
    ("selector", "how", "found"),
    [
        ("", "", 0),
        ("kind == 'x'", "", 0),
        ("kind != 'x'", "", 1),
        ("priority > 5", "", 1),
        ("priority > 5", "9 0 ", 0),
    ],
)
def test_who_selects_is_given_nothing_else(selector: str, how: str, found: int) -> None:
    assert broken("Q10", replace(put(), keys=(how, "x")), takes(selector=selector), gives()) == found


def test_what_somebody_begins_is_what_was_put() -> None:
    for text, found in (("b1", 0), ("b2", 1)):
        assert broken("Q10", replace(put(), text="b1"), takes(), gives(), replace(BEGAN, text=text)) == found


def test_what_a_process_gives_with_its_last_words_nobody_holds() -> None:
    stop, start = Event(5.0, "stop", "a", 1), Event(5.5, "start", "a", 2)
    events = (put(), takes(), stop, gives(at=5.0), start, takes(BOB, at=6.0), gives(to=BOB, at=11.0, boot=2))
    assert broken("Q3", *events) == 0
    assert broken("Q3", *events, gives(at=12.0, boot=2)) == 1
