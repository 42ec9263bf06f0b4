"""A transfer to a site: it ends when all of it is answered, and sends each value under one number."""

from mesh.features.sites.model.transfers import WINDOW, WINDOW_BYTES, SiteTransfer

STREAM = b"t" * 16


def sending(count: int, domain: str = "D") -> SiteTransfer:
    transfer = SiteTransfer(STREAM, [f"k{n}" for n in range(count)])
    for key in transfer.next_keys(count):
        transfer.assign_number((key, domain), 100)
    return transfer


def test_it_is_over_when_all_was_looked_at_and_answered() -> None:
    transfer = sending(3)
    assert (transfer.low, transfer.left, transfer.is_over) == (1, 3, False)
    transfer.apply_answer("D", 2, 3, True)
    assert (transfer.low, transfer.unanswered()) == (1, [(1, ("k0", "D"))])
    transfer.apply_answer("D", 1, 1, False)
    assert (transfer.low, transfer.refused, transfer.is_over) == (4, 1, True)
    assert SiteTransfer(STREAM, []).is_over, "there is nothing to send"
    assert not SiteTransfer(STREAM, ["a"]).is_over


def test_no_more_is_looked_at_while_the_window_is_full() -> None:
    transfer = sending(WINDOW)
    transfer.keys = [*transfer.keys[0:WINDOW], "more"]
    assert not transfer.next_keys(9)
    transfer.apply_answer("D", 5, 5, True)
    assert transfer.next_keys(9) == ["more"] and transfer.assign_number(("more", "D"), 100) == WINDOW + 1


def test_answers_that_nobody_asked_for_change_nothing() -> None:
    transfer = sending(3)
    for domain, first, last in (("E", 1, 3), ("D", 4, 2**62), ("D", 3, 1), ("D", 0, 0)):
        assert not transfer.is_about(domain, first, last)
        transfer.apply_answer(domain, first, last, True)
    assert transfer.left == 3 and transfer.is_about("D", 0, 2**62)


def test_nor_while_many_bytes_are_under_way() -> None:
    transfer = SiteTransfer(STREAM, ["a", "b", "c"])
    assert transfer.next_keys(1) == ["a"] and transfer.assign_number(("a", "D"), WINDOW_BYTES) == 1
    assert not transfer.next_keys(1)
    transfer.apply_answer("D", 1, 1, True)
    assert transfer.next_keys(9) == ["b", "c"]
