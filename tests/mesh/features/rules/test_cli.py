"""`mesh rule` and `mesh node`: changes of the shared list, signatures, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mesh.cli.main import main
from mesh.mapping.agreed import NONE, Agreed, AgreedNode, packed, unpacked
from mesh.mapping.rules import Rule
from mesh.security.joining import join, join_admin, new_mesh, token_of
from mesh.security.keyfiles import read_admin, write_admin
from mesh.security.signing import public_key, verify
from mesh.shared.row import row_of
from tests.mesh.cli.fake import FakeClient, Given

Capture = pytest.CaptureFixture[str]


NEWS = Rule("heron", domains=("NEWS",))


OWN = Agreed({"bilbo": AgreedNode((Rule("bilbo", domains=("B",)),)), "heron": AgreedNode((NEWS,))})


class Mesh:
    """A node that has a shared list, and accepts others."""

    def __init__(self, given: Given, agreed: Agreed = NONE, **told: Any) -> None:
        self.agreed, self.told, self.said = agreed, told, dict[str, Any]()
        self.stamp, self.signature = 5 if agreed != NONE else 0, b""
        self.client: FakeClient = given(call=self._call)

    def _call(self, verb: str, **said: Any) -> dict[str, Any]:
        if verb == "info":
            return {"cluster": "lab"}
        if verb == "rules_put":
            self.said = said
            self.row = row_of(said["row"])
            self.agreed = unpacked(self.row.value)
            self.stamp, self.signature = self.row.stamp, self.row.signature
            return {"missing": ["frodo"], "away": []}
        value = packed(self.agreed) if self.stamp else b""
        listed = {"value": value, "stamp": self.stamp, "next": 7, "signature": self.signature}
        return listed | {"own": packed(OWN)} | self.told


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        (["heron", "--domain", "A", "--domain", "B"], (Rule("heron", domains=("A", "B")),)),
        (["heron", "--key", "k", "--add"], (NEWS, Rule("heron", keys=("k",)))),
        (["heron", "--pattern", "a/#"], (Rule("heron", patterns=("a/#",)),)),
        (["heron", "--key", "k", "--stratum", "2", "--refid", "b"], (Rule("heron", 2, (), ("k",), "b"),)),
        (["heron", "--xpath", "//x"], (Rule("heron", xpaths=("//x",)),)),
        (["heron", "--none"], ()),
        (["heron", "--domain", "A", "--min-nodes", "3"], (Rule("heron", domains=("A",), min_nodes=3),)),
        (["heron", "--domain", "A", "--cache-ttl", "60", "--cache-linger", "0.5"],
         (Rule("heron", domains=("A",), cache_ttl=60.0, cache_linger=0.5),)),
        (["heron", "--domain", "A", "--history", "9"], (Rule("heron", domains=("A",), history=9),)),
    ],
)  # fmt: skip
def test_a_node_is_given_rules(given: Given, words: list[str], rules: Any, capsys: Capture) -> None:
    mesh = Mesh(given, Agreed({"heron": AgreedNode((NEWS,), True)}))
    assert main(["rule", "set", *words]) == 0
    assert mesh.agreed.nodes == {"heron": AgreedNode(rules, True)} and mesh.agreed.base == 5
    assert (mesh.said["was"], mesh.said["force"], mesh.row.stamp, mesh.row.key) == (5, False, 7, b"")
    assert "this node will notify these again, which did not answer: frodo" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "86401", "1e400"])
def test_an_impossible_time_in_the_cache_is_refused(given: Given, seconds: str, capsys: Capture) -> None:
    mesh = Mesh(given)
    assert main(["rule", "set", "heron", "--domain", "A", "--cache-ttl", seconds]) == 2
    assert mesh.said == {} and "--cache-ttl" in capsys.readouterr().err


def test_all_nodes_of_a_file_are_given_theirs_at_once_and_others_are_left_as_they_are(
    given: Given, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "r.toml").write_text(
        '[nodes.a]\n[[nodes.a.master]]\ndomains = ["NEWS"]\n'
        "[nodes.heron]\nmaster = []\n[nodes.b]\n[nodes.c]\n"
    )
    b = AgreedNode((Rule("b", keys=("k",)),))
    mesh = Mesh(given, Agreed({"b": b, "heron": AgreedNode((NEWS,)), "z": AgreedNode(())}))
    assert main(["rule", "set", "--file", str(tmp_path / "r.toml"), "--force"]) == 0
    a, none = AgreedNode((Rule("a", domains=("NEWS",)),)), AgreedNode(())
    assert mesh.agreed.nodes == {"a": a, "b": b, "heron": none, "z": none} and mesh.said["force"]
    said = capsys.readouterr().err
    assert "have no rules: b, c" in said and "1 rule of 2 nodes" in said


def test_no_node_is_given_a_rule_as_the_master_beside_one_as_a_way(
    given: Given, tmp_path: Path, capsys: Capture
) -> None:
    before = Agreed(
        {
            "heron": AgreedNode((NEWS,)),
            "old": AgreedNode((Rule("old", domains=("NEWS",)), Rule("old", 1, ("NEWS",)))),
        }
    )
    mesh = Mesh(given, before)
    (tmp_path / "heron.xml").write_text(
        "<clusternode id='heron'><master><key oid='k'/></master>"
        "<master stratum='1'><key oid='k'/></master></clusternode>"
    )
    for words in (
        ["heron", "--domain", "NEWS", "--stratum", "1", "--add"],
        ["--xml", f"{tmp_path}/heron.xml"],
    ):
        assert main(["rule", "set", *words]) == 2 and mesh.said == {}
        assert "A node has one stratum for a topic" in capsys.readouterr().err
    assert main(["rule", "set", "heron", "--key", "k"]) == 0  # what older releases allowed does not matter


def test_a_rule_that_never_counts_is_said_to(given: Given, capsys: Capture) -> None:
    mesh = Mesh(given)
    assert main(["rule", "set", "heron", "--key", "__sys__x", "--domain", "queue/jobs", "--domain", "*"]) == 0
    said = capsys.readouterr().err
    assert "EXACT '__sys__x' of heron has no effect" in said and said.count("has no effect") == 2
    assert "heron" in mesh.agreed.nodes


def test_a_text_of_xmlblaster_is_taken_as_it_is(given: Given, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "heron.xml"
    mesh = Mesh(given)
    file.write_text(
        "<clusternode id='heron'><master><key domain='NEWS'/></master><disconnect/></clusternode>"
    )
    assert main(["rule", "set", "--xml", str(file)]) == 0
    assert (
        mesh.agreed.nodes == {"heron": AgreedNode((NEWS,))}
        and "heron.xml:1: <disconnect>" in capsys.readouterr().err
    )
    for text in ("<!DOCTYPE x><clusternode/>", "<clusternode id='a b'/>", "<a" * 9999, "\0", ""):
        file.write_text(text)
        mesh.said = {}
        assert main(["rule", "set", "--xml", str(file)]) == 2 and mesh.said == {}
        said = capsys.readouterr().err
        assert "heron.xml:1" in said and ".." not in said and len(said) < 1000
    file.write_text("<clusternode id='heron'>\n\n<masters/>\n</clusternode>")
    assert main(["rule", "set", "--xml", str(file)]) == 2
    said = capsys.readouterr().err  # with its line, but without a foreign option
    assert "heron.xml:3: unknown element <masters>" in said and "--lenient" not in said


def test_what_is_taken_out_is_left_to_files_and_what_is_not_there_is_said(given: Given) -> None:
    mesh = Mesh(given, Agreed({"a": AgreedNode((), False), "heron": AgreedNode((NEWS,))}))
    assert main(["rule", "rm", "heron", "a"]) == 0 and mesh.agreed.nodes == {"a": AgreedNode(None, False)}
    mesh.said = {}
    assert main(["rule", "rm", "heron"]) == 1 and mesh.said == {}


def test_nodes_are_allowed_denied_and_left_to_files_again(given: Given) -> None:
    mesh = Mesh(given, Agreed({"heron": AgreedNode((NEWS,))}))
    assert main(["node", "deny", "mallory", "heron"]) == 0
    assert mesh.agreed.nodes == {"heron": AgreedNode((NEWS,), False), "mallory": AgreedNode(None, False)}
    assert main(["node", "allow", "heron"]) == 0 and mesh.agreed.nodes["heron"] == AgreedNode((NEWS,), True)
    assert main(["node", "reset", "heron", "mallory"]) == 0
    assert mesh.agreed.nodes == {"heron": AgreedNode((NEWS,))}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["rule", "set"], "Usage"),
        (["rule", "set", "a"], "Usage"),
        (["rule", "set", "a", "--none", "--key", "k"], "Usage"),
        (["rule", "set", "a", "--file", "x", "--key", "k"], "Usage"),
        (["rule", "set", "a b", "--key", "k"], "BAD_NAME"),
        (["rule", "set", "a", "--key", "a/#"], "BAD_CONFIG"),
        (["rule", "set", "a", "--xpath", "//a["], "BAD_CONFIG"),
        (["rule", "set", "a", "--domain", "N*"], "BAD_CONFIG"),
        (["rule", "set", "a", "--domain", "B", "--stratum", "1", "--refid", "a"], "BAD_CONFIG"),
        (["rule", "set", "a", "--domain", "B", "--stratum", "1", "--refid", "c"], "loop"),
        (["rule", "set", "--file", "/nowhere/r.toml"], "BAD_CONFIG"),
        (["node", "deny", "a b"], "BAD_NAME"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_said(
    given: Given, words: list[str], code: str, capsys: Capture
) -> None:
    mesh = Mesh(given, Agreed({"c": AgreedNode((Rule("c", 2, ("B",), refid="a"),))}))
    assert main(words) == 2 and mesh.said == {}
    assert code in capsys.readouterr().err


def test_what_counts_and_what_is_set_aside_is_shown(given: Given, capsys: Capture) -> None:
    agreed = Agreed(
        {"a": AgreedNode(None, False), "heron": AgreedNode((Rule("heron", keys=("k",)),))}, by="joe@x"
    )
    Mesh(given, agreed, behind=["frodo"], refused="no filter")
    assert main(["rule", "ls"]) == 0
    said = capsys.readouterr()
    lines = [line.split() for line in said.out.splitlines()[1:]]
    assert [(line[0], line[-1]) for line in lines] == [
        ("bilbo", "file"),
        ("heron", "all"),
        ("heron", "aside"),
    ]
    for text in (
        "joe@x",
        "denied links: a",
        "not in force at this node: no filter",
        "not yet in force at: frodo",
    ):
        assert text in said.err
    assert main(["rule", "ls", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rules"][1]["rule"]["keys"] == ["k"] and found["nodes"] == {"a": False}


def test_with_keys_it_is_signed_by_the_admin_and_by_nobody_else(
    given: Given, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path))
    file = new_mesh(tmp_path, "lab")
    seed = read_admin(tmp_path, "lab")
    mesh = Mesh(given, keys=True, admin=file.admin)
    assert main(["rule", "set", "heron", "--domain", "A"]) == 0
    assert mesh.row.key == file.admin and verify(mesh.row.key, mesh.row.signature, mesh.row.text)
    assert main(["node", "deny", "a"]) == 0 and mesh.agreed.nodes.keys() == {"a", "heron"}
    mesh.client.cluster, mesh.told["keys"] = "lab", False
    assert main(["node", "allow", "a"]) == 0 and mesh.row.key == file.admin, "the keys say which mesh it is"
    mesh.client.cluster, mesh.told["keys"] = "", True
    mesh.told["value"], mesh.said = packed(OWN), {}
    assert main(["rule", "rm", "heron"]) == 2 and mesh.said == {}
    assert "signed its rules" in capsys.readouterr().err
    del mesh.told["value"]
    mesh.told["admin"] = public_key(b"x" * 32)
    assert main(["node", "deny", "a"]) == 2 and "NOT_ADMIN" in capsys.readouterr().err
    for other in (b"y" * 32, b""):
        (tmp_path / "keys" / "lab.admin").unlink()
        if other:
            write_admin(tmp_path, "lab", other)
            write_admin(tmp_path, "lab", seed)
            assert (tmp_path / "keys" / "lab.admin.left").exists(), "no key is lost"
            write_admin(tmp_path, "lab", other)
        mesh.said = {}
        assert main(["rule", "rm", "heron"]) == 2 and mesh.said == {}
        said = capsys.readouterr().err
        assert "The key of the admin of mesh 'lab' is required" in said and "mesh token --role admin" in said


def test_an_admin_goes_elsewhere_by_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    monkeypatch.setenv("MESH_STATE_DIR", str(here))
    assert main(["init", "--cluster", "lab"]) == 0
    capsys.readouterr()
    assert main(["token", "--role", "admin"]) == 0
    token = capsys.readouterr().out.strip()
    assert main(["token", "--role", "client"]) == 0
    client = capsys.readouterr().out.strip()
    monkeypatch.setenv("MESH_STATE_DIR", str(there))
    monkeypatch.setenv("MESH_TOKEN", token)
    assert main(["join"]) == 2 and "Join the mesh first" in capsys.readouterr().err
    monkeypatch.setenv("MESH_TOKEN", client)
    assert main(["join"]) == 0
    monkeypatch.setenv("MESH_TOKEN", token)
    assert main(["join"]) == 0 and main(["join"]) == 0
    assert read_admin(there, "lab") == read_admin(here, "lab") != b""
    assert main(["token", "--role", "admin"]) == 0, "who has it gives it on"


def test_a_mesh_without_an_admin_is_given_one_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    from msgspec.structs import replace

    from mesh.security.keyfiles import read_mesh, write_mesh

    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path))
    assert main(["init", "--admin"]) == 2
    old = replace(new_mesh(tmp_path, "default"), admin=b"")
    write_mesh(tmp_path, old)
    assert b"admin" not in (tmp_path / "keys" / "default.json").read_bytes(), "as earlier releases read it"
    assert main(["token", "--role", "admin"]) == 2 and "mesh init --admin" in capsys.readouterr().err
    token = token_of(old, "node", 0)
    assert main(["init", "--admin"]) == 0 and main(["init", "--admin"]) == 2
    now = read_mesh(tmp_path, "default")
    assert now is not None and len(now.admin) == 32 and (now.secret, now.public) == (old.secret, old.public)
    assert join(tmp_path, token, "")[0].admin == now.admin, "an old token takes nothing away"
    assert join_admin(tmp_path, replace_role(now.admin, tmp_path))[1] is False


def replace_role(admin: bytes, state: Path) -> Any:
    from mesh.security.token import Token

    return Token("default", "admin", read_admin(state, "default"), admin=admin)
