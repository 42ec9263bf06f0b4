"""`mesh ls --addresses`: served addresses are listed with their nodes."""

import json

import pytest

from mesh.cli.main import main
from tests.mesh.cli.fake import Given

SERVED = {
    "addresses": [
        {"address": "calc/add", "nodes": [{"node": "a", "uuid": "00", "consumers": 2}]},
        {
            "address": "who",
            "nodes": [
                {"node": "a", "uuid": "00", "consumers": 1},
                {"node": "b", "uuid": "01", "consumers": 3},
            ],
        },
    ],
    "missing": [],
}


def test_ls_lists_addresses_with_each_node(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(call=SERVED)
    assert main(["ls", "--addresses"]) == 0
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert said == [["ADDRESS", "NODE", "SERVERS"], ["calc/add", "a", "2"], ["who", "a", "1"], ["b", "3"]]


@pytest.mark.parametrize(("wanted", "found"), [("who", ["who"]), ("calc/#", ["calc/add"]), ("calc", [])])
def test_ls_lists_an_address_or_those_that_match(
    given: Given, capsys: pytest.CaptureFixture[str], wanted: str, found: list[str]
) -> None:
    given(call=SERVED)
    assert main(["ls", "--addresses", wanted, "--json"]) == (0 if found else 1)
    assert [row["address"] for row in json.loads(capsys.readouterr().out)["addresses"]] == found


def test_ls_says_when_nothing_is_served_or_not_all_have_answered(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call={"addresses": [], "missing": ["b", "b"]})
    assert main(["ls", "--addresses"]) == 0
    said = capsys.readouterr().err
    assert "did not answer: b\n" in said and "mesh reply ADDRESS" in said
    assert main(["ls", "calc/add"]) == 2


@pytest.mark.parametrize("pattern", ["", "a/#/b", "#/+#"])
def test_ls_refuses_a_pattern_that_is_none(
    given: Given, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    given(call=SERVED)
    assert main(["ls", "--addresses", pattern]) == 2
    assert "pattern" in capsys.readouterr().err
