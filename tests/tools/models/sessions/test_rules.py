"""The rules about moving sessions, by example."""

from typing import Any

from tests.each import each
from tools.models.sessions import rules
from tools.models.sessions.rules import Verdict

HELD = 0b11010  # positions 1, 3 and 4
CASES: list[tuple[Any, tuple[Any, ...], Any]] = [
    (rules.is_visit_admitted, (3, 2), True),
    (rules.is_visit_admitted, (3, 3), False),
    (rules.is_outdated, (2, 3), True),
    (rules.is_outdated, (3, 3), False),
    (rules.former_nodes, (0b001, 1, 2), 0b011),
    (rules.former_nodes, (0b101, 1, 2), 0b011),  # the visited node leaves the former nodes
    (rules.cursors, ((0b0110, 0),), (2, 0)),
    (rules.may_give_up, (2, 2), True),
    (rules.may_give_up, (2, 3), False),
    (rules.may_give_up, (0, 0), False),
    (rules.resumed_range, (0, 4), (1, 4)),
    (rules.resumed_range, (3, 4), (3, 4)),
    (rules.remaining_range, (1, 4, 0b0110), (3, 4)),
    (rules.remaining_range, (1, 4, 0b1000), (1, 4)),
    (rules.remaining_range, (1, 2, 0b0110), None),
    (rules.is_covered, (2, 2, True, True), True),
    (rules.is_covered, (3, 2, True, True), False),
    (rules.is_covered, (2, 2, False, True), False),
    (rules.is_covered, (2, 2, True, False), False),
    (rules.held_after_resume, (HELD, 3), 0b10000),
    (rules.deliverable, (0b10, 0b100, False), 0b10),
    (rules.deliverable, (0b10, 0b100, True), 0b110),
    (rules.settled_position, (5, 0), 5),
    (rules.settled_position, (5, HELD), 0),
    (rules.settled_position, (5, 0b11000), 2),
    (rules.slave_position, (5, 0), 6),
    (rules.slave_position, (5, 0b11000), 3),
    (rules.confirmed_masters, (0b11, 0b10), 0b01),
    (rules.confirmed_masters, (0b11, 0), 0b11),
    (rules.is_closed, (0b11, 0b11), True),
    (rules.is_closed, (0b01, 0b11), False),
    (rules.is_accepted, (2, 0b1010), True),
    (rules.is_accepted, (3, 0b1010), False),
    (rules.number_verdict, (1, 0), Verdict.NEW),
    (rules.number_verdict, (3, 0b110), Verdict.NEW),
    (rules.number_verdict, (2, 0b1010), Verdict.LATE),
    (rules.number_verdict, (3, 0b1010), Verdict.REPEAT),
    (rules.unanswered, (0b1110, 0b0010, 0b0100, 0b1000), 0b1000),
    (rules.is_claimable, (True, 2), True),
    (rules.is_claimable, (True, -1), False),
    (rules.is_claimable, (False, 2), False),
    (rules.keeps_delivery, (True, 2), True),
    (rules.keeps_delivery, (False, 2), False),
    (rules.keeps_delivery, (True, -1), False),
    (rules.is_redelivered, (False, True), True),
    (rules.is_redelivered, (True, False), True),
    (rules.is_redelivered, (False, False), False),
]


@each("case", CASES, lambda case: f"{case[0].__name__}{case[1]}")
def test_each_rule_decides_by_its_arguments_alone(case: tuple[Any, tuple[Any, ...], Any]) -> None:
    rule, arguments, result = case
    assert rule(*arguments) == result


def test_each_rule_has_an_example() -> None:
    public = {name for name, one in vars(rules).items() if getattr(one, "__module__", "") == rules.__name__}
    assert public - {rule.__name__ for rule, _, _ in CASES} == {"Verdict"}
