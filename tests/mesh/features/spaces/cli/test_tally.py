"""`mesh tally` with a fake client, and with real nodes."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

import mesh
from mesh.cli.main import main
from mesh.features.spaces.client.tally import TallyValue
from tests.mesh.cli.fake import Given
from tests.mesh.features.spaces.cli.test_map import at
from tests.mesh.running import running

Capture = pytest.CaptureFixture[str]


def test_tallies_are_listed_and_missing_nodes_are_named(given: Given, capsys: Capture) -> None:
    found = TallyValue(1234, ["ibis"])
    pages = {"": {"names": ["a"], "next": "a"}, "a": {"names": ["b"]}}
    given(call=lambda verb, after: pages[after], tally=lambda name: SimpleNamespace(value=lambda: found))
    assert main(["tally", "ls"]) == 0
    assert capsys.readouterr().out.split() == ["TALLY", "VALUE", "a", "1,234", "b", "1,234"]
    assert main(["tally", "get", "a"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "1234\n" and shown.err.endswith("may be missing: ibis\n")
    assert main(["tally", "get", "a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"value": 1234, "missing": ["ibis"]}
    given(call=lambda verb, after: {})
    assert main(["tally", "ls"]) == 1


@pytest.mark.slow
def test_running_nodes_add_each_by_itself() -> None:
    with running("a") as a, running("b", beside=a) as b:
        with mesh.sync.connect("a", environ=a.environ) as m, mesh.sync.connect("b", environ=b.environ) as n:
            m.tally("clicks").add(3)
            n.tally("clicks").add(-1)
            assert m.tally("clicks").value() == n.tally("clicks").value() == mesh.TallyValue(2, [])
            b.kill()
            m.tally("clicks").add()
            b.start()
            n.tally("clicks").add()
            assert n.tally("clicks").value().value == 4
        assert at(a, "tally", "get", "clicks").stdout == "4\n"
        assert at(b, "tally", "ls").stdout.split() == ["TALLY", "VALUE", "clicks", "4"]
