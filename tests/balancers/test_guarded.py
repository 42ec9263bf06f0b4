"""A failing plug-in strategy costs no message."""

from typing import Any

import pytest

from mesh.balancers.base import Candidates, Message, NodeInfo, Registration, Strategy, Unread
from mesh.balancers.guarded import Guarded
from tests.balancers.candidates import chance, named

ABC = named("a b c")


class Foreign(Strategy):
    """A plug-in strategy that returns `answer`, or raises it if it is an exception."""

    def __init__(self, answer: Any) -> None:
        super().__init__(chance())
        self._answer = answer

    def _say(self) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def pick(self, candidates: Candidates, message: Message | None = None) -> str:
        return self._say()  # type: ignore[no-any-return]

    def assign(self, candidates: Candidates, n: int, message: Message | None = None) -> dict[str, int]:
        return self._say()  # type: ignore[no-any-return]

    def order(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        return self._say()  # type: ignore[no-any-return]

    def several(self, candidates: Candidates, message: Message | None = None) -> list[str]:
        return self._say()  # type: ignore[no-any-return]

    def started(self, node_info: NodeInfo) -> None:
        self._say()

    def registrations(self, delta: object) -> None:
        self._say()


def guarded(answer: Any) -> Guarded:
    return Guarded("Foreign", Foreign(answer), chance())


def test_what_is_right_is_handed_on() -> None:
    picking, assigning, ordering = guarded("b"), guarded({"a": 1, "c": 2}), guarded(["c", "a", "b"])
    assert picking.pick(ABC) == "b"
    assert assigning.assign(ABC, 3) == {"a": 1, "c": 2}
    assert ordering.order(ABC) == ["c", "a", "b"]
    assert (picking.faults, assigning.faults, ordering.faults) == (0, 0, 0)


@pytest.mark.parametrize("nonsense", ["d", None, 7, b"a", ["a"], ValueError("no idea")])
def test_instead_of_a_wrong_pick_comes_one_in_turn(nonsense: Any) -> None:
    balancer = guarded(nonsense)
    assert {balancer.pick(ABC) for _ in range(3)} == set("abc")
    assert balancer.faults == 3


@pytest.mark.parametrize(
    "nonsense",
    [
        {"a": 2},
        {"a": 4, "b": -1},
        {"a": 3, "b": 0},
        {"d": 3},
        {"a": 1.5, "b": 1.5},
        {},
        ["a"],
        None,
        OSError(),
    ],
)
def test_instead_of_wrong_counts_come_equal_ones(nonsense: Any) -> None:
    assert guarded(nonsense).assign(ABC, 3) == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize(
    "nonsense",
    [["a", "b"], ["a", "b", "c", "a"], ["a", "b", "d"], "abc", [["a"], "b", "c"], None, KeyError("x")],
)
def test_instead_of_a_wrong_order_comes_a_whole_one(nonsense: Any) -> None:
    assert sorted(guarded(nonsense).order(ABC)) == ["a", "b", "c"]


@pytest.mark.parametrize("right", [[], ["b"], ["c", "a"]])
def test_a_message_for_all_goes_to_whom_it_says(right: list[str]) -> None:
    balancer = guarded(right)
    assert (balancer.several(ABC), balancer.faults) == (right, 0)


@pytest.mark.parametrize("nonsense", [["d"], ["a", "a"], "a", {"a"}, None, [["a"]], KeyError("x")])
def test_instead_of_nonsense_it_goes_to_all(nonsense: Any) -> None:
    balancer = guarded(nonsense)
    assert (balancer.several(ABC), balancer.faults) == (["a", "b", "c"], 1)


def test_one_that_was_written_before_there_was_several_goes_on_working() -> None:
    class Old:
        def pick(self, candidates: Candidates, message: Message | None = None) -> str:
            return "b"

    balancer = Guarded("Old", Old(), chance())  # type: ignore[arg-type]
    assert (balancer.several(ABC), balancer.pick(ABC), balancer.faults) == (["a", "b", "c"], "b", 0)
    assert not balancer.reads_message


def test_one_that_reads_messages_says_so_through_the_guard() -> None:
    foreign = Foreign("b")
    foreign.reads_message = True  # type: ignore[misc]
    assert Guarded("Foreign", foreign, chance()).reads_message


def test_one_that_reads_what_it_did_not_ask_for_is_told() -> None:
    class Reader(Foreign):
        def pick(self, candidates: Candidates, message: Message | None = None) -> str:
            assert message is not None
            return message.headers.get("x") or ""

    balancer = Guarded("Reader", Reader("b"), chance())
    assert balancer.pick(ABC, Unread("a/b")) in "abc"
    assert "reads_message = True" in balancer.fault


def test_news_that_it_cannot_bear_hurts_nobody_else() -> None:
    balancer = guarded(RuntimeError("no"))
    balancer.started(NodeInfo("heron"))
    balancer.registrations([Registration("x", "a")])
    assert balancer.faults == 2


def test_a_fault_says_whose_it_is_and_what_it_was() -> None:
    balancer = guarded(ZeroDivisionError("division by zero"))
    balancer.pick(ABC)
    said = "balancer Foreign: pick raised ZeroDivisionError: division by zero; RoundRobin answered instead."
    assert balancer.fault == said
    other = guarded("d" * 1000)
    other.pick(ABC)
    assert "pick answered 'ddd" in other.fault and len(other.fault) < 200
