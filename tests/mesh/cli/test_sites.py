"""`mesh ls --sites`: other sites with their gateways, without a node."""

import json
from typing import Any

import pytest

from mesh.cli.main import main
from tests.mesh.cli.fake import Given


def site(name: str, state: str, *links: dict[str, Any], since: float | None = 75.0) -> dict[str, Any]:
    waiting = {"messages": 0, "bytes": 0, "age": 0.0} if links else {"messages": 1200, "bytes": 9, "age": 5.0}
    row = {"site": name, "state": state, "since": since, "count": 2, "nodes": ["x", "y"]}
    return {**row, "links": list(links), "waiting": waiting}


LINKED = {"node": "heron", "gateways": ["gull", "tern"], "state": "logged in", "why": ""}
REFUSED = {"node": "swift", "gateways": [], "state": "not allowed by peer: SITE", "why": "SFO is not known"}
FOUND = {
    "site": "LON",
    "sites": [site("NYC", "up", LINKED, REFUSED), site("SFO", "unreachable", since=None)],
    "missing": [],
}


def test_each_site_is_named_once_with_a_line_for_each_gateway_of_ours(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call=FOUND)
    assert main(["ls", "--sites"]) == 0
    header, first, second, third = capsys.readouterr().out.splitlines()
    assert header.split() == ["SITE", "STATE", "SINCE", "NODES", "WAITS", "BY", "GATEWAYS", "THERE", "LINK"]
    assert first.split() == ["NYC", "up", "75", "s", "2", "-", "heron", "gull,", "tern", "logged", "in"]
    assert second.split()[:2] == ["swift", "-"] and "SFO is not known" in second
    assert third.split() == ["SFO", "unreachable", "-", "2", "1,200,", "5", "s", "-", "-", "no", "gateway"]


def test_a_program_gets_all_of_it(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(call=FOUND)
    assert main(["ls", "--sites", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == FOUND


def test_it_says_when_there_is_none_or_not_all_have_answered(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call={"site": "", "sites": [], "missing": ["b", "b"]})
    assert main(["ls", "--sites"]) == 0
    said = capsys.readouterr().err
    assert "did not answer: b\n" in said and "[sites.NAME]" in said
    assert main(["ls", "--sites", "--addresses"]) == 2
