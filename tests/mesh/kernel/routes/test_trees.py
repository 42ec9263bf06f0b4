"""The route of each node to a master, as the tree and `why` show it."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.kernel.routes import strata
from mesh.mapping.rules import Rule
from mesh.wire.calls import AskTree
from tests.mesh.kernel.causes import reasons
from tests.mesh.kernel.lying import replies
from tests.mesh.kernel.masters import RUGBY, STOCK, Cluster, cluster
from tests.mesh.kernel.routes.chains import K, diamond, way
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode


def tree(node: SimNode, domain: str, **more: Any) -> dict[str, tuple[str, ...]]:
    found = client_of(node, "asks").call("tree", domain=domain, **more)
    assert found["missing"] == []
    return {row["node"]: tuple(row["way"]) for row in found["rows"]}


def test_the_tree_has_all_nodes_with_the_way_of_each_also_those_behind_others() -> None:
    told = cluster("heron", "frodo", "bilbo", "avalon", "golan")
    found = tree(told["bilbo"], STOCK)
    assert found.pop("golan", ("golan",)) == ("golan",)  # heron's rules do not name golan
    assert found == {
        "avalon": ("avalon",),
        "bilbo": ("bilbo", "frodo", "heron", "avalon"),
        "frodo": ("frodo", "heron", "avalon"),
        "heron": ("heron", "avalon"),
    }
    named = client_of(told["bilbo"], "names").call("tree")
    assert {RUGBY, STOCK} <= {*named["domains"]}


def test_a_domain_that_no_rule_names_is_looked_at_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strata, "LOOKED", 5.0)
    rules = {"heron": (Rule("heron", domains=("*",)),), "frodo": (Rule("heron", 1, ("*",)),)}
    rules["bilbo"] = (Rule("frodo", 1, ("*",)),)
    told = cluster("heron", "frodo", "bilbo", rules=rules, links="any")
    assert tree(told["bilbo"], "ANY") == {
        "bilbo": ("bilbo", "frodo", "heron"),
        "frodo": ("frodo", "heron"),
        "heron": ("heron",),
    }
    told.net.run(15)
    assert "ANY" not in told["bilbo"].core.parts.strata.own
    assert "ANY" not in told["heron"].core.parts.strata.own


def test_who_has_no_way_says_whom_it_has_asked_and_what_keeps_it() -> None:
    told = diamond()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    told["heron"].close()
    told.net.until(lambda: way(told["bilbo"]) == ())
    rows = client_of(told["bilbo"], "asks").call("tree", domain="NEWS")["rows"]
    broken = {row["node"]: dict(row["broken"]) for row in rows}
    assert broken["bilbo"] == {"frodo": "has no route itself", "sam": "has no route itself"}
    assert "left" in broken["frodo"]["heron"]


def test_why_says_how_far_it_is_and_what_is_broken() -> None:
    told = diamond()
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "frodo", "heron"))
    joe = told.client("bilbo")

    def said() -> dict[str, str]:
        return {r["code"]: r["says"] for r in reasons(joe, "topic", K, "NEWS") if r["node"] == "bilbo"}

    assert "bilbo -> frodo -> heron" in said()["STRATUM"] and "WAY_BROKEN" not in said()
    told.net.cut("frodo", "heron")
    told.net.until(lambda: way(told["bilbo"]) == ("bilbo", "sam", "heron"))
    assert said()["WAY_BROKEN"].startswith("frodo") and "bilbo -> sam -> heron" in said()["STRATUM"]
    told["heron"].close()
    told.net.until(lambda: way(told["bilbo"]) == ())
    assert "frodo: has no route itself" in said()["NO_WAY"]
    assert not {"STRATUM", "NO_WAY"} & {r["code"] for r in reasons(joe, "topic", K, "OTHER")}


def test_where_all_are_linked_each_speaks_for_itself_alone() -> None:
    net = SimNetwork()
    a, b, _ = net.mesh("a", "b", "c", rules=(Rule("c", domains=("NEWS",)),))
    replies(b, AskTree, {"rows": [{"node": "c", "way": ["c", "b"]}, {"node": "d", "way": ["d"]}]})
    assert tree(a, "NEWS") == {"a": ("a", "c"), "c": ("c",)}


@pytest.fixture(scope="module")
def told() -> Cluster:
    """Return a mesh of three nodes that know their routes. Tests change only the answers of frodo."""
    told = cluster("heron", "frodo", "bilbo")
    told.net.until(lambda: way(told["bilbo"], RUGBY))
    return told


@pytest.mark.parametrize(
    ("row", "is_told"),
    [
        ({"node": "frodo", "stratum": 1, "way": ["frodo", "heron"], "latency": 0.1}, True),
        ({"node": "frodo", "stratum": -5, "way": ["frodo", "heron"], "latency": 0.1}, True),  # computed
        ({"node": "frodo", "way": ["heron"]}, False),
        ({"node": "bilbo", "way": ["bilbo"]}, False),  # a row about the asking node
        ({"node": "frodo", "way": ["frodo"] * 99}, False),
        ({"node": "frodo", "way": ["frodo", "\x1b[2J"]}, False),
        ({"node": "frodo", "way": ["frodo", "heron"], "latency": float("nan")}, False),
        ({"node": "frodo", "way": ["frodo", "heron"], "latency": -1.0}, False),
    ],
)
def test_of_what_others_tell_only_what_can_be_is_shown(
    told: Cluster, row: dict[str, Any], is_told: bool
) -> None:
    replies(told["frodo"], AskTree, {"rows": [row]})
    found = client_of(told["bilbo"], "asks").call("tree", domain=RUGBY)
    rows = {each["node"]: each for each in found["rows"]}
    assert tuple(rows["bilbo"]["way"]) == ("bilbo", "frodo", "heron")
    assert ("frodo" in rows) is is_told
    if is_told:
        assert rows["frodo"]["stratum"] == 1
