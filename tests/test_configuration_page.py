"""The page docs/configuration.md: it names every setting and no other, and describes the rules correctly."""

import re
from collections.abc import Hashable, Sequence
from itertools import product
from pathlib import Path

import pytest

from mesh.config import FIELDS, Config, load, rules
from mesh.config.balancing import ADDRESS_KEYS, DOMAIN_KEYS
from mesh.config.nodes import NODE_KEYS
from mesh.config.queues import QUEUE_KEYS
from mesh.config.rule import FILTER_KEYS, GIVEN_KEYS, RULE_KEYS
from mesh.config.sites import (
    MOST,
    MOST_ADDRESSES,
    MOST_NAMED,
    MOST_RELAYS,
    REMOTE_KEYS,
    RemoteSite,
    SiteSection,
)
from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule
from mesh.names import RESERVED
from mesh.site_policy.accepting import Accepts

PAGE = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text()
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def table(head: str) -> list[list[str]]:
    """Return the cells of the rows below the row that begins with `head`."""
    [rows] = re.findall(rf"^\| {re.escape(head)} \|.*\n\|[- |]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows.splitlines()]


@pytest.mark.parametrize(
    ("head", "known"),
    [
        ("setting", FIELDS),
        ("in `[nodes.NAME]`", NODE_KEYS),
        ("in `[[nodes.NAME.master]]`", RULE_KEYS),
        ("in a filter", FILTER_KEYS),
        ("in `[[nodes.NAME.master.given]]`", GIVEN_KEYS),
        ("in `[[balancing.address]]`", ADDRESS_KEYS),
        ("in `[[balancing.domain]]`", DOMAIN_KEYS),
        ("in `[[queues]]`", QUEUE_KEYS),
        ("in `[sites.NAME]`", REMOTE_KEYS),
    ],
)
def test_the_page_names_every_setting_and_no_other(head: str, known: dict[str, object]) -> None:
    assert [row[0] for row in table(head)] == [f"`{name}`" for name in known]


def test_the_defaults_of_a_rule_are_those_of_the_page() -> None:
    rule = Rule("heron")
    told = {row[0].strip("`"): row[1].strip("`") for row in table("in `[[nodes.NAME.master]]`")}
    words = {"()": "none", "''": "none", "True": "true", "False": "false"}
    words |= {"0.0": "0", "'DomainToMaster'": "DomainToMaster", "'1.0'": "1.0"}
    found = {key: repr(getattr(rule, key)) for key in RULE_KEYS}
    assert {key: words.get(value, value) for key, value in found.items()} == told


@pytest.fixture
def examples(tmp_path: Path) -> list[Config]:
    file = tmp_path / "mesh.toml"
    found = []
    for text in EXAMPLES:
        file.write_text(text)
        found.append(load(file, {}, {}))
    return found


def test_the_examples_of_the_page_are_right(examples: list[Config]) -> None:
    settings, balancing, queues, sites, nodes, contents, *row, limited = examples
    assert [(own.name, own.store) for own in queues.queues] == [
        ("orders/#", "sqlite:///var/lib/mesh/orders.db"),
        ("ticks", "memory"),
        ("sub/audit", "sqlite:///var/lib/mesh/audit.db"),
    ]
    assert sites.site == SiteSection("LON", relay=True)
    assert [(site.name, site.domains, site.accepts) for site in sites.sites] == [
        ("NYC", ("STOCK",), Accepts(("NEWS",)))
    ]
    assert [(own.kind, own.of, own.strategy) for own in balancing.strategies] == [
        ("address", "calc/#", "sticky"),
        ("domain", "NEWS", "rack-affinity"),
    ]
    assert balancing.node.metadata == {"rack": "r7"} and balancing.strategies[0].options == {
        "header": "customer"
    }
    assert settings.node.id == "heron" and settings.limits.max_content == 4 << 20
    assert [record.name for record in nodes.nodes] == ["heron", "avalon"]
    assert [(rule.stratum, rule.refid) for rule in rules(nodes)] == [(0, ""), (1, "avalon")]
    [rule] = rules(contents)
    assert [str(key) for key in rule.alternatives()] == [
        "EXACT radar.track",
        "XPATH //STOCK_EXCHANGE",
        "ContentLength 8000",
        "DOMAIN NEWS and ContentGlob *loose*",
    ]
    assert [config.node.id for config in row] == ["bilbo", "frodo", "heron"]
    assert limited.node.max_connections == 500
    assert limited.node.address_max_connections == {limited.node.bind[0]: 400}


class View:
    """A view of the nodes in which all are known, and at most one is unreachable."""

    def __init__(self, away: str = "") -> None:
        self.away = away

    def is_known(self, node: str) -> bool:
        return True

    def is_alive(self, node: str) -> bool:
        return node != self.away

    def count_alive(self) -> int:
        return 1

    def is_settled(self) -> bool:
        return True

    def way_to(self, node: str) -> str | None:
        return None

    def choose(self, nodes: Sequence[str], of: Hashable, domain: str) -> str:
        return nodes[0]


def test_a_message_takes_the_way_of_the_three_nodes_in_a_row(examples: list[Config]) -> None:
    ends = [(Kind.FORWARD, "frodo"), (Kind.FORWARD, "heron"), (Kind.HERE, "")]
    for config, (kind, node) in zip(examples[6:9], ends, strict=True):
        mapping = Mapping(config.node.id or "", rules(config), config.default_scope)
        decision = mapping.decide("some/key", "RUGBY_NEWS", View())
        assert (decision.kind, decision.node) == (kind, node)


DOMAINS = {"none (only keys)": (), "a name": ("NEWS",), '`""`': ("",), '`"*"`': ("*",)}
OTHER = Rule("other", domains=("ELSE",), accept_default=False)  # forwards what its clients publish
RIVAL = Rule("rival", domains=("MORE",), accept_other_default=True)  # accepts messages of other nodes


def at(me: str, *given: Rule, away: str = "") -> Decision:
    return Mapping(me, given, "local").decide("some/key", "", View(away))


def of_its_own(rule: Rule) -> str:
    """Return the page's term for a message without a domain at heron, which has only this rule."""
    if at("heron", rule, RIVAL).kind is Kind.HERE:
        return "here"
    assert at("heron", rule, RIVAL).node == "rival"
    alone = at("heron", rule, OTHER).kind
    return {Kind.HERE: "if no other", Kind.WAIT: "forwarded"}[alone]


def of_others(rule: Rule) -> str:
    """Return the page's term for such a message at another node."""
    alone = at("other", rule, OTHER)
    if alone.kind is Kind.WAIT:
        return "not accepted"
    assert alone.node == "heron"
    return "accepted" if at("other", rule, OTHER, RIVAL, away="rival").node == "heron" else "if no other"


def cells() -> list[tuple[str, bool, bool, str, str]]:
    """Return the cells of the page's table. A row that stands for several cells is expanded."""
    found = []
    for domains, default, other_default, own, others in table("`domains`"):
        for kind, accept, accept_other in product(
            domains.split(", or "), default.split(" or "), other_default.split(" or ")
        ):
            found.append((kind, accept == "true", accept_other == "true", own, others))
    return found


def test_the_table_of_messages_without_domain_has_each_cell_once() -> None:
    found = [cell[:3] for cell in cells()]
    assert sorted(found) == sorted(product(DOMAINS, (True, False), (True, False)))


@pytest.mark.parametrize(("kind", "accept", "accept_other", "own", "others"), cells())
def test_each_cell_of_messages_without_domain_says_what_happens(
    kind: str, accept: bool, accept_other: bool, own: str, others: str
) -> None:
    rule = Rule("heron", 0, DOMAINS[kind], ("one/key",), "", accept, accept_other)
    assert (of_its_own(rule), of_others(rule)) == (own, others)


def test_what_is_said_of_another_site_is_what_is_so_when_nothing_is_said() -> None:
    told = {row[0].strip("`"): row[1].strip("`") for row in table("in `[sites.NAME]`")}
    site = RemoteSite("NYC")
    words = {"()": "none", "''": "none", "False": "false", "'mark'": '"mark"', str(2**30): '"1GiB"'}
    words["None"] = "what goes there"
    assert {key: words[repr(getattr(site, key))] for key in REMOTE_KEYS} == told


def test_the_page_says_how_much_of_sites_a_file_may_name() -> None:
    assert f"At most {MOST} other sites" in PAGE
    assert f"at most {MOST_ADDRESSES};" in PAGE
    assert PAGE.count(f"at most {MOST_NAMED:,}") >= 3
    assert f"1 to {MOST_RELAYS} |" in PAGE


def test_the_page_names_the_first_levels_that_never_leave_a_site() -> None:
    [said] = re.findall(r"no domain whose first level is (.*?)\.\n", PAGE, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", said)) == RESERVED
