"""Nodes and rules of a configuration."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.config import FIELDS, addresses, load, rules, settings
from mesh.config.nodes import NodeRecord
from mesh.config.source import Setting
from mesh.errors import BadConfig, BadKey
from mesh.mapping.rules import Rule
from mesh.values import check_key

THREE = """\
default_scope = "local"
links = "configured"

[nodes.bilbo]

[nodes.frodo]
address = "tcp://10.0.0.5:7710"

[[nodes.frodo.master]]
domains = ["RUGBY_NEWS", "*", ""]
stratum = 1
refid = "heron"

[[nodes.frodo.master]]
keys = ["radar/status"]
accept_default = false
accept_other_default = true

[nodes.heron]
address = "10.0.0.6:7710"
ping = 0.5
passwd = "open sesame"
"""
FIRST = Rule("frodo", 1, ("RUGBY_NEWS", "*", ""), refid="heron")
HERON = NodeRecord("heron", "10.0.0.6:7710", ping=0.5, passwd="open sesame")
SECOND = Rule("frodo", keys=("radar/status",), accept_default=False, accept_other_default=True)


def written(folder: Path, text: str) -> Path:
    path = folder / "mesh.toml"
    path.write_bytes(text.encode())
    return path


def test_A37_the_times_of_the_connection_to_one_node_are_read(tmp_path: Path) -> None:
    text = "[timing]\nbackoff_max = 9\n[nodes.frodo]\nping = 0.5\nbackoff_min = 0.2\nforward_patience = 3\n"
    [frodo] = load(written(tmp_path, text), {}, {}).nodes
    assert frodo.times == {"ping": 0.5, "backoff_min": 0.2, "forward_patience": 3.0}
    assert NodeRecord("bilbo").times == {}


@pytest.mark.parametrize(
    "given", ["backoff_min = 31", "backoff_max = 0.1", "backoff_min = 2\nbackoff_max = 1"]
)
def test_the_longest_delay_for_one_node_is_longer_than_the_shortest(tmp_path: Path, given: str) -> None:
    with pytest.raises(BadConfig, match=r"backoff_max = .* must be longer than .*backoff_min") as refused:
        load(written(tmp_path, f"[nodes.frodo]\n{given}\n"), {}, {})
    assert "nodes.frodo.backoff_" in refused.value.what


def test_nodes_rules_and_addresses_are_read_as_written(tmp_path: Path) -> None:
    found = load(written(tmp_path, THREE), {}, {})
    assert (found.default_scope, found.links) == ("local", "configured")
    assert found.nodes == (
        NodeRecord("bilbo"),
        NodeRecord("frodo", "tcp://10.0.0.5:7710", (FIRST, SECOND)),
        HERON,
    )
    assert rules(found) == (FIRST, SECOND)
    assert addresses(found, "bilbo") == ("tcp://10.0.0.5:7710", "10.0.0.6:7710")
    assert addresses(found, "frodo") == ("10.0.0.6:7710",)


def test_each_node_and_each_rule_knows_where_it_was_set(tmp_path: Path) -> None:
    path = written(tmp_path, THREE)
    assert settings(path, {}, {})[-5:] == (
        Setting("nodes.bilbo", NodeRecord("bilbo"), f"{path}:4"),
        Setting("nodes.frodo", NodeRecord("frodo", "tcp://10.0.0.5:7710", (FIRST, SECOND)), f"{path}:6"),
        Setting("nodes.frodo.master", FIRST, f"{path}:9"),
        Setting("nodes.frodo.master", SECOND, f"{path}:14"),
        Setting("nodes.heron", HERON, f"{path}:19"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "[nodes.a]\naddress = 'x:1'\n[[nodes.a.master]]\ndomains = ['D']\n[[nodes.a.master]]\nkeys = ['k']",
        "[[nodes.a.master]]\ndomains = ['D']\n[[nodes.a.master]]\nkeys = ['k']\n[nodes.a]\naddress = 'x:1'",
        "[nodes.a]\naddress = 'x:1'\nmaster = [{ domains = ['D'] }, { keys = ['k'] }]",
        "nodes.a.address = 'x:1'\nnodes.a.master = [\n { domains = [\n  'D',\n ] },\n { keys = ['k'] },\n]",
        "\r\n[nodes]\r\n[ 'nodes' . \"a\" ] # it\r\naddress = 'x:1'\r\n"
        "[[nodes.a.master]] # one\r\ndomains = [\r\n'D']\r\n[[nodes.a.master]]\r\nkeys = ['k']",
    ],
    ids=["sections", "rules first", "inline", "dotted", "CRLF and quotes"],
)
def test_every_spelling_of_toml_means_the_same(tmp_path: Path, text: str) -> None:
    found = load(written(tmp_path, text), {}, {})
    masters = (Rule("a", domains=("D",)), Rule("a", keys=("k",)))
    assert found.nodes == (NodeRecord("a", "x:1", masters),)


@pytest.mark.parametrize(
    "text",
    [
        "[[nodes.a.master]]\ndomains = ['D']\n[[nodes.b.master]]\ndomains = ['D']",
        "[[nodes.a.master]]\ndomains = ['D', 'D']\n[[nodes.a.master]]\ndomains = ['D']",
        "[[nodes.a.master]]\ndomains = ['D']\nstratum = 1",
        "[[nodes.a.master]]\ndomains = ['x']\n[[nodes.a.master]]\nkeys = ['x']\nstratum = 1",
        "[[nodes.a.master]]\naccept_default = false",
        "[[nodes.a.master]]\naccept_other_default = false\nstratum = 15",
        "[nodes.a]\nmaster = []",
        "links = 'configured'\n[nodes.a]",
        '[nodes."a.b:c"]\n[[nodes."a.b:c".master]]\ndomains = ["*"]',
    ],
    ids=[
        "two masters",
        "twice alike",
        "no refid",
        "a key like a domain",
        "only accept_default",
        "only accept_other_default",
        "no rules",
        "one node",
        "a dotted name",
    ],
)
def test_what_looks_odd_but_makes_sense_is_taken(tmp_path: Path, text: str) -> None:
    assert len(load(written(tmp_path, text), {}, {}).nodes) >= 1


# --- any valid file loads as it is written ----------------------------------------------------------------

NAMES = st.text("abcXYZ019_.:-", min_size=1, max_size=64)
# Without `*` there is no accidental wildcard. Every other character that can be published is included.
TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="*"), max_size=20
)
DOMAINS = st.just("*") | TEXT


def can_be_published(key: str) -> bool:
    try:
        return bool(check_key(key))
    except BadKey:
        return False


@st.composite
def some_nodes(draw: st.DrawFn) -> list[NodeRecord]:
    """Draw nodes whose refids name earlier nodes only, with each domain and key of a node at one stratum."""
    found: list[NodeRecord] = []
    for name in draw(st.lists(NAMES, max_size=3, unique=True)):
        earlier = st.sampled_from(["", *(record.name for record in found)])
        domains = st.lists(DOMAINS, max_size=2, unique=True)
        keys = st.lists(TEXT.filter(can_be_published), max_size=2, unique=True)
        masters: list[Rule] = []
        for stratum in draw(st.lists(st.integers(0, 15), max_size=2, unique=True)):
            used = {text for rule in masters for text in (*rule.domains, *rule.keys)}
            masters.append(
                Rule(
                    name,
                    stratum,
                    tuple(text for text in draw(domains) if text not in used),
                    tuple(text for text in draw(keys) if text not in used),
                    draw(earlier) if stratum else "",
                    draw(st.booleans()),
                    draw(st.booleans()),
                )
            )
        address = draw(st.none() | st.just("tcp://127.0.0.1:7710"))
        found.append(NodeRecord(name, address, tuple(masters)))
    return found


def as_toml(records: list[NodeRecord]) -> str:
    lines = []
    for record in records:
        lines.append(f'[nodes."{record.name}"]')
        if record.address is not None:
            lines.append(f"address = {json.dumps(record.address)}")
        for rule in record.masters:
            lines.append(f'[[nodes."{record.name}".master]]')
            for key in ("domains", "keys", "stratum", "refid", "accept_default", "accept_other_default"):
                value = getattr(rule, key)
                lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nodes")


@given(records=some_nodes())
def test_any_valid_file_loads_as_it_is_written(scratch: Path, records: list[NodeRecord]) -> None:
    text = as_toml(records)
    path = written(scratch, text)
    found = load(path, {}, {})
    assert found.nodes == tuple(records)
    lines = text.splitlines()
    for setting in settings(path, {}, {})[len(FIELDS) :]:
        is_node = isinstance(setting.value, NodeRecord)
        wanted = f'[nodes."{setting.value.name}"]' if is_node else f'[[nodes."{setting.value.node}".master]]'
        assert lines[int(setting.origin.rpartition(":")[2]) - 1] == wanted


def test_a_node_that_drops_all_when_this_one_stops_is_read(tmp_path: Path) -> None:
    text = "[nodes.frodo]\ndisconnect = true\n[nodes.bilbo]\n"
    assert [record.disconnect for record in load(written(tmp_path, text), {}, {}).nodes] == [True, False]
    with pytest.raises(BadConfig, match="disconnect"):
        load(written(tmp_path, '[nodes.frodo]\ndisconnect = "yes"\n'), {}, {})
