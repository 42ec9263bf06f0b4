"""Masters of messages without a domain, and of domains that no rule names."""

import pytest

from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from tests.mesh.mapping.views import FakeView, up, walk

ALL = up("N", "M", "O", "W")
REFUSES = Rule("M", domains=("other",), accept_default=False)  # M forwards its own clients' messages


def way(start: str, *rules: Rule, domain: str = "", view: FakeView = ALL) -> str:
    """Return the path of a message without a rule for its key, and the last decision."""
    path, decision = walk(
        start, lambda node: rules, lambda node: view, lambda m, v, p: m.decide("k", domain, v, p), "local"
    )
    return " ".join([*path, decision.kind.value])


# --- mesh -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domains", [(), ("",), ("*",), ("D",)])
@pytest.mark.parametrize("accepts", [True, False])
@pytest.mark.parametrize("accepts_others", [True, False])
def test_scope_mesh_each_node_is_master_of_what_its_clients_publish_without_a_domain(
    domains: tuple[str, ...], accepts: bool, accepts_others: bool
) -> None:
    rules = [
        Rule(node, 0, domains, ("other",), accept_default=accepts, accept_other_default=accepts_others)
        for node in ("N", "O")
    ]
    decision = Mapping("N", rules).decide("k", "", ALL)
    assert decision == Decision(Kind.HERE, "default-scope mesh: the node is master for its own clients")


def test_scope_mesh_a_domain_that_no_rule_names_counts_as_none() -> None:
    assert Mapping("N", [Rule("O", domains=("D",))]).decide("k", "E", ALL).kind is Kind.HERE


# --- local: the table -------------------------------------------------------------------------------------

# The only rule of N is at stratum 0. The first columns are its domains, accept_default and
# accept_other_default. The others are the results for a message of N's own client, when no other node
# accepts it and when O does, and the same for M's client.
NOT_TAKEN = ("N here", "N here", "M wait", "M O here")
TAKEN = ("N here", "N here", "M N here", "M N here")
TABLE = [
    ((), True, False, NOT_TAKEN),
    ((), True, True, TAKEN),
    ((), False, False, ("N wait", "N O here", "M wait", "M O here")),
    ((), False, True, ("N wait", "N O here", "M N here", "M N here")),
    (("D",), True, False, NOT_TAKEN),
    (("D",), True, True, TAKEN),
    (("D",), False, False, ("N wait", "N O here", "M wait", "M O here")),
    (("D",), False, True, ("N wait", "N O here", "M N here", "M N here")),
    (("",), True, False, TAKEN),
    (("",), True, True, TAKEN),
    (("",), False, False, TAKEN),
    (("",), False, True, TAKEN),
    (("*",), True, False, ("N here", "N here", "M N here", "M O here")),
    (("*",), True, True, TAKEN),
    (("*",), False, False, ("N here", "N O here", "M N here", "M O here")),
    (("*",), False, True, ("N here", "N O here", "M N here", "M N here")),
]


@pytest.mark.parametrize(("domains", "accepts", "accepts_others", "expected"), TABLE)
def test_scope_local_the_table_cell_by_cell(
    domains: tuple[str, ...], accepts: bool, accepts_others: bool, expected: tuple[str, str, str, str]
) -> None:
    rule = Rule("N", 0, domains, ("other",), accept_default=accepts, accept_other_default=accepts_others)
    other = Rule("O", domains=("",))
    found = [way(start, rule, REFUSES, *more) for start in ("N", "M") for more in ((), (other,))]
    assert tuple(found) == expected


def test_the_table_has_every_cell_once() -> None:
    cells = {(domains, a, b) for domains, a, b, _ in TABLE}
    assert len(cells) == len(TABLE) == 4 * 2 * 2


# --- local: beside the table ------------------------------------------------------------------------------


def test_scope_local_a_node_without_a_rule_of_its_own_takes_its_own_clients_messages() -> None:
    assert way("M", Rule("N", domains=("",))) == "M here"
    assert way("M") == "M here"
    assert way("M", Rule("M", 1, ("D",), accept_default=False), Rule("N", domains=("",))) == "M here"


def test_scope_local_one_rule_that_takes_them_is_enough() -> None:
    rules = (Rule("M", domains=("D",), accept_default=False), Rule("M", domains=("E",)))
    assert way("M", *rules, Rule("N", domains=("",))) == "M here"


def test_scope_local_a_node_on_the_way_passes_on_what_others_send_it_and_keeps_its_own() -> None:
    rules = (Rule("N", domains=("",)), Rule("W", 1, ("",)), REFUSES)
    linked_with_w = FakeView({"W"}, {"W"})
    found = walk(
        "M",
        lambda node: rules,
        lambda node: linked_with_w if node == "M" else ALL,
        lambda m, v, p: m.decide("k", "", v, p),
        "local",
    )
    assert (found[0], found[1].kind) == (["M", "W", "N"], Kind.HERE)
    assert way("W", *rules) == "W here"


def test_A34_a_node_that_does_not_take_its_own_sends_them_to_one_that_takes_others() -> None:
    n = Rule("N", domains=("D",))
    refuses = Rule("N", domains=("D",), accept_default=False)
    m = Rule("M", domains=("E",), accept_default=False, accept_other_default=True)
    assert way("N", n, m) == "N here"
    assert way("N", refuses, m) == "N M here"
    assert way("N", refuses) == "N wait"
    decision = Mapping("N", [refuses], "local").decide("k", "", ALL)
    assert decision == Decision(Kind.WAIT, "no rule names a master of messages without a domain")
    assert way("N", refuses, m, view=up("N")) == "N wait", "it is unknown yet"


def test_two_that_take_those_of_others_and_not_their_own_do_not_send_them_in_a_circle() -> None:
    both = [Rule(n, domains=("D",), accept_default=False, accept_other_default=True) for n in ("N", "O")]
    assert way("N", *both) == "N O here"
    assert way("O", *both) == "O N here"
    assert way("M", *both, REFUSES) == "M N here"


@pytest.mark.parametrize(("domain", "expected"), [("D", "M N here"), ("E", "M wait")])
def test_scope_local_a_named_domain_needs_a_rule_whatever_is_accepted(domain: str, expected: str) -> None:
    rules = (
        Rule("N", domains=("D",), accept_other_default=True),
        Rule("M", keys=("other",), accept_default=True, accept_other_default=True),
    )
    assert way("M", *rules, domain=domain) == expected
    assert way("M", *rules, Rule("O", domains=("*",)), domain="E") == "M O here"


def test_scope_local_the_rule_of_a_key_is_stronger_than_what_a_node_accepts() -> None:
    rules = (Rule("N", keys=("k",)), Rule("M", domains=("",), accept_other_default=True))
    assert way("M", *rules) == "M N here"
