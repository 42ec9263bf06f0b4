"""The nodes that are asked for a query."""

from typing import Any
from unittest.mock import Mock

import pytest

from mesh.kernel.asking.query_sources import QuerySources
from mesh.mapping.decision import Sources
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.routing.interest import CLIENTS, STANDBY
from mesh.wire.commands import Query
from mesh.wire.limits import XPATH

SPORT, NEWS = Query("exact", "k", "SPORT"), Query("exact", "k", "NEWS")
RULES = (Rule("heron", domains=("SPORT",)), Rule("frodo", domains=("NEWS",)))
NAMES = ("heron", "frodo", "bilbo")


class Stage:
    """A node with three others, all of which are reachable."""

    def __init__(self, *rules: Rule) -> None:
        self.peers: dict[str, Any] = {name: Mock(speaks=(XPATH,)) for name in NAMES}
        for name, peer in self.peers.items():
            peer.node.uuid, peer.node.name = name.encode(), name
        nodes: Any = Mock()
        nodes.named.side_effect = self.peers.get
        nodes.usable.side_effect = lambda: list(self.peers.values())
        nodes.is_known.side_effect = nodes.is_alive.side_effect = self.peers.__contains__
        nodes.choose.side_effect = lambda names, of, domain: names[0]
        neighbours: Any = Mock(peers={name.encode(): peer for name, peer in self.peers.items()})
        self.named = QuerySources(Mapping("me", rules), nodes, neighbours)

    def asked(self, query: Query, *by: bytes) -> set[str]:
        return {uuid.decode() for uuid in self.named.targets(query, by or (CLIENTS,))}


def test_the_master_of_the_domain_is_asked() -> None:
    stage = Stage(*RULES)
    assert (stage.asked(SPORT), stage.asked(NEWS)) == ({"heron"}, {"frodo"})
    assert stage.named.is_relayed(SPORT)


def test_without_rules_every_node_is_asked_for_clients_and_none_for_a_peer() -> None:
    stage = Stage()
    assert stage.asked(SPORT) == {*NAMES} and stage.asked(SPORT, b"bilbo") == set()
    assert not stage.named.is_relayed(SPORT) and not stage.named.has_ways


def test_no_node_is_asked_for_its_own_query() -> None:
    stage = Stage(*RULES)
    assert stage.asked(SPORT, b"heron") == set()
    assert stage.asked(SPORT, b"heron", CLIENTS) == {"heron"}


def test_during_a_change_the_nodes_of_all_rules_are_asked() -> None:
    stage = Stage(*RULES)
    assert not stage.named.is_changing
    row = stage.named.row(SPORT)
    stage.named.use_rules((Rule("bilbo", domains=("SPORT",)),))
    assert stage.named.is_changing and stage.named.row(SPORT) != row
    assert stage.asked(SPORT) == {"heron", "bilbo"}
    assert stage.named.is_way("bilbo") and stage.named.is_way("frodo") and not stage.named.is_way("sam")
    stage.named.use_rules()
    assert stage.asked(SPORT) == {"heron"} and stage.named.row(SPORT) == row


def test_a_kind_of_query_that_a_node_does_not_know_is_not_asked_of_it() -> None:
    stage, query = Stage(), Query(XPATH, "//k", "SPORT")
    stage.peers["bilbo"].speaks = ()
    assert stage.asked(query) == {"heron", "frodo"}


@pytest.mark.parametrize("text", ["__sys__up", "__sys__node/#"])
def test_each_node_has_its_own_system_topics(text: str) -> None:
    stage = Stage(*RULES)
    query = Query("exact", text)
    assert stage.named.sources(query) == Sources() and stage.named.row(query) is None
    stage.named.use_rules(RULES[:1])
    assert stage.asked(query) == set() and not stage.named.is_relayed(query)


def test_queries_with_one_row_have_the_same_sources() -> None:
    stage = Stage(*RULES)
    for key in ("a", "b/c", "k"):
        query = Query("exact", key, "SPORT")
        assert stage.named.row(query) == stage.named.row(SPORT)
        assert stage.asked(query) == stage.asked(SPORT)
    assert stage.named.row(SPORT) != stage.named.row(NEWS)


def test_a_standby_asks_its_partners_as_well() -> None:
    rules = (Rule("me", domains=("SPORT",)), Rule("heron", 1, domains=("SPORT",)))
    assert Stage(*rules).asked(SPORT, STANDBY) >= Stage(*rules).asked(SPORT, b"sam")
