"""`mesh get`: values are shown with their source, and stale ones are reported."""

import json

import pytest

from mesh.cli.main import main
from mesh.client.batch import Batch
from mesh.client.message import FoundMessage
from mesh.errors import MasterAway
from tests.mesh.cli.fake import Given
from tests.mesh.envelopes import envelope


def test_get_tells_the_source_of_each_value_as_json(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    fake = given(get=[FoundMessage.of(Batch(envelope("k"))[0], "heron", 2.5)])
    assert main(["get", "k", "--json", "--fresh", "--history", "5"]) == 0
    [told] = json.loads(capsys.readouterr().out)
    assert (told["key"], told["source"], told["stale"]) == ("k", "heron", 2.5)
    assert (fake.asked[0][2]["fresh"], fake.asked[0][2]["history"]) == (True, 5)


def test_get_warns_of_values_whose_master_is_out_of_reach(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = Batch(envelope("a b", [b"1", b"2"]))
    given(get=[FoundMessage.of(first, "here", 130.0), FoundMessage.of(second, "here", None)])
    assert main(["get", "#"]) == 0
    told = capsys.readouterr()
    assert told.out == "a  1\nb  2\n"
    assert told.err == "1 value may be stale: the master has been unreachable for up to 2 m\n"


def test_get_says_when_the_master_is_away(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given(get=MasterAway("frodo, master of k, cannot be reached."))
    assert main(["get", "k"]) == 2
    assert "[MASTER_AWAY]" in capsys.readouterr().err


def test_get_says_by_its_exit_code_that_there_is_none(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = given(get=[])
    assert main(["get", "get/z", "--domain", "D"]) == 1
    told = capsys.readouterr()
    assert (told.out, "'get/z'" in told.err) == ("", True)
    assert fake.asked == [("get", (), {"key": "get/z", "domain": "D", "fresh": False, "history": 1})]
    assert main(["get", "get/#", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == []
