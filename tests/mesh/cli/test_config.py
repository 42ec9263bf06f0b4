"""`mesh config check`: each setting with its place, and each mistake."""

import json
import re
from pathlib import Path

import pytest

from mesh.cli.config import UNRULED
from mesh.cli.main import main

HASH = f"scrypt:{'73' * 16}:{'00' * 32}"  # the hash of no password
GOOD = '[node]\nid = "heron"\npeers = ["127.0.0.1:7710"]\n'


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path / "state"))
    return tmp_path


def test_it_prints_each_value_that_is_set_and_where(
    alone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (alone / "mesh.toml").write_text(GOOD)
    monkeypatch.setenv("MESH_TIMING__PING", "1.5")
    assert main(["config", "check"]) == 0
    said = capsys.readouterr()
    assert [line.split() for line in said.out.splitlines()] == [
        ["SETTING", "VALUE", "SET", "BY"],
        ["node.id", '"heron"', "mesh.toml:2"],
        ["node.peers", '["127.0.0.1:7710"]', "mesh.toml:3"],
        ["timing.ping", "1.5", "environment", "MESH_TIMING__PING"],
    ]
    assert said.err == "mesh.toml: valid; 3 values set, all others have defaults\n"


def test_as_json_it_tells_everything_in_one_document(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (alone / "x.toml").write_text(GOOD)
    assert main(["config", "check", "x.toml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == "x.toml"
    assert {"name": "node.id", "value": "heron", "origin": "x.toml:2"} in told["settings"]
    assert {"name": "node.cluster", "value": "default", "origin": "default"} in told["settings"]


def test_stores_of_queues_are_told_with_their_lines(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[[queues]]\nname = "orders/#"\nstore = "memory"\n[[queues]]\nname = "bills"\nstore = "memory"\n'
    (alone / "mesh.toml").write_text('node.store = "memory"\n' + text)
    assert main(["config", "check"]) == 0
    said = capsys.readouterr()
    rows = [line.split() for line in said.out.splitlines()]
    assert ["queues", "name", "orders/#", "·", "memory", "mesh.toml:2"] in rows
    assert said.err == "mesh.toml: valid; 1 value and 2 stores set, all others have defaults\n"
    assert main(["config", "check", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    value = {"name": "bills", "store": "memory"}
    assert {"name": "queues", "value": value, "origin": "mesh.toml:5"} in told["settings"]


def test_sites_are_told_with_their_lines(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[site]\nname = "LON"\n[sites.NYC]\ndomains = ["STOCK", ""]\naccepts = {}\nmax_bytes = "2MiB"\n'
    (alone / "mesh.toml").write_text(text)
    assert main(["config", "check"]) == 0
    said = capsys.readouterr()
    words = ["sites.NYC", "domains", "STOCK,", '""', "·", "accepts", "nothing", "·", "max_bytes", "2097152"]
    words += ["·", "when_full", "mark", "mesh.toml:3"]
    assert words in [line.split() for line in said.out.splitlines()]
    assert said.err == "mesh.toml: valid; 1 value and 1 site set, all others have defaults\n"
    assert main(["config", "check", "--json"]) == 0
    told = {one["name"]: one["value"] for one in json.loads(capsys.readouterr().out)["settings"]}
    assert told["sites.NYC"]["accepts"] == {"domains": [], "topics": []}
    assert (told["sites.NYC"]["domains"], told["sites.NYC"]["via"]) == (["STOCK", ""], "")


def test_they_are_set_in_a_file_only(
    alone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESH_QUEUES__NAME", "orders")
    assert main(["config", "check"]) != 0
    assert "only in a file" in capsys.readouterr().err
    monkeypatch.delenv("MESH_QUEUES__NAME")
    (alone / "mesh.toml").write_text('[queues]\nname = "orders"\n')
    assert main(["config", "check"]) != 0
    assert "[[queues]], in double brackets" in capsys.readouterr().err


WITHOUT_EFFECT = """\
[node]
id = "heron"
[[nodes.heron.master]]
domains = ["BABY"]
stratum = 1
"""


def test_a_rule_without_effect_is_told_with_its_place(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (alone / "mesh.toml").write_text(WITHOUT_EFFECT)
    assert main(["config", "check"]) == 0
    assert "mesh.toml:3: DOMAIN 'BABY' at stratum 1 of heron leads nowhere" in capsys.readouterr().err


RULES = """\
[nodes.bilbo]
[nodes.frodo]
address = "tcp://10.0.0.5:7710"
[[nodes.frodo.master]]
domains = ["RUGBY_NEWS", "SOCCER_NEWS"]
[[nodes.frodo.master]]
domains = ["*", "", "of a b"]
keys = ["radar/status"]
stratum = 2
refid = "bilbo"
accept_default = false
accept_other_default = true
"""


def test_it_prints_each_node_and_each_rule_in_words(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (alone / "mesh.toml").write_text(RULES)
    assert main(["config", "check"]) == 0
    said = capsys.readouterr()
    assert [re.split("  +", line.strip()) for line in said.out.splitlines()] == [
        ["SETTING", "VALUE", "SET BY"],
        ["nodes.bilbo", "no address", "mesh.toml:1"],
        ["nodes.frodo", "address tcp://10.0.0.5:7710", "mesh.toml:2"],
        ["nodes.frodo.master", "domains RUGBY_NEWS, SOCCER_NEWS · stratum 0", "mesh.toml:4"],
        [
            "nodes.frodo.master",
            'domains *, "", "of a b" · keys radar/status · stratum 2 · refid bilbo · accept_default false · '
            "accept_other_default true",
            "mesh.toml:6",
        ],
    ]
    valid = "mesh.toml: valid; 0 values, 2 nodes and 2 rules set, all others have defaults"
    assert said.err == f"{valid}\n{UNRULED}\n"


def test_as_json_it_tells_nodes_and_rules_too(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (alone / "mesh.toml").write_text(RULES)
    assert main(["config", "check", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["settings"]
    rule = {
        "domains": ["RUGBY_NEWS", "SOCCER_NEWS"],
        "keys": [],
        "stratum": 0,
        "refid": "",
        "accept_default": True,
        "accept_other_default": False,
        **{key: list[str]() for key in ("xpaths", "patterns", "filters", "given")},
        "mapper": "DomainToMaster",
        "version": "1.0",
        "told": "",
        "backup": False,
        "dirty_read": False,
        "history": 1,
        "min_nodes": 1,
        "cache_ttl": 0.0,
        "cache_linger": 0.0,
    }
    assert told[-4:-1] == [
        {
            "name": "nodes.bilbo",
            "value": {"address": None, "ping": None, "passwd": None},
            "origin": "mesh.toml:1",
        },
        {
            "name": "nodes.frodo",
            "value": {"address": "tcp://10.0.0.5:7710", "ping": None, "passwd": None},
            "origin": "mesh.toml:2",
        },
        {"name": "nodes.frodo.master", "value": rule, "origin": "mesh.toml:4"},
    ]
    assert told[-1]["value"]["refid"] == "bilbo"


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_no_password_is_printed(alone: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    own = f'[node]\npasswd = "{HASH}"\nbind = ["127.0.0.1:0"]\n'
    (alone / "mesh.toml").write_text(f'{own}[nodes.heron]\npasswd = "open sesame"\n')
    assert main(["init"]) == 0
    capsys.readouterr()
    assert main(["config", "check", *options]) == 0
    told = "".join(capsys.readouterr())
    assert told.count("(hidden)") == 2
    assert "scrypt" not in told and "sesame" not in told


def test_a_wrong_rule_is_refused_with_its_place(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (alone / "bad.toml").write_text('[[nodes.frodo.master]]\ndomains = ["RUGBY*"]\n')
    assert main(["config", "check", "bad.toml"]) == 2
    assert capsys.readouterr() == (
        "",
        "mesh: bad.toml:2: domains in [[nodes.frodo.master]]: The domain 'RUGBY*' is invalid: "
        'only a whole "*" is a wildcard. [BAD_CONFIG]\n      Name each domain, or write "*" for any.\n',
    )


def test_a_property_file_is_named_with_all_addresses_and_with_rules_that_never_count(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (alone / "p.properties").write_text(
        "cluster.node.id=frodo\ncluster.node[heron]=<clusternode id='heron'><connect><qos>"
        "<address>10.0.0.5:7710</address><address bootstrapHostname='10.0.0.6' bootstrapPort='7710'/>"
        "</qos></connect><master><key domain='queue/jobs'/><key domain='NEWS'/></master></clusternode>\n"
    )
    assert main(["config", "check", "--properties", "p.properties"]) == 0
    said = capsys.readouterr()
    assert "address tcp://10.0.0.5:7710 · or tcp://10.0.0.6:7710" in said.out
    assert said.err.splitlines()[0].startswith("p.properties: valid; ")
    assert "p.properties:2: DOMAIN 'queue/jobs' of heron has no effect: only the mesh" in said.err
    assert said.err.count("has no effect") == 1
    assert main(["config", "check", "--properties", "p.properties", "--json"]) == 0
    (heron,) = [s for s in json.loads(capsys.readouterr().out)["settings"] if s["name"] == "nodes.heron"]
    assert heron["value"]["others"] == ["tcp://10.0.0.6:7710"]


def test_without_a_file_all_is_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check"]) == 0
    assert capsys.readouterr() == ("", "no file: valid; 0 values set, all others have defaults\n")


def test_an_unknown_key_is_refused_with_its_place_and_a_suggestion(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (alone / "bad.toml").write_text('[node]\nid = "x"\n\n[limits]\nmax_contnt = 5\n')
    assert main(["config", "check", "bad.toml"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "mesh: bad.toml:5: unknown key 'max_contnt' in section [limits]. [BAD_CONFIG]\n"
        "      Did you mean 'max_content'?\n"
    )


def test_a_missing_file_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check", "nowhere.toml"]) == 2
    assert "nowhere.toml: the file does not exist" in capsys.readouterr().err


def test_show_prints_every_setting_and_where_it_is_set(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (alone / "mesh.toml").write_text(GOOD + f'passwd = "{HASH}"\n')
    assert main(["config", "show", "--origin"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["node.id", '"heron"', "mesh.toml:2"] in rows and [
        "node.passwd",
        '"(hidden)"',
        "mesh.toml:4",
    ] in rows
    assert ["limits.sessions", "16384", "default"] in rows
    assert main(["config", "show"]) == 0
    assert ["node.id", '"heron"'] in [line.split() for line in capsys.readouterr().out.splitlines()]
    assert main(["config", "show", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"name": "node.id", "value": "heron", "origin": "mesh.toml:2"} in told
    assert list(alone.iterdir()) == [alone / "mesh.toml"], "nothing is tried"


def test_show_names_what_is_wrong(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (alone / "mesh.toml").write_text("[limits]\nsessions = 0\n")
    assert main(["config", "show"]) == 2
    assert "mesh.toml:2: limits.sessions = 0 is invalid" in capsys.readouterr().err


def test_the_schema_is_a_document_for_editors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "schema"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["properties"]["limits"]["properties"]["sessions"]["default"] == 16384


def test_disconnect_is_shown_and_that_of_the_node_itself_has_no_effect(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = "[nodes.heron]\ndisconnect = true\n[nodes.stork]\ndisconnect = true\n"
    (alone / "mesh.toml").write_text(f'[node]\nid = "heron"\n{nodes}')
    assert main(["config", "check"]) == 0
    said = capsys.readouterr()
    assert "no address · disconnect true" in said.out
    assert "mesh.toml:3: disconnect has an effect only in the files of other nodes" in said.err
    assert "stork" not in said.err
    assert main(["config", "check", "--json"]) == 0
    told = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["settings"]}
    assert told["nodes.stork"]["disconnect"] is True


@pytest.mark.parametrize("most", [4096, 4097])
def test_more_connections_of_clients_than_the_node_accepts_are_noted(
    most: int, alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (alone / "mesh.toml").write_text(f"[node]\nmax_connections = {most}\n")
    assert main(["config", "check"]) == 0
    assert ("mesh.toml:2: node.max_connections: 4,097" in capsys.readouterr().err) is (most > 4096)
