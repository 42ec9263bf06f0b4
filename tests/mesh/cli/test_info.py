"""`mesh info`: the node and its counters, as two tables or one document."""

import json
from typing import Any

import msgspec
import pytest

from mesh.cli.main import main
from tests.mesh.cli.fake import Given
from tests.mesh.metrics.infos import info

Capture = pytest.CaptureFixture[str]


def test_a_node_is_shown_with_its_counters(given: Given, capsys: Capture) -> None:
    fake = given(call=lambda verb: msgspec.to_builtins(info(published=1234)))
    assert main(["info", "--url", "heron"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["name", "heron"] in rows and ["lag_p99", "100", "ms"] in rows
    assert ["published", "1,234"] in rows and ["disk_free", "7"] in rows
    assert (fake.opened, fake.asked) == ({"url": "heron"}, [("call", ("info",), {})])


def test_as_json_it_is_the_answer_itself(given: Given, capsys: Capture) -> None:
    found: Any = msgspec.to_builtins(info(published=1234))
    given(call=found)
    assert main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found


def test_log_levels_are_shown_as_text(given: Given, capsys: Capture) -> None:
    found: Any = msgspec.to_builtins(info()) | {"log": {"": "info", "mesh.links": "debug"}}
    given(call=found)
    assert main(["info"]) == 0
    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["log", "default info, mesh.links debug"] in [[cell.strip() for cell in row] for row in rows]
