"""Decisions of the decision table: one for each question, and a bounded number of entries in each turn."""

from collections import Counter

import pytest

from mesh.mapping.decision import Decision, Kind
from mesh.routing import decision_table
from mesh.routing.decision_table import DecisionTable
from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import PendingForward
from tests.mesh.envelopes import envelope
from tests.mesh.origins import CLIENT

LOOKS = 10


class Court:
    """A node whose questions are keys; `way` maps each to a next hop. It counts its decisions and looks."""

    def __init__(self, **way: str) -> None:
        self.way = way
        self.onward = ForwardTable(10**9, 10**6)
        self.rulings = DecisionTable(
            self.onward, self.decide, lambda decision: None, self.look, self.end_later
        )
        self.has_end = False  # the turn has to be ended
        self.decided, self.looked = Counter[str](), list[int]()
        self.published = Counter[bytes]()

    def ruled(self, key: str) -> Decision:
        return Decision(Kind.FORWARD, "", self.way[key])

    def decide(self, entry: PendingForward) -> Decision:
        self.decided[entry.envelope.keys[0]] += 1
        return self.ruled(entry.envelope.keys[0])

    def look(self, entry: PendingForward, decision: Decision) -> None:
        self.looked.append(entry.serial)
        self.onward.set_next_hops(entry, decision.hops, decision.why)

    def publish(self, key: str, count: int = 1, stream: bytes = b"s" * 16) -> list[PendingForward]:
        entries = []
        for _ in range(count):
            self.published[stream] += 1
            e = envelope(key, first=self.published[stream], stream=stream)
            entry = self.onward.add(e, CLIENT, 0.0)
            decision = self.ruled(key)
            self.rulings.file(entry, key, decision)
            self.onward.set_next_hops(entry, decision.hops, decision.why)
            entries.append(entry)
        return entries

    def end_later(self) -> None:
        self.has_end = True

    def turn(self) -> int:
        """Run one turn of the loop, and return how many entries it looked at."""
        before = len(self.looked)
        self.rulings.go_on()
        assert self.has_end or not self.rulings.is_open, "the next turn would go on with nothing"
        if self.has_end:
            self.has_end = False
            self.rulings.new_turn()
        return len(self.looked) - before

    def left(self, hop: str) -> list[int]:
        return [entry.serial for entry in self.onward.next_to_send(hop, self.rulings.may_leave)]


@pytest.fixture(autouse=True)
def few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_table, "LOOKS", LOOKS)


def test_trial_18_6_a_question_is_decided_once_and_what_goes_on_as_before_is_not_looked_at() -> None:
    court = Court(A="heron", B="egret", C="egret")
    for key in ("A", "B", "C", "A"):
        court.publish(key, 100)
    court.rulings.mark_outdated()
    court.turn()
    assert court.decided == {"A": 1, "B": 1, "C": 1} and not court.looked
    court.way["B"] = "stork"
    court.rulings.mark_outdated()
    while court.rulings.is_open:
        court.turn()
    assert court.decided == {"A": 2, "B": 2, "C": 2}
    assert court.looked == list(range(101, 201))


def test_trial_18_6_a_turn_is_bounded_and_the_next_goes_on_where_it_was() -> None:
    court = Court(A="heron")
    court.publish("A", 35)
    court.way["A"] = "egret"
    court.rulings.mark_outdated()
    looks = []
    while court.rulings.is_open:
        looks.append(court.turn())
    assert looks == [LOOKS - 1, LOOKS, LOOKS, 35 - 3 * LOOKS + 1]
    assert court.looked == list(range(1, 36))


def test_only_a_turn_with_work_has_an_end() -> None:
    court = Court(A="heron")
    court.publish("A", 2)
    assert court.left("heron") == [1, 2] and not court.has_end
    court.rulings.mark_outdated()
    assert court.has_end
    court.turn()
    court.turn()
    assert not court.has_end
    assert all(court.rulings.takes_look() for _ in range(LOOKS)) and court.has_end
    assert not court.rulings.takes_look()


