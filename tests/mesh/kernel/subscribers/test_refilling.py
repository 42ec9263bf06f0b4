"""A change between next hops that the rules name: the new one sends first what the former one had not."""

from __future__ import annotations

import pytest

from mesh.errors import LocalError
from mesh.kernel.subscribers.refill_source import RefillSource
from mesh.mapping.rules import Rule
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
