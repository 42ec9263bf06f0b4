"""`mesh ls --tree`: each node below its next hop, for any rows, without a node."""

import json
from typing import Any

import pytest

from mesh.cli.main import main
from mesh.cli.tree import lines
from tests.mesh.cli.fake import Given


def row(*way: str, by: str = "", latency: float = 0.0, broken: Any = (), node: str = "") -> dict[str, Any]:
    return {
        "node": node or way[0],
        "stratum": len(way) - 1,
        "way": list(way),
        "latency": latency,
        "by": by,
        "broken": list(broken),
    }


NEWS = "DOMAIN NEWS"
ROWS = [
    row("bilbo", "frodo", "heron", latency=0.002),
    row("frodo", "heron", by=NEWS, latency=0.0012, broken=[["sam", "has no route itself"]]),
    row("golan", "heron", latency=0.001),
    row("heron", by=NEWS),
    row(node="sam", broken=[["arwen", "arwen is dead"]]),
    row("swift"),
]
FOUND = {"domain": "NEWS", "rows": ROWS, "domains": [], "missing": ["owl"]}


def told(*rows: dict[str, Any]) -> list[tuple[str, str]]:
    return [(str(line[0]), str(line[1])) for line in lines(rows)]


def test_each_node_stands_below_the_one_that_it_asks(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call=FOUND)
    assert main(["ls", "--tree", "NEWS"]) == 1  # sam has no route
    said = capsys.readouterr()
    title, header, *rows = (line.rstrip() for line in said.out.splitlines())
    assert title == "NEWS" and header.split() == ["NODE", "STRATUM", "LATENCY", "RULE", "NOT", "BY"]
    assert [
        line.split("  ")[0] or line[: len(line) - len(line.lstrip())] + line.split()[0] for line in rows
    ] == ["heron", "  frodo", "    bilbo", "  golan", "sam"]
    assert rows[1].split()[1:] == ["1", "1.2", "ms", "DOMAIN", "NEWS", "sam:", "has", "no", "route", "itself"]
    assert "no route" in rows[4] and "arwen is dead" in rows[4]
    assert "no rule names a master for: swift" in said.err
    assert "did not answer: owl" in said.err


def test_a_program_gets_all_of_it_and_the_exit_code_says_whether_all_have_a_way(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call=FOUND)
    assert main(["ls", "--tree", "NEWS", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == [{"domain": "NEWS", "rows": ROWS, "missing": ["owl"]}]
    given(call={**FOUND, "rows": ROWS[:4], "missing": []})
    assert main(["ls", "--tree", "NEWS", "--json"]) == 0


def test_without_a_domain_there_is_a_tree_for_each_that_rules_name(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = given(call={**FOUND, "domains": ["NEWS", "*"]})
    assert main(["ls", "--tree"]) == 1
    assert [options for _, _, options in fake.asked] == [{}, {"domain": "NEWS"}, {"domain": "*"}]
    given(call={**FOUND, "rows": [], "missing": []})
    assert main(["ls", "--tree"]) == 0
    assert "no rule at this node names a domain" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "NE\udcffWS"])
def test_what_is_no_domain_is_refused_and_nobody_is_asked(
    given: Given, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    fake = given(call=FOUND)
    assert main(["ls", "--tree", text]) == 2 and not fake.asked
    assert "domain" in capsys.readouterr().err


def test_who_has_not_answered_stands_above_those_that_ask_it() -> None:
    assert told(row("a", "old", "m")) == [("old", "?"), ("  a", "2")]


def test_two_that_have_just_changed_and_name_each_other_are_shown_once() -> None:
    assert told(row("a", "b", "m"), row("b", "a", "m")) == [("a", "2"), ("  b", "2")]


def test_two_masters_are_two_trees() -> None:
    assert told(row("a", "m"), row("m"), row("b", "n"), row("n")) == [
        ("m", "0"),
        ("  a", "1"),
        ("n", "0"),
        ("  b", "1"),
    ]


@pytest.mark.parametrize("other", ["--sites", "--addresses"])
def test_one_list_at_a_time(other: str, given: Given) -> None:
    given(call=FOUND)
    assert main(["ls", "--tree", other]) == 2
    assert main(["ls", "NEWS"]) == 2
