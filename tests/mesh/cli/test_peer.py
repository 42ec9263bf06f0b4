"""`mesh peer`: addresses of other nodes are added and removed, in every notation."""

import json
import re
from typing import Any

import pytest

from mesh.cli.main import main
from tests.mesh.cli.fake import Given

CONFIG = {"address": "tcp://10.0.0.6:7710", "kind": "config", "node": "", "state": "", "seen": None}


ADDED = {"address": "tcp://10.0.0.5:7710", "kind": "added", "node": "heron", "state": "alive", "seen": 130.0}


class Book:
    """A node that knows some addresses, and adds or removes others."""

    def __init__(self, *known: str, keys: bool = True) -> None:
        self.known = set(known)
        self._keys = keys

    def __call__(self, verb: str, add: str = "", rm: str = "", limit: int = 0) -> dict[str, Any]:
        if verb == "peers":
            return {"peers": [CONFIG, ADDED]}
        if verb == "ls":
            assert limit == 1, "who asks for the keys needs no list of all nodes"
            return {"keys": self._keys}
        assert verb == "peer" and bool(add) != bool(rm)
        changed = add not in self.known if add else rm in self.known
        self.known ^= {add or rm} if changed else set()
        return {"changed": changed}


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("10.0.0.5", "tcp://10.0.0.5:7710"),
        ("10.0.0.5:7711", "tcp://10.0.0.5:7711"),
        ("tcp://10.0.0.5:7711", "tcp://10.0.0.5:7711"),
        ("tcp://nas.example.com", "tcp://nas.example.com:7710"),
        ("nas", "tcp://nas:7710"),
        ("localhost:7710", "tcp://127.0.0.1:7710"),
        ("2001:db8::5", "tcp://[2001:db8::5]:7710"),
        ("[2001:db8::5]", "tcp://[2001:db8::5]:7710"),
        ("[2001:db8::5]:7711", "tcp://[2001:db8::5]:7711"),
    ],
)
def test_an_address_is_added_however_it_is_written(
    given: Given, capsys: pytest.CaptureFixture[str], typed: str, address: str
) -> None:
    book = Book()
    given(call=book)
    assert main(["peer", "add", typed]) == 0
    assert book.known == {address}
    assert capsys.readouterr().err.startswith(f"{address} is dialed from now on")
    assert main(["peer", "add", typed]) == 0
    assert capsys.readouterr().err == f"{address} was already known\n"


@pytest.mark.parametrize(("typed", "is_far"), [("10.0.0.5", True), ("nas", True), ("127.0.0.1", False)])
def test_a_node_without_keys_says_that_it_needs_them_for_another_machine(
    given: Given, capsys: pytest.CaptureFixture[str], typed: str, is_far: bool
) -> None:
    given(call=Book(keys=False))
    assert main(["peer", "add", typed]) == 0
    assert ("mesh init" in capsys.readouterr().err) == is_far


@pytest.mark.parametrize("typed", ["*", "*:7710", "0.0.0.0", "[::]:7710", "::", "10.0.0.5:0"])
def test_where_a_node_may_listen_is_not_where_one_is(
    given: Given, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    given(call=Book())
    assert main(["peer", "add", typed]) == 2
    assert "not one to dial" in capsys.readouterr().err


@pytest.mark.parametrize("typed", ["", "10.0.0.5:70000", "a/b", "a:b:c", "[nas]"])
def test_what_is_no_address_is_refused(given: Given, capsys: pytest.CaptureFixture[str], typed: str) -> None:
    given(call=Book())
    assert main(["peer", "add", typed]) == 2
    assert "is not a TCP address" in capsys.readouterr().err


@pytest.mark.parametrize("typed", ["heron", "10.0.0.5", "tcp://10.0.0.5:7710"])
def test_an_address_or_a_node_is_forgotten(
    given: Given, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    book = Book("heron", "tcp://10.0.0.5:7710")
    given(call=book)
    assert main(["peer", "rm", typed]) == 0
    assert book.known < {"heron", "tcp://10.0.0.5:7710"}
    assert capsys.readouterr().err.startswith(f"{typed} was removed")


@pytest.mark.parametrize(
    ("typed", "said"),
    [("10.0.0.6", "is in the node's configuration"), ("swan", "mesh peer ls"), ("a/b", "mesh peer ls")],
)
def test_what_cannot_be_forgotten_is_said_by_word_and_exit_code(
    given: Given, capsys: pytest.CaptureFixture[str], typed: str, said: str
) -> None:
    given(call=Book())
    assert main(["peer", "rm", typed]) == 1
    assert said in capsys.readouterr().err


def test_the_addresses_are_listed_with_who_is_there(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(call=Book())
    assert main(["peer", "ls"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["ADDRESS", "KIND", "NODE", "STATE", "SEEN"],
        ["10.0.0.6:7710", "config", "-", "-", "-"],
        ["10.0.0.5:7710", "added", "heron", "alive", "2", "m"],
    ]
    assert main(["peer", "ls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"peers": [CONFIG, ADDED]}


def test_without_any_it_says_how_to_add_one(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(call={"peers": []})
    assert main(["peer", "ls"]) == 0
    assert capsys.readouterr() == ("", "no peers.  To add one:  mesh peer add ADDRESS\n")


@pytest.mark.parametrize("verb", ["add", "rm", "ls"])
def test_each_asks_the_node_that_is_named(given: Given, verb: str) -> None:
    fake = given(call={"peers": [], "changed": True})
    assert main(["peer", verb, *(["10.0.0.5"] if verb != "ls" else []), "--url", "heron"]) == 0
    assert fake.opened == {"url": "heron"}


Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    "typed",
    ["not a host", "no host:7710", "a host", "999.1.1.1", "1.2.3:7710", "10.0.0.5.", "[::zz]:1", "*x", "a\tb",
     "\u202eevil", "a" * 254, "-", "--", "[fe80::1%a b]:1", "tcp://", "@", "heron!"],
)  # fmt: skip
def test_trial_C_what_is_no_address_is_refused_by_name(given: Given, capsys: Capture, typed: str) -> None:
    book = Book()
    given(call=book)
    assert main(["peer", "add", "--", typed]) == 2
    said = capsys.readouterr().err
    assert "is not a TCP address" in said and "[BIND]" in said
    assert book.known == set()


@pytest.mark.parametrize("typed", ["[fe80::5%eth0]:7710", "nas_2.lan", "münchen.example", "10.0.0.5:1"])
def test_what_is_an_address_is_taken(given: Given, typed: str) -> None:
    book = Book()
    given(call=book)
    assert main(["peer", "add", typed]) == 0 and book.known


def test_trial_C_peer_ls_says_why_and_when(given: Given, capsys: Capture) -> None:
    told = {**CONFIG, "why": "the host nas is unknown", "tried": 12.0}
    given(call={"peers": [told, {**ADDED, "why": "", "tried": None}]})
    assert main(["peer", "ls"]) == 0
    lines = [re.split("  +", line.strip()) for line in capsys.readouterr().out.splitlines()]
    assert [line[-1] for line in lines] == ["LAST TRY", "the host nas is unknown (12 s ago)", "-"]
