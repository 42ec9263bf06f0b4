"""The order in which facts are handled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mesh.kernel.context.fact_queue import FactQueue
from mesh.kernel.context.facts import Fact


@dataclass(frozen=True)
class First(Fact):
    n: int


@dataclass(frozen=True)
class Last(Fact):
    pass


@dataclass(frozen=True)
class VeryLast(Fact):
    pass


def test_facts_are_handled_in_order_with_those_that_handlers_publish() -> None:
    facts, heard = FactQueue(), list[Fact]()

    def on_first(fact: First) -> None:
        heard.append(fact)
        if fact.n < 3:
            facts.publish_fact(First(fact.n + 2))

    facts.publish_fact(First(1))
    facts.publish_fact(First(2))
    facts.dispatch({First: [on_first]})
    assert heard == [First(1), First(2), First(3), First(4)] and not facts.queue


def test_a_last_fact_is_handled_once_behind_all_others_and_then_may_come_again() -> None:
    facts, heard = FactQueue(), list[Fact]()

    def on_first(fact: First) -> None:
        heard.append(fact)
        facts.publish_last(Last())  # no second fact of this kind
        if fact.n == 1:
            facts.publish_fact(First(2))

    facts.publish_last(Last())
    facts.publish_fact(First(1))
    handlers: dict[type[Fact], list[Callable[[Any], None]]] = {First: [on_first], Last: [heard.append]}
    facts.dispatch(handlers)
    assert heard == [First(1), First(2), Last()] and not facts.last
    facts.publish_last(Last())
    facts.dispatch(handlers)
    assert heard[3:] == [Last()]


def test_several_kinds_of_last_facts_are_each_handled_once() -> None:
    facts, heard = FactQueue(), list[Fact]()
    facts.publish_last(Last())
    facts.publish_last(VeryLast())
    facts.publish_fact(First(1))
    facts.dispatch({kind: [heard.append] for kind in (First, Last, VeryLast)})
    assert heard == [First(1), Last(), VeryLast()]
