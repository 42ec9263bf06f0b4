"""`mesh where`: one row for each node, in readable text, and who reported it."""

from __future__ import annotations

import json

import pytest

from mesh.cli.main import main
from mesh.client.views import Place, place_of
from mesh.errors import UnknownName
from mesh.wire.replies import Sighting
from tests.mesh.cli.fake import Given

Capture = pytest.CaptureFixture[str]
JOE = Sighting(
    kind="client", name="client/joe", node="heron", by="heron", state="connected", count=2,
    life="alive", address="tcp://10.0.0.5:7710",
)  # fmt: skip
GHOST = Sighting(kind="client", name="client/joe", node="ghost", by="crane", state="reported")
QUEUE = Sighting(
    kind="queue", name="queue/joe", node="stork", by="stork", state="waiting", count=1200, life="suspect"
)
PLACE = place_of([JOE, GHOST, QUEUE], ["egret"])


def test_each_node_has_a_row_and_the_one_that_reported_it(given: Given, capsys: Capture) -> None:
    client = given(where=PLACE)
    assert main(["where", "joe"]) == 0
    assert client.asked == [("where", ("joe",), {})]
    said = capsys.readouterr()
    rows = [line.split() for line in said.out.splitlines()]
    assert rows[1] == [
        "client",
        "client/joe",
        "heron",
        "connected",
        "2",
        "alive",
        "tcp://10.0.0.5:7710",
        "itself",
    ]
    assert rows[2] == ["client", "client/joe", "ghost", "reported", "0", "unknown", "-", "crane"]
    assert rows[3] == ["queue", "queue/joe", "stork", "waiting", "1,200", "suspect", "-", "itself"]
    assert "egret" in said.err


def test_json_has_all_places(given: Given, capsys: Capture) -> None:
    given(where=PLACE)
    assert main(["where", "joe", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["nodes"], found["missing"]) == ("client", ["heron", "ghost"], ["egret"])
    assert found["sightings"][1]["by"] == "crane" and found["others"][0]["name"] == "queue/joe"


def test_an_unknown_name_is_an_error_with_its_code(given: Given, capsys: Capture) -> None:
    given(where=UnknownName("heron finds nothing named 'jeo'.", hint="Similar: client/joe."))
    assert main(["where", "jeo"]) == 2
    said = capsys.readouterr().err
    assert "client/joe" in said and "UNKNOWN_NAME" in said


def test_what_a_liar_reports_reaches_the_terminal_without_control_characters(
    given: Given, capsys: Capture
) -> None:
    lie = Sighting(kind="address", name="address/a\x1b[2J", node="ghost", by="crane", address="\x1b[2J")
    given(where=Place("address", "address/a", ["ghost"], [lie], missing=["\x1b[2J"]))
    assert main(["where", "a"]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err


@pytest.mark.parametrize("words", [[], ["a", "b"], ["a\udcff"]])
def test_what_is_typed_wrongly_is_refused_and_no_node_is_asked(given: Given, words: list[str]) -> None:
    fake = given(where=PLACE)
    assert main(["where", *words]) == 2 and not fake.asked
