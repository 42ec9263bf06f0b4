"""Does a command say yes only to what is so, and everything once?"""

import re
from typing import Any

import pytest

from mesh.cli.main import main
from mesh.client.deadletters import DeadLetter
from mesh.client.message import Batch
from mesh.core.status import address_of
from mesh.errors import BadName
from mesh.values import Headers
from mesh.wire.commands import Introduction
from mesh.wire.envelope import Envelope
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.cli.fake import Given
from tests.mesh.cli.rows import listed, row
from tests.mesh.cli.test_peer import ADDED, CONFIG, Book

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
    assert "is not an address" in said and "[BIND]" in said
    assert book.known == set()


@pytest.mark.parametrize("typed", ["[fe80::5%eth0]:7710", "nas_2.lan", "münchen.example", "10.0.0.5:1"])
def test_what_is_an_address_is_taken(given: Given, typed: str) -> None:
    book = Book()
    given(call=book)
    assert main(["peer", "add", typed]) == 0 and book.known


def test_trial_C_peer_ls_says_why_and_when(given: Given, capsys: Capture) -> None:
    told = {**CONFIG, "why": "nobody knows the host nas", "tried": 12.0}
    given(call={"peers": [told, {**ADDED, "why": "", "tried": None}]})
    assert main(["peer", "ls"]) == 0
    lines = [re.split("  +", line.strip()) for line in capsys.readouterr().out.splitlines()]
    assert [line[-1] for line in lines] == ["LAST TRY", "nobody knows the host nas (12 s ago)", "-"]


def test_trial_C_a_node_that_is_gone_shows_neither_link_nor_round_trip(given: Given, capsys: Capture) -> None:
    gone = row("b", state="dead", link="", rtt=0.0)
    given(call=listed(row("a", via="self"), gone))
    assert main(["ls"]) == 0
    head, _, line = capsys.readouterr().out.splitlines()[:3]
    cells = dict(zip(head.split(), re.split("  +", line.strip()), strict=False))
    assert (cells["LINK"], cells["RTT"]) == ("-", "-")


def test_trial_C_an_address_of_one_link_is_not_shown_where_there_is_another() -> None:
    class Reached:
        reached = "tcp://[fe80::5%eth0]:7710"
        node = Introduction(b"b" * 16, "b", 1, "tcp://10.0.0.5:7710", ("tcp://[2001:db8::5]:7710",))

    peer: Any = Reached()
    assert address_of(peer) == "tcp://10.0.0.5:7710"
    peer.reached = "tcp://[2001:db8::5]:7710"
    assert address_of(peer) == peer.reached
    peer.node = Introduction(b"b" * 16, "b", 1, "")
    peer.reached = "tcp://[fe80::5%eth0]:7710"
    assert address_of(peer) == peer.reached


def test_trial_C_hints_of_verbs_can_be_typed(given: Given, capsys: Capture) -> None:
    given(erase=[])
    assert main(["erase", "my key; rm -rf ~", "--domain", "a b"]) == 1
    assert "mesh route --domain 'a b' 'my key; rm -rf ~'" in capsys.readouterr().err
    given(erase=[])
    assert main(["erase", "--", "--all"]) == 1
    assert "mesh route -- --all" in capsys.readouterr().err


def test_trial_C_property_files_are_read_or_refused_by_name(capsys: Capture) -> None:
    assert main(["up", "--properties", "x"]) == 2
    assert "x: there is no such file" in capsys.readouterr().err
    assert main(["up", "--lenient"]) == 2 and main(["up", "--", "-pingInterval", "2000"]) == 2
    assert capsys.readouterr().err.count("without --properties") == 2
    assert main(["up", "--help"]) == 0
    assert "later release" not in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("code", ["NO_RIGHT", "STORE_FULL"])
def test_trial_C_a_dead_letter_has_its_code_once(code: str) -> None:
    own = encode_properties(
        Properties(headers=Headers([("dead-code", code), ("dead-reason", f"it was not taken. [{code}]")]))
    )
    it = Envelope(
        stream=bytes(16),
        domain="",
        first=1,
        last=1,
        keys=("k",),
        count=1,
        sizes=len(own).to_bytes(4, "little"),
        body=own,
        props=len(own),
        sender="",
    )
    letter = DeadLetter.of(Batch(it)[0])
    assert (letter.code, letter.reason) == (code, "it was not taken.")


def test_trial_C_an_error_has_its_code_once(capsys: Capture, given: Given) -> None:
    given(call=BadName("'a b' is not a name.", hint="Write another."))
    assert main(["ls"]) == 2
    assert capsys.readouterr().err.count("[BAD_NAME]") == 1
