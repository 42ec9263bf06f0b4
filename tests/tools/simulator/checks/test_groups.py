"""The order in a message group is judged where it is promised, and nowhere else."""

from dataclasses import replace

import pytest

from tests.tools.queue_cases import BOB, FACTS, JOBS, OF_G, comes, gives, goes, takes
from tests.tools.simulator.checks.test_checks import history
from tests.tools.simulator.checks.test_queues import broken
from tools.simulator.checks import CHECKS
from tools.simulator.history import Event

LEFT = replace(goes(3.15), who="a", flags="")
OTHERS = [
    (goes(3.5), 1),  # while it waits: the other one must wait behind it
    (LEFT, 0),  # before the other one was put
    (takes(BOB, at=4.5), 0),  # so it may be at home elsewhere
    (replace(takes(BOB, at=4.5), domain="queue/mail"), 1),
    (takes(selector="kind == 'x'"), 0),
    (replace(comes(4.5), kind="came back"), 0),
    (Event(4.5, "by hand", ""), 0),
    (Event(4.5, "crash", "b"), 0),
    (Event(9.0, "crash", "b"), 1),
    (Event(2.5, "start", "b"), 0),
]


@pytest.mark.parametrize(("event", "found"), OTHERS, ids=[str(event) for event, _ in OTHERS])
def test_what_is_put_of_a_group_waits_behind_what_waits_while_all_goes_well(event: Event, found: int) -> None:
    overtaken = (*OF_G, replace(gives(2, 5.0), who="b"), gives(1, 5.1))
    assert broken("Q11", *overtaken, event) == found


@pytest.mark.parametrize(
    "how",
    [("5 0 g", "5 0 h"), ("5 0 g", "9 0 g"), ("5 300 g", "5 0 g"), ("", "")],
    ids=["another group", "another priority", "a delay", "none"],
)
def test_only_what_is_of_one_group_is_in_its_order(how: tuple[str, str]) -> None:
    puts = [replace(each, keys=(said, "x")) for each, said in zip(OF_G, how, strict=True)]
    assert broken("Q11", *puts, replace(gives(2, 5.0), who="b"), gives(1, 5.1)) == 0


def test_a_group_of_which_nothing_moves_is_not_held_to_its_order() -> None:
    events = history((*OF_G, replace(gives(2, 5.0), who="b"), gives(1, 5.1)))
    assert len(CHECKS["Q11"](events, FACTS)) == 1
    assert CHECKS["Q11"](events, replace(FACTS, staying=frozenset((JOBS,)))) == []
