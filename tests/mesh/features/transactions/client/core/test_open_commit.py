"""Messages that wait for an outcome in doubt, and the order of resending."""

from __future__ import annotations

from mesh.features.transactions.client.core.open_commit import Held, OpenCommit, held_back, in_order, is_held
from mesh.wire.envelope import Envelope


def message(domain: str, first: int) -> Envelope:
    return Envelope(b"s" * 16, domain, first, first, ("k",), 1, 1, b"x")


def commit(number: int, *messages: Envelope, doubt: str = "") -> OpenCommit:
    it = OpenCommit(number, (), (), list(messages), {}, lambda it: None)
    it.is_doubtful, it.is_awaited = bool(doubt), doubt == "awaited"
    return it


def test_later_messages_of_a_domain_in_doubt_wait_and_those_behind_them() -> None:
    commits = [
        commit(1, message("a", 2), doubt="awaited"),
        commit(2, message("b", 1), doubt="over"),
        commit(3, message("c", 1)),
        commit(4, message("a", 4), message("d", 1)),
        commit(5, message("d", 3)),
    ]
    held = held_back(commits)
    assert held == {"a": 2, "d": 1}
    assert [is_held(each, held) for each in commits] == [True, False, False, True, True]
    waits: dict[tuple[str, int], bool] = {("a", 1): False, ("a", 3): True, ("b", 2): False, ("d", 2): True}
    assert {name: is_held(message(*name), held) for name in waits} == waits
    none: Held = {}
    assert not is_held(commits[0], none) and held_back(commits[1:3]) == none


def test_everything_keeps_the_order_of_its_first_sending() -> None:
    first, second = commit(1, message("a", 2)), commit(2, message("b", 2))
    first.before, second.before = {"a": 2, "b": 1}, {"a": 4, "b": 2}
    plain = [message("a", 1), message("a", 3), message("a", 4), message("b", 1), message("b", 3)]
    a1, a3, a4, b1, b3 = plain
    assert in_order([first, second], plain) == [a1, first, a3, b1, second, a4, b3]
    assert in_order([], plain) == plain
