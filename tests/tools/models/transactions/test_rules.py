"""The rules about transactions and shared data, by example."""

from typing import Any

from mesh.features.spaces.model.locks import is_lock_free
from mesh.features.transactions.model.rules import Verdict, commit_verdict
from mesh.flow import leash
from mesh.routing.branches import PREPARED
from tests.each import each
from tools.models.transactions import rules

CASES: list[tuple[Any, tuple[Any, ...], Any]] = [
    (commit_verdict, ("", False, True), Verdict.RUN),
    (commit_verdict, ("", False, False), Verdict.REFUSE),
    (commit_verdict, ("", True, True), Verdict.AWAIT),
    (commit_verdict, (rules.REFUSED, False, True), Verdict.REPEAT),
    (commit_verdict, (rules.COMMITTED, True, True), Verdict.AWAIT),  # not visible everywhere
    (rules.question_verdict, ("", False), Verdict.REFUSE),
    (rules.question_verdict, (rules.COMMITTED, False), Verdict.REPEAT),
    (rules.question_verdict, ("", True), Verdict.AWAIT),
    (rules.is_delivery_held, (rules.IDLE,), False),
    (rules.is_delivery_held, (PREPARED,), True),
    (rules.is_delivery_held, (rules.REFUSING,), False),
    (rules.stream_waits, (rules.IDLE,), False),
    (rules.stream_waits, (PREPARED,), False),
    (rules.stream_waits, (rules.FINISHING,), True),
    (rules.lowest_number, ((5, 3), 9), 3),
    (rules.lowest_number, ((), 9), 9),
    (rules.is_repeat, (2, 3, frozenset()), True),
    (rules.is_repeat, (4, 3, frozenset({4})), True),
    (rules.is_repeat, (3, 3, frozenset({4})), False),
    (leash.is_majority, (2, 3), True),
    (leash.is_majority, (1, 3), False),
    (leash.is_majority, (2, 4), False),
    (leash.leash_left, (8, 3), 5),
    (leash.may_serve, (True, True, 1), True),
    (leash.may_serve, (True, True, 0), False),
    (leash.may_serve, (True, False, 0), True),
    (leash.may_serve, (False, False, 1), False),
    (leash.may_grant_claim, (2, 1, 0, False), True),
    (leash.may_grant_claim, (2, 1, 3, False), False),
    (leash.may_grant_claim, (2, 1, 3, True), True),
    (leash.may_grant_claim, (2, 2, 0, True), False),
    (rules.next_generation, (4,), 5),
    (is_lock_free, (False, 0, 0), True),
    (is_lock_free, (True, 1, 0), False),
    (is_lock_free, (True, 0, 0), True),
    (is_lock_free, (False, 0, 1), False),
    (rules.quiet_time, (30, False), 30),
    (rules.quiet_time, (30, True), 0),
    (rules.lease_at_client, (30, 4), 26),
    (rules.lease_at_start, (30,), 30),
    (rules.version_after_force, (3, (1, 17)), (3, 0)),
]


@each("case", CASES, lambda case: f"{case[0].__name__}{case[1]}")
def test_each_rule_decides_by_its_arguments_alone(case: tuple[Any, tuple[Any, ...], Any]) -> None:
    rule, arguments, result = case
    assert rule(*arguments) == result


def test_each_rule_has_an_example() -> None:
    public = {name for name, one in vars(rules).items() if getattr(one, "__module__", "") == rules.__name__}
    assert public == {rule.__name__ for rule, _, _ in CASES if rule.__module__ == rules.__name__}