def test_trial_18_6_many_questions_are_not_decided_in_one_turn_either() -> None:
    keys = [f"k{n}" for n in range(35)]
    court = Court(**dict.fromkeys(keys, "heron"))
    for key in keys:
        court.publish(key)
    for turn in range(1, 4):
        court.rulings.mark_outdated()  # undecided entries come before decided ones
        court.turn()
        assert court.decided.total() == turn * LOOKS and max(court.decided.values()) == 1
    court.turn()
    assert len(court.decided) == 35


def test_trial_18_6_a_node_that_flaps_does_not_begin_it_anew() -> None:
    court = Court(A="heron", B="heron")
    court.publish("B", 3, b"b" * 16)
    court.publish("A", 50)
    court.way["A"] = "egret"
    for turn in range(12):
        court.way["B"] = ("stork", "heron")[turn % 2]
        court.rulings.mark_outdated()
        court.turn()
    assert set(range(4, 54)) <= set(court.looked)
    assert Counter(court.looked)[53] == 1, "what is done is not done again"
    assert court.left("egret") == list(range(4, 54))


def test_trial_18_6_nothing_leaves_by_an_older_decision() -> None:
    court = Court(A="heron")
    court.publish("A", 35)
    court.way["A"] = "egret"
    court.rulings.mark_outdated()
    assert court.left("heron") == [], "it is decided when it would leave"
    assert court.decided == {"A": 1}
    while court.rulings.is_open:
        court.turn()
        assert court.left("heron") == []
    assert court.left("egret") == list(range(1, 36))


def test_trial_18_6_what_is_published_meanwhile_does_not_overtake_its_own_stream() -> None:
    court = Court(A="heron", B="egret")
    court.publish("A", 35)
    court.way["A"] = "egret"
    court.rulings.mark_outdated()
    court.turn()
    court.publish("A", stream=b"o" * 16)  # no earlier message of this stream
    court.publish("A")  # follows the new decision, to egret
    came = court.left("egret")
    assert came == [*range(1, LOOKS), 36], "it waits for no other stream"
    while court.rulings.is_open:
        court.turn()
        came += court.left("egret")
    assert came == [*range(1, LOOKS), 36, *range(LOOKS, 36), 37]


def test_trial_18_6_two_questions_of_one_stream_keep_its_order() -> None:
    court = Court(A="heron", B="heron", C="heron")
    for key in "AB" * 20:
        court.publish(key)
    court.way.update(A="egret", B="egret")
    court.rulings.mark_outdated()
    came = court.left("egret")
    while court.rulings.is_open:
        court.turn()
        came += court.left("egret")
    assert came == list(range(1, 41))


def test_trial_18_6_it_goes_where_the_last_decision_says_though_it_changed_again_meanwhile() -> None:
    court = Court(A="heron")
    court.publish("A", 35)
    for way in ("egret", "stork", "heron", "egret"):
        court.way["A"] = way
        court.rulings.mark_outdated()
        court.turn()
    while court.rulings.is_open:
        court.turn()
    assert court.onward.hops() == ["egret"] and court.left("egret") == list(range(1, 36))


def test_trial_18_6_what_came_by_another_decision_than_the_others_is_looked_at() -> None:
    court = Court(A="heron")
    court.publish("A", 3)
    court.way["A"] = "egret"
    court.publish("A")  # the change is not announced yet
    court.way["A"] = "heron"
    court.rulings.mark_outdated()
    court.turn()
    assert court.left("heron") == [1, 2, 3, 4]


def test_trial_18_6_rulings_about_nothing_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_table, "USELESS", 5)
    court = Court(**{f"k{n}": "heron" for n in range(100)})
    court.rulings = DecisionTable(court.onward, court.decide, lambda decision: None, court.look, lambda: None)
    for n in range(100):
        for entry in court.publish(f"k{n}"):
            court.onward.remove_entry(entry)
    court.rulings.mark_outdated()
    court.turn()
    assert not court.decided and not court.rulings.is_open
    assert len(court.rulings._rulings) <= 6
