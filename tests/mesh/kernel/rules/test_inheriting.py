"""A new master takes over the retained values of the old one, and nothing else."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mesh.kernel.asking.lookup_result import LastValue, LookupResult
from mesh.kernel.context.node_clock import AHEAD
from mesh.kernel.rules.inheriting import ASKED, Inheriting, query_of
from mesh.kernel.rules.ruling import ENDS, SWITCH
from mesh.mapping.rules import ANY, DOMAIN, EXACT, FILTER, PATTERN, XPATH, KeyRule, Rule
from mesh.wire.commands import Query
from tests.mesh.kernel.rules.changing import AVALON, HERON, D, adopt, contents, mesh
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def three() -> tuple[SimNetwork, list[SimNode]]:
    """Return heron, which is the master, avalon and bilbo."""
    net = SimNetwork(1)
    return net, net.mesh("heron", "avalon", "bilbo", rules=HERON)


def changed(persistent: bool = False) -> tuple[SimNetwork, list[SimNode]]:
    """Let all nodes adopt avalon as the master of k, of which heron has a value."""
    net, nodes = three()
    pub = client_of(nodes[2], "pub")
    pub.publish("k", b"1", domain=D, persistent=persistent)
    pub.settled()
    for node in nodes:
        adopt(node, AVALON)
    net.run(SWITCH + 0.1)
    return net, nodes


def inheriting_of(node: SimNode) -> Inheriting:
    return next(part for part in node.core.parts.context.face if isinstance(part, Inheriting))


def last(node: SimNode) -> bytes | None:
    value = node.core.parts.router.log.retained.get("k", D)
    return None if value is None else value.data


def test_within_the_minute_both_are_asked_and_then_it_is_there() -> None:
    net, (heron, avalon, bilbo) = changed()
    assert contents(client_of(bilbo, "x")) == [b"1"]
    assert last(avalon) is None
    net.run(ASKED[0] + 1)
    assert last(avalon) == b"1"
    net.run(ENDS)
    heron.kill()
    net.run(30)
    assert contents(client_of(bilbo, "y")) == [b"1"]


@pytest.mark.parametrize(("is_persistent", "left"), [(True, b"1"), (False, None)])
def test_what_is_persistent_is_on_its_disk(is_persistent: bool, left: bytes | None) -> None:
    net, (_, avalon, _) = changed(is_persistent)
    net.run(ASKED[0] + 1)
    avalon.restart()
    net.run(1)
    assert last(avalon) == left


def test_what_was_published_since_stays() -> None:
    net, (_, avalon, bilbo) = changed()
    pub = client_of(bilbo, "other")
    pub.publish("k", b"2", domain=D)
    pub.settled()
    net.run(ASKED[-1] + 1)
    assert last(avalon) == b"2"
    assert last(bilbo) is None, "it is no new master"


def test_what_was_erased_since_does_not_come_back() -> None:
    net, (_, avalon, bilbo) = changed()
    client_of(bilbo, "other").erase("k", domain=D)
    net.run(ASKED[-1] + 1)
    assert last(avalon) is None and contents(client_of(bilbo, "x")) == []


def test_what_was_erased_does_not_come_back_from_who_did_not_hear_of_it() -> None:
    net, (heron, avalon, _) = changed()
    net.run(ASKED[0] + 1)
    for other in ("avalon", "bilbo"):
        net.cut("heron", other)
    client_of(avalon, "other").erase("k", domain=D)
    net.run(5)
    assert last(avalon) is None
    net.heal()
    net.run(ASKED[-1])
    assert last(heron) == b"1" and last(avalon) is None


def test_a_way_asks_for_nothing() -> None:
    net, nodes = mesh(HERON)
    adopt(nodes[2], (*HERON, Rule("bilbo", 1, ("E",))))
    net.run(SWITCH + 1)
    assert inheriting_of(nodes[2])._due == []


def test_who_was_away_a_moment_gives_them_when_he_is_back() -> None:
    net, (_, avalon, _) = changed()
    net.cut("heron", "avalon")
    net.run(ASKED[0] + 5)
    assert last(avalon) is None
    net.heal()
    net.run(ASKED[-1])
    assert last(avalon) == b"1"


def test_a_liar_brings_nothing_that_is_not_asked_for_and_no_time_to_come() -> None:
    net, (heron, avalon, _) = changed()
    net.run(ASKED[0] + 1)
    inheriting = inheriting_of(avalon)
    true = heron.core.parts.router.log.retained.get("k", D)
    assert true is not None

    def told(**changes: object) -> bytes | None:
        found = LookupResult()
        found.add(LastValue(b"h" * 16, replace(true.as_envelope(), **changes), "heron"))
        avalon.core._at(net.now, net.wall)
        inheriting._inherit_values(found)
        return last(avalon)

    late = avalon.core.parts.context.clock.believed + AHEAD + 1_000_000_000
    assert told(sent=late, stream=b"z" * 16, body=b"9") == b"1"
    assert told(sent=true.envelope.sent + 1, stream=b"z" * 16, domain="ELSE") == b"1"
    assert avalon.core.parts.router.log.retained.get("k", "ELSE") is None
    assert told(sent=true.envelope.sent + 1, stream=b"z" * 16, body=b"2") == b"2"


@pytest.mark.parametrize(
    ("rule", "query"),
    [
        (KeyRule(EXACT, "k"), Query("exact", "k", "")),
        (KeyRule(PATTERN, "a/#"), Query("pattern", "a/#", "")),
        (KeyRule(XPATH, "//STOCK"), Query("xpath", "//STOCK", "")),
        (KeyRule(DOMAIN, "D"), Query("pattern", "#", "D")),
        (KeyRule(ANY, ""), Query("pattern", "#", "")),
        (KeyRule(FILTER, ""), Query("pattern", "#", "")),
    ],
)
def test_each_alternative_is_asked_for_by_what_it_may_fit(rule: KeyRule, query: Query) -> None:
    assert query_of(rule) == query


def test_a_rule_by_key_takes_its_key_alone() -> None:
    net, nodes = three()
    pub = client_of(nodes[2], "pub")
    for key in ("k", "k2"):
        pub.publish(key, b"1", domain=D)
    pub.settled()
    for node in nodes:
        adopt(node, (*HERON, Rule("avalon", keys=("k",))))
    net.run(SWITCH + ASKED[0] + 1)
    retained = nodes[1].core.parts.router.log.retained
    assert last(nodes[1]) == b"1" and retained.get("k2", D) is None
