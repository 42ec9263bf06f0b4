"""`mesh ls`: a row for each node, and hints where no node is found."""

import json
import re
from typing import Any

import pytest

from mesh.cli import ls
from mesh.cli.main import main
from mesh.kernel.status import address_of
from mesh.wire.commands import Introduction
from tests.mesh.cli.fake import Given
from tests.mesh.cli.rows import UNHEARD, listed, row


def told(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Return the lines of the printed table, split into cells."""
    return [line.split("  ") for line in capsys.readouterr().out.split("\n\n")[0].splitlines()]


def cells(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    header, *rows = ([cell.strip() for cell in line if cell.strip()] for line in told(capsys))
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_a_row_says_how_a_node_was_found_and_how_it_is(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call=listed(row("a", via="self", rtt=0.0), row("b", via="remembered", state="suspect")))
    assert main(["ls"]) == 0
    me, other = cells(capsys)
    assert (me["NODE"], me["VIA"], me["RTT"], me["AGE"]) == ("a *", "self", "-", "-")
    assert other == {
        "NODE": "b",
        "ADDRESS": "127.0.0.1:1",
        "VIA": "remembered",
        "STATE": "suspect",
        "LINK": "logged in",
        "RTT": "1.0 ms",
        "CPU": "50 %",
        "RAM": "25 %",
        "VERSION": "0.1.0",
        "AGE": "1 s",
    }


@pytest.mark.parametrize(
    ("state", "leaving", "shown"),
    [
        ("alive", True, "draining"),
        ("dead", True, "dead"),
        ("alive", False, "alive"),
        ("alive", None, "alive"),
    ],
)
def test_a_node_that_is_drained_and_alive_is_draining(
    state: str, leaving: bool | None, shown: str, given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call=listed(row("a", via="self"), row("b", state=state, leaving=leaving)))
    assert main(["ls"]) == 0
    assert cells(capsys)[1]["STATE"] == shown


def test_what_is_not_known_of_a_node_is_a_dash(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(
        call=listed(
            row("a", via="self"), row("b", **{**UNHEARD, "address": "", "state": "dead", "rtt": None})
        )
    )
    assert main(["ls"]) == 0
    other = cells(capsys)[1]
    assert other["STATE"] == "dead"
    assert {other[name] for name in ("ADDRESS", "RTT", "CPU", "RAM", "VERSION")} == {"-"}


def test_a_node_that_left_is_at_no_address(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(call=listed(row("a", via="self"), row("b", state="left"), row("c", state="dead")))
    assert main(["ls", "--all"]) == 0
    assert [each["ADDRESS"] for each in cells(capsys)[1:]] == ["-", "127.0.0.1:1"], "a dead one may come back"


def test_as_json_it_is_the_answer_itself(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(row("a", via="self"))
    fake = given(call=found)
    assert main(["ls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert fake.asked == [("call", ("ls",), {})]


def test_there_is_a_column_for_what_waits_only_if_anything_does(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call=listed(row("a", via="self"), row("b")))
    assert main(["ls"]) == 0
    assert "TAIL-BACK" not in capsys.readouterr().out
    given(call=listed(row("a", via="self"), row("b", 1234, 130)))
    assert main(["ls"]) == 0
    assert [cell["TAIL-BACK"] for cell in cells(capsys)] == ["-", "1,234, 2 m"]


def test_there_is_a_column_for_queues_only_if_anything_is_in_one(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    older = row("a", via="self")
    del older["queued"]
    given(call=listed(older, row("b")))
    assert main(["ls"]) == 0
    assert "QUEUED" not in capsys.readouterr().out
    given(call=listed(older, row("b", 1234, 130, queued=56_789), row("c")))
    assert main(["ls"]) == 0
    assert [(cell["QUEUED"], cell["TAIL-BACK"]) for cell in cells(capsys)] == [
        ("-", "-"), ("56,789", "1,234, 2 m"), ("0", "-"),
    ]  # fmt: skip


def test_what_waits_for_a_master_that_nobody_knows_is_told_below() -> None:
    found = listed(row("a"), row("b"), unknown={"messages": 1200, "bytes": 34_000, "age": 3.4})
    _, said, hint = ls.remarks(found)
    assert "1,200 messages (34 KB)" in said and "3.4 s" in said and "mesh route" in hint
    assert max(len(said), len(hint)) <= 80
    assert not any("without a known master" in line for line in ls.remarks(listed(row("a"), row("b"))))


def test_each_scope_is_explained_and_when_only_named_nodes_are_linked() -> None:
    rows = (row("a"), row("b"))
    [plain] = ls.remarks(listed(*rows))
    assert plain.startswith("default-scope mesh: ")
    local, links = ls.remarks(listed(*rows, scope="local", links="configured"))
    assert local.startswith("default-scope local: ") and links.startswith("links configured: ")
    assert max(map(len, (plain, local, links))) <= 80


@pytest.mark.parametrize(("keys", "elsewhere"), [(False, "mesh init"), (True, "mesh join, then mesh up")])
def test_a_lonely_node_says_how_to_add_another(keys: bool, elsewhere: str) -> None:
    _, *lines = ls.remarks(listed(row("a", via="self"), keys=keys))
    here, by_hand, other = lines
    assert here.startswith("Only this node is visible.") and here.endswith("mesh up --id NAME")
    assert by_hand.endswith("mesh peer add tcp://127.0.0.1:1")
    assert elsewhere in other
    assert max(map(len, lines)) <= 80


def test_nobody_is_told_to_dial_a_node_that_cannot_be_dialled() -> None:
    assert not any("peer add" in line for line in ls.remarks(listed(row("a", via="self", address=""))))


@pytest.mark.parametrize(("keys", "said"), [(True, "without keys"), (False, "with keys")])
def test_a_lonely_node_says_which_others_here_are_for_themselves_since_they_have_other_keys(
    keys: bool, said: str
) -> None:
    me = {"name": "a", "uuid": "aa", "cluster": "home", "keyed": keys}
    here = [
        me,
        {**me, "name": "b", "uuid": "bb", "keyed": not keys},
        {**me, "name": "c", "uuid": "cc"},
        {**me, "name": "d", "uuid": "dd", "keyed": not keys, "cluster": "other"},
    ]
    alone = listed(row("a", via="self", uuid="aa"), keys=keys)
    [line] = [line for line in ls.remarks(alone, here) if "Restart" in line]
    assert said in line and line.endswith("  b") and len(line) <= 80
    for others in ((), here[1:], here[::2]):  # none, those of another machine, those of our kind
        assert not any("Restart" in line for line in ls.remarks(alone, others))


Capture = pytest.CaptureFixture[str]


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


def test_who_left_on_purpose_or_was_only_heard_of_is_listed_with_all(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = [row(name, state=state) for name, state in (("b", "left"), ("c", "left"), ("d", "seen"))]
    waits = row("e", state="left", tailback={"messages": 2, "bytes": 9, "age": 1.0})
    nodes = (row("a", via="self"), *gone, waits, row("f", state="dead"))
    given(call=listed(*nodes))
    assert main(["ls"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.split("\n\n")[0].splitlines()[1:]] == ["a", "e", "f"]
    assert (
        "not listed: 2 nodes that left, 1 node only reported by others.  To list them:  mesh ls --all" in out
    )
    given(call=listed(*nodes))
    assert main(["ls", "--json"]) == 0
    assert [node["name"] for node in json.loads(capsys.readouterr().out)["nodes"]] == ["a", "e", "f"]
    given(call=listed(*nodes))
    assert main(["ls", "--all"]) == 0
    out = capsys.readouterr().out
    assert len(out.split("\n\n")[0].splitlines()) == 7 and "not listed" not in out


def test_who_is_alone_but_for_those_that_left_is_told_how_to_add_one(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call=listed(row("a", via="self"), row("b", state="left")))
    assert main(["ls"]) == 0
    assert "Only this node is visible" in capsys.readouterr().out


def test_a_loopback_address_among_others_is_not_shown_as_reachable(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    far = row("a", via="self", address="tcp://10.0.0.5:7710")
    given(call=listed(far, row("b"), row("c", state="left"), row("d", address="")))
    assert main(["ls"]) == 0
    assert [each["ADDRESS"] for each in cells(capsys)] == ["10.0.0.5:7710", "127.0.0.1:1 (local)", "-"]
    given(call=listed(row("a", via="self"), row("b")))  # all on one machine
    assert main(["ls"]) == 0
    assert [each["ADDRESS"] for each in cells(capsys)] == ["127.0.0.1:1", "127.0.0.1:1"]


def test_an_own_address_that_others_cannot_dial_is_remarked(given: Given, capsys: Capture) -> None:
    why = "stork could not dial tcp://10.0.0.5:7710: no answer"
    for code, remarks in (("no", 1), ("partly", 1), ("yes", 0), ("local", 0), ("", 0)):
        given(call={**listed(row("a", via="self"), row("b")), "reachable": code, "reachability": why})
        assert main(["ls"]) == 0
        out = capsys.readouterr().out
        assert out.count(f"address of this node: {why}\n  what to do:  mesh why node a\n") == remarks, code
