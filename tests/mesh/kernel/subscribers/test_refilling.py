"""A change between next hops that the rules name: the new one sends first what the former one had not."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from mesh.errors import LocalError
from mesh.kernel.subscribers.refill import Refill, is_master_of, next_hop
from mesh.kernel.subscribers.refill_source import RefillSource
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.wire.calls import AskRefill
from mesh.wire.replies import Refilled
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.masters import cluster
from tests.mesh.kernel.routes.chains import DIAMOND, K, diamond, way
from tests.simulated_client import SimClient


def publish(ann: SimClient, first: int, last: int) -> None:
    for number in range(first, last + 1):
        ann.publish(K, b"%d" % number, persistent=True, domain="NEWS")


def numbers(heard: object) -> list[int]:
    return [int(content) for content in heard.contents]  # type: ignore[attr-defined]


def test_42_what_a_dead_next_hop_had_not_passed_on_comes_before_newer_messages() -> None:
    # The rule of a key has another next hop, which is no matter of the domain.
    rules = {**DIAMOND, "bilbo": (*DIAMOND["bilbo"], Rule("heron", keys=("other",)))}
    c = cluster(*DIAMOND, rules=rules, known=tuple(DIAMOND), adopts_parents=True)
    c.net.until(lambda: way(c["bilbo"]) == ("bilbo", "frodo", "heron"))
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = joe.subscribed(K, domain="NEWS")
    c.net.run(1)
    publish(ann, 1, 5)
    c.net.until(lambda: numbers(heard) == [*range(1, 6)])
    c["frodo"].kill()
    for number in range(6, 30):
        publish(ann, number, number)
        c.net.run(0.25)
    c.net.until(lambda: numbers(heard) == [*range(1, 30)])
    assert c["bilbo"].metric("refilled_messages") > 0
    c["frodo"].restart()
    c.net.run(5)
    publish(ann, 30, 40)
    c.net.until(lambda: numbers(heard) == [*range(1, 41)])
    c.net.until(lambda: c["heron"].metric("refill_pins") == c["bilbo"].metric("refilling") == 0)


def test_42_a_next_hop_of_an_earlier_release_is_reported_and_messages_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(*_: object) -> None:
        raise LocalError("There is no such question.", code="UNKNOWN_VERB")

    monkeypatch.setattr(RefillSource, "_on_refill", unknown)
    c = diamond(adopts_parents=True)
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = joe.subscribed(K, domain="NEWS")
    c.net.run(1)
    c["frodo"].kill()
    c.net.until(lambda: any("cannot refill the log of the master" in note for note in c["bilbo"].notes))
    row = c["bilbo"].core.parts.refilling._parents.rows["NEWS"]
    assert row.number and not row.is_open, "the next refill takes the place of its pin"
    publish(ann, 1, 3)
    c.net.until(lambda: len(numbers(heard)) == 3)
    assert numbers(heard) == [1, 2, 3]


def test_42_the_master_keeps_the_missed_messages_over_a_restart_until_they_are_acknowledged() -> None:
    c = diamond(adopts_parents=True)
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = joe.subscribed(K, domain="NEWS")
    c.net.run(1)
    c.net.cut("bilbo", "frodo")
    publish(ann, 1, 5)
    c.net.until(lambda: c["bilbo"].metric("refilling") == 1)
    for name in ("heron", "bilbo", "sam"):
        c[name].kill()
    for name in ("heron", "bilbo", "sam"):
        c[name].restart()
    c.net.until(lambda: sorted(numbers(heard)) == [*range(1, 6)])  # the last one as the retained value
    c.net.until(lambda: c["heron"].metric("refill_pins") == c["bilbo"].metric("refilling") == 0)


def test_42_law_3_a_slave_that_crashes_before_its_disk_has_the_refill_leaves_no_pin() -> None:
    c = diamond(adopts_parents=True)
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    joe.subscribed(K, domain="NEWS", rate=0.0)
    c.net.run(1)
    c["bilbo"].worker.write_next = lambda: None  # type: ignore[method-assign]  # its disk is slow
    c.net.cut("bilbo", "frodo")
    publish(ann, 1, 5)
    c.net.until(lambda: c["bilbo"].metric("refilling") == 1)
    c.net.run(5)
    c["bilbo"].kill()
    c.net.heal()
    c["bilbo"].restart()
    c.net.until(lambda: joe.is_up and way(c["bilbo"]) == ("bilbo", "frodo", "heron"))
    c.net.run(5)
    assert c["heron"].metric("refill_pins") == c["bilbo"].metric("refilling") == 0


def test_42_first_values_follow_the_missed_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, can_answer = RefillSource._on_refill, list[bool]()

    def when_possible(self: RefillSource, asked: Any) -> None:
        if not can_answer:
            raise LocalError("There is no route.", code="MASTER_AWAY")
        answer(self, asked)

    monkeypatch.setattr(RefillSource, "_on_refill", when_possible)
    c = diamond(adopts_parents=True)
    eve, joe, ann = c.client("bilbo", "eve"), c.client("bilbo"), c.client("heron", "ann")
    eve.subscribed(K, domain="NEWS")
    c.net.run(1)
    c.net.cut("bilbo", "frodo")
    heard = joe.subscribe(K, domain="NEWS")
    c.net.run(1)
    publish(ann, 1, 3)
    c.net.until(lambda: c["bilbo"].metric("refilling") == 1)
    c.net.run(8)
    assert heard.is_confirmed and not numbers(heard)
    can_answer.append(True)
    c.net.until(lambda: c["bilbo"].metric("refilling") == 0)
    c.net.run(1)
    assert numbers(heard) == [1, 2, 3]


def test_a_page_has_only_the_missed_messages_of_its_domain() -> None:
    pages = [(4, "NEWS"), (5, "NEWS"), (6, "SPORT"), (7, "WEATHER")]
    envelopes = [envelope("a b", domain=domain, persistent=True) for _, domain in pages]
    page = Refilled(master=b"m" * 16, end=9, next=8, positions=[position for position, _ in pages])
    for domain, expected in (("NEWS", [5]), ("*", [7])):
        refill = Refill(AskRefill(slave=b"s" * 16, domain=domain, at=1), b"p" * 16, b"", 1, 4, b"refill")
        assert [each.position for each in refill.take_page(page, envelopes, ("NEWS", "SPORT"))] == expected
        assert (refill.ask.at, refill.ask.end, refill.master) == (8, 9, b"m" * 16)
        assert list(refill.open) == expected and not refill.is_complete


@pytest.mark.parametrize("is_backed", [False, True])
def test_a_domain_with_a_backup_is_not_refilled(is_backed: bool) -> None:
    rules = (Rule("heron", domains=("NEWS",)), Rule("frodo", domains=("NEWS",), backup=True))
    mapping, nodes = Mapping("bilbo", rules if is_backed else rules[:1], "mesh"), Mock()
    assert (next_hop(mapping, nodes, "NEWS") is None) == is_backed
    assert is_master_of("heron", mapping, nodes, "NEWS") == (not is_backed)


@pytest.mark.parametrize("masters", [1, 2])
def test_42_no_log_is_refilled_behind_several_masters(masters: int) -> None:
    both = tuple(Rule(name, domains=("NEWS",)) for name in ("heron", "twin")[:masters])
    rules = {"twin": both, **dict.fromkeys(("heron", "frodo", "sam"), both), "bilbo": DIAMOND["bilbo"]}
    c = cluster(*rules, rules=rules, known=tuple(rules), adopts_parents=True)
    c.net.until(lambda: way(c["bilbo"]) is not None)
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = joe.subscribed(K, domain="NEWS")
    c.net.run(1)
    c["frodo"].kill()
    publish(ann, 1, 3)
    c.net.until(lambda: way(c["bilbo"])[:2] == ("bilbo", "sam"))  # type: ignore[index]
    c.net.run(2)
    publish(ann, 4, 6)
    c.net.until(lambda: 6 in numbers(heard))
    missed = c["bilbo"].metric("refilled_messages")
    assert (numbers(heard), missed) == (([*range(1, 7)], 3) if masters == 1 else ([4, 5, 6], 0))


def test_42_a_refill_of_rules_that_ended_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise LocalError("There is no route.", code="MASTER_AWAY")

    monkeypatch.setattr(RefillSource, "_on_refill", away)
    c = diamond(adopts_parents=True)
    joe, ann = c.client("bilbo"), c.client("heron", "ann")
    heard = joe.subscribed(K, domain="NEWS")
    c.net.run(1)
    c["frodo"].kill()
    c.net.until(lambda: c["bilbo"].metric("refilling") == 1)
    c.net.run(2)
    publish(ann, 1, 3)
    c.net.run(1)
    assert not numbers(heard)
    c["bilbo"].core.parts.ruling.set_rules((Rule("heron", keys=(K,)),), ("heron",))
    c.net.until(lambda: numbers(heard) == [1, 2, 3])
    assert c["bilbo"].metric("refilling") == 0
