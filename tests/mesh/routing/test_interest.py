"""Queries that this node sends to its peers: each once, and every change once."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mesh.routing import interest as interest_module
from mesh.routing.interest import CLIENTS, LINGER, Interests
from mesh.wire.commands import Interest, Query
from tests.mesh.steps import steps

A, B, C = Query("exact", "a"), Query("pattern", "b/#"), Query("exact", "a", "sport")
X, Y, Z = b"x" * 16, b"y" * 16, b"z" * 16


def aimed(query: Query = A, *peers: bytes) -> Interests:
    """Return the interests after clients have asked for `query` and it was aimed at `peers`."""
    interests = Interests()
    interests.add(query, CLIENTS)
    interests.aim(query, set(peers), 0.0)
    return interests


# --- requesters ---------------------------------------------------------------------------------------


def test_only_the_first_and_the_last_of_each_who_wants_it_are_news() -> None:
    interests = Interests()
    assert interests.add(A, CLIENTS)
    assert not interests.add(A, CLIENTS)
    assert interests.add(A, X)
    assert interests.wanted_by(A) == {CLIENTS, X}
    assert not interests.remove_request(A, CLIENTS)
    assert interests.remove_request(A, CLIENTS)
    assert (interests.wanted_by(A), len(interests)) == ({X}, 1)
    assert interests.remove_request(A, X)
    assert (interests.wanted_by(A), interests.queries()) == (set(), [])
    assert not interests


def test_the_queries_that_want_a_key_are_found_among_many_as_among_few() -> None:
    def find(count: int) -> int:
        interests = Interests()
        for query in (A, B, C, *(Query("exact", f"room/{i}") for i in range(count))):
            interests.add(query, CLIENTS)
        interests.add(A, X)
        assert interests.matching("a", "") == [A] and interests.matching("a", "sport") == [A, C]
        assert interests.matching("b/c", "sport") == [B]
        taken = steps(lambda: interests.matching("a", "sport"))
        interests.remove_request(A, CLIENTS)
        assert interests.matching("a", "") == [A]
        interests.remove_request(A, X)
        assert interests.matching("a", "") == []
        return taken

    assert find(300) == find(30)


def test_whom_an_earlier_process_may_have_asked_is_asked_for_a_while_unless_it_is_asked_anyhow() -> None:
    interests = aimed(A, X)
    interests.add(B, CLIENTS)
    interests.aim(B, {Y}, 1.0)
    interests.asked_before(Y, (A, B, C), 1.0)  # no client requests C any more
    assert interests.full(Y, ()).add == (B, A)
    assert interests.sweep(1.0 + LINGER / 2, lambda peer: True) == []
    assert interests.sweep(1.0 + LINGER, lambda peer: True) == [(Y, Interest(2, False, remove=(A,)))]
    assert interests.is_asked(Y, "a", "")  # messages that were in transit may still arrive
    interests.asked_before(Y, (A,), 20.0)
    interests.aim(A, {Y}, 21.0)
    assert interests.sweep(22.0 + LINGER, lambda peer: True) == [(X, Interest(2, False, remove=(A,)))]


def test_the_same_text_in_another_domain_or_of_another_kind_is_another_query() -> None:
    interests = Interests()
    for query in (A, C, Query("pattern", "a")):
        assert interests.add(query, CLIENTS)
    assert len(interests) == 3


# --- peers that get a query -----------------------------------------------------------------------------


def test_a_peer_is_told_once_what_is_wanted_of_it() -> None:
    interests = Interests()
    interests.add(A, CLIENTS)
    assert interests.aim(A, {X}, 0.0) == [(X, Interest(1, False, add=(A,)))]
    assert interests.aim(A, {X}, 1.0) == []
    assert interests.aim(A, {X, Y}, 2.0) == [(Y, Interest(1, False, add=(A,)))]


def test_several_are_told_in_an_order_that_is_always_the_same() -> None:
    interests = Interests()
    interests.add(A, CLIENTS)
    assert [peer for peer, _ in interests.aim(A, {Z, X, Y}, 0.0)] == [X, Y, Z]


def test_a_peer_that_logs_in_hears_everything_that_it_was_asked_for_and_how_far_we_are() -> None:
    interests = aimed(A, X)
    interests.add(B, Y)
    interests.aim(B, {X, Z}, 0.0)
    full = interests.full(X, ((X, 7), (Z, 3)))
    assert full == Interest(2, True, (A, B), positions=((X, 7), (Z, 3)))
    assert interests.full(Z, ()).add == (B,)
    assert interests.full(b"new" * 4, ()) == Interest(0, True)


# --- peers that no longer get a query -------------------------------------------------------------------


def test_one_whose_place_another_took_is_asked_a_while_longer() -> None:
    interests = aimed(A, X)
    assert [peer for peer, _ in interests.aim(A, {Y}, 1.0)] == [Y]
    assert interests.sweep(1.0 + LINGER / 2, lambda peer: True) == []
    assert A in interests.interest_of(X).queries
    assert interests.sweep(1.0 + LINGER, lambda peer: True) == [(X, Interest(2, False, remove=(A,)))]
    assert interests.sweep(99.0, lambda peer: True) == []


def test_its_time_runs_from_the_moment_when_the_other_took_its_place() -> None:
    interests = aimed(A, X)
    interests.aim(A, {Y}, 0.0)
    interests.aim(A, {Y, Z}, LINGER - 1)
    assert [peer for peer, _ in interests.sweep(LINGER, lambda peer: True)] == [X]


def test_one_that_is_needed_again_in_time_never_hears_of_it() -> None:
    interests = aimed(A, X)
    interests.aim(A, {Y}, 0.0)
    assert interests.aim(A, {X}, 1.0) == []
    assert [peer for peer, _ in interests.sweep(LINGER + 1, lambda peer: True)] == [Y]


def test_one_that_is_away_is_waited_for() -> None:
    interests = aimed(A, X)
    interests.aim(A, {Y}, 0.0)
    assert interests.sweep(LINGER + 1, lambda peer: False) == []
    assert interests.sweep(LINGER + 2, lambda peer: True) == [], "it has just come back"
    assert [peer for peer, _ in interests.sweep(2 * LINGER + 1, lambda peer: True)] == [X]


def test_who_leaves_with_several_queries_hears_of_them_together() -> None:
    interests = aimed(A, X)
    interests.add(B, CLIENTS)
    interests.aim(B, {X}, 0.0)
    for query in (A, B):
        interests.aim(query, {Y}, 1.0)
    ((_, told),) = interests.sweep(1.0 + LINGER, lambda peer: True)
    assert (told.version, set(told.remove)) == (3, {A, B})


# --- messages checked against a peer's queries ---------------------------------------------------------


def test_trial_A4_a_peer_is_asked_for_what_matches_and_for_nothing_else() -> None:
    interests = aimed(C, X)
    interests.add(B, CLIENTS)
    interests.aim(B, {Y}, 0.0)
    assert interests.is_asked(X, "a", "sport") and not interests.is_asked(X, "a", "")
    assert interests.is_asked(Y, "b/c", "any") and not interests.is_asked(X, "b/c", "any")
    assert not interests.is_asked(Z, "a", "sport") and not interests.is_asked(X, "c", "")


def test_trial_A4_an_xpath_is_for_the_messages_whose_xml_it_matches() -> None:
    interests = aimed(Query("xpath", "//a"), X)
    assert interests.is_asked(X, "k", "", xml="<a/>")
    assert not interests.is_asked(X, "k", "", xml="<b/>"), "the key alone says nothing"


def test_trial_A4_what_a_peer_was_asked_for_before_another_may_still_come() -> None:
    interests = aimed(A, X)
    assert interests.is_asked(X, "a", "")
    interests.aim(A, {Y}, 0.0)
    interests.sweep(LINGER, lambda peer: True)
    assert A not in interests.interest_of(X).queries
    assert interests.is_asked(X, "a", ""), "its backlog for us may be long"
    interests.remove_request(A, CLIENTS)
    interests.aim(A, set(), LINGER)
    assert not interests.is_asked(X, "a", "") and not interests.is_asked(Y, "a", ""), "nobody wants it now"


def test_trial_A4_what_an_earlier_process_may_have_asked_is_what_is_wanted_now() -> None:
    interests = aimed(A, X)
    assert interests.is_asked(Z, "a", "", is_old=True) and not interests.is_asked(Z, "b", "", is_old=True)
    assert not interests.is_asked(Z, "a", "")


def test_trial_A4_what_is_remembered_of_peers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interest_module, "TOPICS", 10)
    monkeypatch.setattr(interest_module, "LEFT", 3)
    interests = aimed(B, X)
    for n in range(100):
        assert interests.is_asked(X, f"b/{n}", "")
    assert sum(map(len, interests.interest_of(X).topics.values())) <= 10
    for n in range(10):
        query = Query("exact", f"k{n}")
        interests.add(query, CLIENTS)
        interests.aim(query, {X}, 0.0)
        interests.aim(query, {Y}, 0.0)
    interests.sweep(LINGER, lambda peer: True)
    assert len(interests.interest_of(X).left) == 3


class InterestMachine(RuleBasedStateMachine):
    """Random changes of interests. Peers that apply each change always know their queries."""

    def __init__(self) -> None:
        super().__init__()
        self.interests = Interests()
        self.wants: dict[Query, list[bytes]] = {}
        self.targets: dict[Query, set[bytes]] = {A: {X}, B: {X}, C: {X}}
        self.known: dict[bytes, set[Query]] = {X: set(), Y: set(), Z: set()}
        self.versions = dict.fromkeys(self.known, 0)
        self.now = 0.0

    def hear(self, told: list[tuple[bytes, Interest]]) -> None:
        for peer, interest in told:
            assert interest.version == self.versions[peer] + 1
            self.versions[peer] += 1
            assert not set(interest.add) & self.known[peer]
            assert set(interest.remove) <= self.known[peer]
            self.known[peer] = (self.known[peer] | set(interest.add)) - set(interest.remove)

    @rule(query=st.sampled_from([A, B, C]), by=st.sampled_from([CLIENTS, X]))
    def want(self, query: Query, by: bytes) -> None:
        assert self.interests.add(query, by) == (by not in self.wants.get(query, ()))
        self.wants.setdefault(query, []).append(by)
        self.aim(query, self.targets[query])

    @rule(query=st.sampled_from([A, B, C]), by=st.sampled_from([CLIENTS, X]))
    def unwant(self, query: Query, by: bytes) -> None:
        if by in self.wants.get(query, ()):
            self.wants[query].remove(by)
            assert self.interests.remove_request(query, by) == (by not in self.wants[query])
            self.aim(query, self.targets[query])

    @rule(query=st.sampled_from([A, B, C]), peers=st.sets(st.sampled_from([X, Y, Z])))
    def aim(self, query: Query, peers: set[bytes]) -> None:
        self.targets[query] = peers
        self.hear(self.interests.aim(query, peers, self.now))

    @rule(seconds=st.sampled_from([1.0, LINGER]), here=st.sets(st.sampled_from([X, Y, Z])))
    def sweep(self, seconds: float, here: set[bytes]) -> None:
        self.now += seconds
        self.hear(self.interests.sweep(self.now, here.__contains__))

    @invariant()
    def each_target_knows_what_is_wanted_of_it_and_nobody_what_is_not(self) -> None:
        for query, targets in self.targets.items():
            knowing = {peer for peer in self.known if query in self.known[peer]}
            if not self.wants.get(query):
                assert not knowing
            else:
                assert targets <= knowing
                assert targets or not knowing
        for peer, known in self.known.items():
            assert set(self.interests.full(peer, ()).add) == known

    def teardown(self) -> None:
        for seconds in (0.0, LINGER):  # long enough for all peers
            self.now += seconds
            self.hear(self.interests.sweep(self.now, lambda peer: True))
        self.now += LINGER
        self.hear(self.interests.sweep(self.now, lambda peer: True))
        for query, targets in self.targets.items():
            assert {p for p in self.known if query in self.known[p]} == (
                targets if self.wants.get(query) else set()
            )


TestInterests = InterestMachine.TestCase
TestInterests.settings = settings(stateful_step_count=30)
