"""Laws of routing under any rules: each message reaches an end, and visits no node twice."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.names import SessionName
from tests.mesh.envelopes import envelope
from tests.mesh.mapping.views import FakeView, up, walk

NODES = ("a", "b", "c", "d")
NODE = st.sampled_from(NODES)
KEYS, DOMAINS = ("k", "l"), ("", "*", "D", "E")
SCOPE = st.sampled_from(["mesh", "local"])
KEY, DOMAIN = st.sampled_from([*KEYS, "m"]), st.sampled_from(["", "D", "E", "F"])
RULE = st.builds(
    Rule,
    NODE,
    st.integers(0, 3),
    st.lists(st.sampled_from(DOMAINS), max_size=2, unique=True).map(tuple),
    st.lists(st.sampled_from(KEYS), max_size=1).map(tuple),
    st.sampled_from(["", *NODES]),
    st.booleans(),
    st.booleans(),
)
RULES = st.lists(RULE, max_size=6).map(tuple)
# Rules of which each has a condition, and counts at each node.
PLAIN_RULES = RULES.map(lambda rules: tuple(rule for rule in rules if not rule.is_rest))


def view_of(me: str) -> st.SearchStrategy[FakeView]:
    """Return a strategy for what one node may know of the others."""
    other = st.sampled_from([node for node in NODES if node != me])
    return st.builds(
        lambda known, dead, ways: FakeView(known, known - dead, ways),
        st.sets(other),
        st.sets(other),
        st.dictionaries(other, other, max_size=2),
    )


VIEWS = st.fixed_dictionaries({node: view_of(node) for node in NODES})
EVERYBODY = up(*NODES)
TO = st.builds(SessionName, st.just("joe"), st.sampled_from([None, 1]), st.sampled_from([None, *NODES, "x"]))


def strata(rules: tuple[Rule, ...], key: str, domain: str) -> dict[str, int]:
    """Return the stratum of each node for a message with a domain, by the most specific rules."""
    for fits in (
        [r for r in rules if key in r.keys],
        [r for r in rules if domain in r.domains],
        [r for r in rules if "*" in r.domains],
    ):
        if fits:
            return {node: min(r.stratum for r in fits if r.node == node) for node in {r.node for r in fits}}
    return {}


def check_end(decision: Decision) -> None:
    assert decision.kind in (Kind.HERE, Kind.WAIT, Kind.REFUSE)
    assert decision.why, "people are told"
    assert (decision.code != "") == (decision.kind is Kind.REFUSE)


@given(st.fixed_dictionaries(dict.fromkeys(NODES, RULES)), VIEWS, SCOPE, NODE, KEY, DOMAIN)
def test_each_message_ends_and_visits_no_node_twice_whether_or_not_the_nodes_agree_on_the_rules(
    rules: dict[str, tuple[Rule, ...]],
    views: dict[str, FakeView],
    scope: str,
    start: str,
    key: str,
    domain: str,
) -> None:
    path, decision = walk(
        start, rules.__getitem__, views.__getitem__, lambda m, v, p: m.decide(key, domain, v, p), scope
    )
    check_end(decision)
    assert len(set(path)) == len(path)


@given(st.fixed_dictionaries(dict.fromkeys(NODES, RULES)), VIEWS, SCOPE, NODE, TO, DOMAIN, st.booleans())
def test_what_is_addressed_to_somebody_ends_likewise(
    rules: dict[str, tuple[Rule, ...]],
    views: dict[str, FakeView],
    scope: str,
    start: str,
    to: SessionName,
    domain: str,
    force: bool,
) -> None:
    path, decision = walk(
        start, rules.__getitem__, views.__getitem__, lambda m, v, p: m.address(to, domain, v, p, force), scope
    )
    check_end(decision)
    assert len(set(path)) == len(path)
    if decision.code == "UNKNOWN_NODE":
        assert to.node not in ("", None, path[-1])
        assert not force


@given(PLAIN_RULES, VIEWS, NODE, KEY, st.sampled_from(["D", "E", "F"]), st.lists(NODE, unique=True))
def test_a_decision_is_one_that_the_rules_and_the_view_allow(
    rules: tuple[Rule, ...], views: dict[str, FakeView], me: str, key: str, domain: str, visited: list[str]
) -> None:
    view, claims = views[me], strata(rules, key, domain)
    decision = Mapping(me, rules, "local").decide(key, domain, view, visited)
    closer = {n for n, stratum in claims.items() if n != me and stratum < claims.get(me, 99)}
    usable = {n for n in closer if n in view.known}
    if decision.kind is Kind.HERE:
        assert claims[me] == 0
    elif decision.kind is Kind.FORWARD:
        assert decision.node in usable & view.alive - set(visited)
    elif decision.kind is Kind.REFUSE:
        assert usable
        assert usable <= set(visited)
    elif decision.node:
        assert decision.node in closer
        assert not (usable - set(visited)) & view.alive, "nobody waits while somebody can be asked"
    else:
        assert not closer


@given(PLAIN_RULES, NODE, KEY, st.sampled_from(["D", "E", "F"]), SCOPE, VIEWS | st.just({}))
def test_strata_fall_along_the_way(
    rules: tuple[Rule, ...], start: str, key: str, domain: str, scope: str, views: dict[str, FakeView]
) -> None:
    path, decision = walk(
        start,
        lambda node: rules,
        lambda node: views.get(node, EVERYBODY),
        lambda m, v, p: m.decide(key, domain, v, p),
        scope,
    )
    check_end(decision)
    assert len(set(path)) == len(path)
    claims = strata(rules, key, domain)
    fall = [claims[node] for node in path if node in claims]
    assert all(before > after for before, after in pairwise(fall))
    assert all(node in claims for node in path[1:])
    assert decision.code != "CIRCULAR_LOOP", "nodes that agree on the rules send nothing in a circle"


@given(
    NODE,
    st.dictionaries(NODE, st.integers(1, 3)),
    st.sampled_from(["", *NODES]),
    RULES,
    NODE,
    SCOPE,
    st.permutations(range(len(NODES))),
)
def test_with_one_master_and_all_alive_it_ends_at_the_master(
    master: str,
    ways: dict[str, int],
    parent: str,
    others: tuple[Rule, ...],
    start: str,
    scope: str,
    order: list[int],
) -> None:
    claims = [Rule(n, stratum, ("X",), refid=parent) for n, stratum in ways.items() if n != master]
    claims.append(Rule(master, domains=("X",)))
    claims.sort(key=lambda rule: order[NODES.index(rule.node)])
    rules = (*others, *claims)
    path, decision = walk(
        start, lambda node: rules, lambda node: EVERYBODY, lambda m, v, p: m.decide("m", "X", v, p), scope
    )
    assert (decision.kind, path[-1]) == (Kind.HERE, master)


@given(RULES, RULES, VIEWS, SCOPE, NODE, KEY, DOMAIN, TO)
def test_rules_that_are_adopted_leave_nothing_of_the_earlier_ones(
    before: tuple[Rule, ...],
    rules: tuple[Rule, ...],
    views: dict[str, FakeView],
    scope: str,
    me: str,
    key: str,
    domain: str,
    to: SessionName,
) -> None:
    def answers(mapping: Mapping) -> tuple[object, ...]:
        view = views[me]
        return (
            *(mapping.decide(key, domain, view, visited) for visited in ((), ("b",))),
            mapping.address(to, domain, view),
            *(mapping.sources(kind, text, domain, view) for kind, text in (("exact", key), ("pattern", "#"))),
            (
                mapping.masters(key, envelope(key, domain=domain)),
                mapping.row(key),
                mapping.row_of_query("exact", key, domain),
            ),
            (mapping.rules, mapping.is_plain, mapping.has_several, mapping.may_choose),
        )

    mapping = Mapping(me, before, scope)
    answers(mapping)  # the mapping remembers some answers
    mapping.set_rules(rules)
    assert answers(mapping) == answers(Mapping(me, rules, scope))
