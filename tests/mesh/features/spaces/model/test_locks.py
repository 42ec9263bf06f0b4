"""The locks of one space: owners, tokens, leases and the order of waiting clients."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from mesh.features.spaces.model import locks as model
from mesh.features.spaces.model.locks import Answer, Claim, Locks, Request

LEASE = 10.0
NUMBERS = count(1)


class Home:
    """A table of locks whose changes are stored when a test says so."""

    def __init__(self, quiet_until: float = 0.0) -> None:
        self.locks = Locks(quiet_until)
        self.now = 0.0
        self.tokens = count(1)
        self.count = count(1)
        self.granted: list[tuple[str, int]] = []

    def ask(
        self, client: str, *, name: str = "l", number: int = 1, stamp: int = 0, may_wait: bool = True
    ) -> Answer | None:
        claim = Claim(Request(client.encode(), number), LEASE, client, since=stamp or next(NUMBERS))
        return self.locks.ask(name, claim, next(self.count), may_wait, self.now)

    def release(self, client: str, number: int = 1) -> bool:
        return self.locks.release("l", Request(client.encode(), number), self.now)

    def renew(self, client: str, token: int) -> Answer:
        return self.locks.renew("l", client.encode(), token, next(self.count), self.now)

    def store(self) -> list[str]:
        """Store all changes, and return the new owners."""
        owners = []
        while self.locks.changes:
            change = self.locks.changes.pop(0)
            token = next(self.tokens) if change.owner is not None else 0
            owner = self.locks.on_stored(change.name, token, self.now)
            if owner is not None:
                owners.append(owner.client)
        return owners

    def pass_time(self, seconds: float) -> list[str]:
        self.now += seconds
        self.locks.tick(self.now)
        self.locks.review(self.now)
        return self.store()


@pytest.fixture
def home() -> Home:
    return Home()


def test_law_1_a_lock_is_granted_after_the_commit_and_has_one_owner(home: Home) -> None:
    assert home.ask("a") is None and home.ask("b") is None
    assert home.ask("a") is None, "the commit is awaited"
    assert home.store() == ["a"]
    assert home.ask("a") == Answer(1, waiting=1)
    assert home.store() == [] and home.ask("b") is None
    assert home.release("a") is True
    assert home.renew("a", 1).code == "LOCK_LOST", "even before the release is stored"
    assert home.store() == ["b"]
    assert home.ask("b") == Answer(2)


def test_a_free_lock_has_no_state(home: Home) -> None:
    home.ask("a")
    home.store()
    assert len(home.locks) == 1
    home.release("a")
    assert home.store() == [] and len(home.locks) == 0
    assert home.ask("a", may_wait=False, number=2) is None and home.store() == ["a"]
    assert home.ask("b", may_wait=False) == Answer(code="LOCK_HELD") and home.locks.waiting == 0


def test_a_request_that_may_not_wait_waits_for_a_commit(home: Home) -> None:
    assert home.ask("a", may_wait=False) is None and home.locks.is_next("l", Request(b"a", 1), 0)
    assert home.ask("b", may_wait=False) == Answer(code="LOCK_HELD")
    home.store()
    home.release("a")
    assert home.ask("b", may_wait=False) is None and home.locks.is_next("l", Request(b"b", 1), 0)
    assert home.ask("c", may_wait=False) == Answer(waiting=1, code="LOCK_HELD")
    assert home.store() == ["b"]
    home.ask("c")
    assert not home.locks.is_next("l", Request(b"c", 1), 0)


def test_law_2_a_lease_begins_when_its_grant_is_stored_and_a_renewal_extends_it(home: Home) -> None:
    home.ask("a")
    home.now += 5
    assert home.store() == ["a"]
    home.ask("b")
    assert home.pass_time(LEASE - 1) == []
    home.ask("b")
    assert home.renew("a", 1) == Answer(1, waiting=1)
    assert home.pass_time(LEASE - 1) == []
    home.ask("b")
    assert home.pass_time(2) == ["b"]
    assert home.renew("a", 1).code == "LOCK_LOST"
    assert home.ask("a") is None, "after its lease a client may wait again"


def test_law_3_the_lowest_ticket_is_next_unless_its_client_has_stopped_asking(home: Home) -> None:
    home.ask("a")
    home.store()
    home.ask("late", stamp=3_000_000)
    home.ask("early", stamp=1_000_000)
    home.ask("gone", stamp=10)
    before = home.locks.waiting_for("l", Request(b"late", 1))
    assert [each.client for each in before] == ["gone", "early"]
    for _ in range(3):
        home.now += LEASE / 3 + 0.1
        home.renew("a", 1)
        for client in ("late", "early"):
            assert home.ask(client) is None
    assert home.locks.waiting == 3
    home.release("a")
    assert home.store() == ["early"] and home.locks.waiting == 1
    home.release("early")
    assert home.store() == ["late"]


def test_law_4_only_the_owner_with_its_token_renews_and_an_old_renewal_changes_nothing(home: Home) -> None:
    home.ask("a")
    home.store()
    assert home.renew("b", 1).code == home.renew("a", 2).code == "LOCK_LOST"
    assert home.renew("a", 1) == Answer(1)
    home.now += LEASE - 1
    for replay in range(3):
        assert home.locks.renew("l", b"a", 1, replay, home.now) == Answer(1)
    assert home.pass_time(2) == [] and home.renew("a", 1).code == "LOCK_LOST"


def test_a_copy_of_a_request_that_has_ended_is_granted_nothing(home: Home) -> None:
    home.ask("a")
    home.store()
    home.ask("b")
    home.release("a")
    assert home.store() == ["b"]
    assert home.ask("a") == Answer(code="LOCK_LOST")
    home.release("c")
    assert home.ask("c") == Answer(code="LOCK_LOST"), "the release has overtaken the request"
    assert home.ask("a", number=2) is None


def test_a_grant_whose_client_gave_up_meanwhile_ends_at_once(home: Home) -> None:
    home.ask("a")
    home.ask("b")
    assert home.release("a") is True
    assert home.store() == ["b"]
    home.ask("c")
    assert home.release("c") is False and home.locks.waiting == 0


def test_two_uses_of_one_client_exclude_each_other(home: Home) -> None:
    home.ask("a", number=1)
    home.store()
    assert home.ask("a", number=2) is None and home.store() == []
    home.release("a", 2)
    assert home.renew("a", 1) == Answer(1)
    home.ask("a", number=3)
    home.release("a", 1)
    assert home.store() == ["a"]


def test_a_grant_that_cannot_be_stored_is_tried_again_for_the_next(home: Home) -> None:
    home.ask("a")
    home.ask("b")
    refused = home.locks.on_failed(home.locks.changes.pop().name)
    assert refused is not None and refused.client == "a"
    assert home.pass_time(1) == ["b"]
    home.release("b")
    home.locks.on_failed(home.locks.changes.pop().name)
    assert home.pass_time(1) == [] and len(home.locks) == 0, "the row was removed later"


def test_an_owner_has_a_full_lease_after_a_restart_and_none_is_granted_before_quiet_ends() -> None:
    home = Home(quiet_until=20.0)
    home.locks.restore("l", Claim(Request(b"a", 1), LEASE, "a"), 7, home.now)
    assert home.renew("a", 7) == Answer(7)
    home.ask("b")
    assert home.pass_time(LEASE) == []
    home.ask("b")
    assert home.pass_time(LEASE - 1) == [] and home.ask("b") is None
    assert home.pass_time(2) == ["b"]


def test_the_limits_of_waiting_clients_hold(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "WAITERS", 2)
    monkeypatch.setattr(model, "ALL_WAITERS", 3)
    for name in ("l", "k"):
        home.ask("a", name=name)
        home.store()
    assert home.ask("b") is home.ask("c") is None
    assert home.ask("d") == Answer(waiting=2, code="TOO_MANY_LOCKS")
    assert home.ask("d", name="k") is None
    assert home.ask("e", name="k") == Answer(waiting=1, code="TOO_MANY_LOCKS")
    home.pass_time(LEASE)
    assert home.locks.waiting == 0, "none has asked again"


def changes(home: Home) -> Iterator[bool]:
    while home.locks.changes:
        change = home.locks.changes.pop(0)
        home.locks.on_stored(change.name, 1 if change.owner else 0, home.now)
        yield change.is_watched


def test_the_changes_of_a_lock_with_a_value_are_watched(home: Home) -> None:
    claim = Claim(Request(b"a", 1), LEASE, "a", (b"value", b""), 1)
    home.locks.ask("l", claim, 1, True, home.now)
    home.release("a", 2)
    assert list(changes(home)) == [True]
    home.release("a")
    assert list(changes(home)) == [True]
    home.ask("b")
    home.ask("c")
    home.release("b")
    assert list(changes(home)) == [False, False]


def test_the_table_does_not_grow_with_uses(home: Home) -> None:
    for number in range(1, 2000):
        home.ask("a", number=number)
        home.store()
        home.release("a", number)
        home.store()
    assert len(home.locks._ends) <= 2 and len(home.locks._looks) == 1 and not home.locks._locks
