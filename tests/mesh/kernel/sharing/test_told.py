"""The choice of nodes that are asked for shared rows, and the pauses between questions."""

from mesh.discovery.state import Summary
from mesh.kernel.sharing.told import AGAIN, SETTLED, WHOLE, Told, is_worth_asking
from mesh.shared.table import ROWS

UUID = b"u" * 16


def of(stamp: int, digest: bytes = b"x") -> Summary:
    return Summary("queue", stamp, digest)


def test_who_has_the_same_rows_is_not_asked_whichever_deletions_it_still_has() -> None:
    assert not is_worth_asking(of(5), of(5), 100.0)
    assert not is_worth_asking(of(4), of(5), 100.0)
    assert is_worth_asking(of(6), of(5), 0.0), "the newest may be a deletion"
    assert not is_worth_asking(of(9, b""), of(5), 100.0)


def test_who_has_other_rows_and_nothing_newer_is_asked_when_nothing_changes_any_more() -> None:
    assert not is_worth_asking(of(5, b"y"), of(5), SETTLED - 0.1)
    assert is_worth_asking(of(5, b"y"), of(5), SETTLED)


def test_each_boast_is_asked_about_once_and_again_when_it_was_not_answered() -> None:
    told = Told()
    assert told.may_ask(UUID, of(2), of(1), 0.0)
    told.asks(UUID)
    assert not told.may_ask(UUID, of(3), of(1), 0.0), "it has a question of ours"
    told.record_reply(UUID, "queue", True)
    assert not told.may_ask(UUID, of(2), of(1), 1e9)
    assert told.may_ask(UUID, of(3), of(1), 0.0) and told.may_ask(UUID, of(3), of(2), 0.0)
    told.record_reply(UUID, "queue", False)
    assert told.may_ask(UUID, of(3), of(2), 0.0)


def test_what_was_passed_over_is_asked_for_again_after_a_while() -> None:
    told = Told()
    assert told.may_ask(UUID, of(2), of(1), 0.0)
    told.passed_over(UUID, "queue", 0.0)
    assert not told.may_ask(UUID, of(2), of(1), AGAIN - 1) and not told.is_passed_over(
        UUID, "queue", AGAIN - 1
    )
    assert told.is_passed_over(UUID, "queue", AGAIN) and told.may_ask(UUID, of(2), of(1), AGAIN)
    assert not told.may_ask(UUID, of(2), of(1), 2 * AGAIN), "once"


def test_the_whole_of_a_large_table_is_asked_for_seldom() -> None:
    told = Told()
    assert told.may_ask_for_all(UUID, "queue", 0.0)
    told.asks_for_all(UUID, "queue", ROWS // 2, 0.0)
    assert not told.may_ask_for_all(UUID, "queue", WHOLE / 2 - 1) and told.may_ask_for_all(
        UUID, "queue", WHOLE / 2
    )
    assert told.may_ask_for_all(UUID, "site", 1.0)
    told.forget_node(UUID)
    assert told.may_ask_for_all(UUID, "queue", 1.0)
