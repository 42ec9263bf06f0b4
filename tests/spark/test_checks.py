"""The lines that count, and the reason why each other line is bad."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from mesh.history.checks import is_good, parsed, reason
from tests.spark.writing import KINDS, line

pytestmark = pytest.mark.spark


def given(of: str, **fields: Any) -> str:
    """Return a line with exactly these fields, also with `None`."""
    return json.dumps(line(of) | fields, separators=(",", ":"))


GOOD = {
    **{f"a whole {kind}": given(kind) for kind in KINDS},
    "spaces between": json.dumps(line("state"), indent=None, separators=(", ", ": ")),
    "spaces around": f"  {given('state')} ",
    "a field that is null": given("state", cpu=None, uuid="0" * 32),
    "fields that a newer node has": given("event", mood={"a": [1, {"b": "}"}]}, colour=7),
    "braces in a text": given("event", text='}{ "node": 5 } {"kind":"state"}'),
    "a text that looks like a number": given("event", text="12.5", node="-7e3"),
    "a text that looks like a list": given("event", text="[1, 2]", topic="true"),
    "another time zone": given("event", ts="2026-01-02T05:00:00+02:00"),
    "no fraction of a second": given("event", ts="2026-01-02T05:00:00Z"),
    "the first second there is": given("event", ts="1970-01-01T00:00:00Z"),
    "a clock that is far ahead": given("event", ts="2099-12-31T23:59:59Z"),
    "the ends of all ranges": given("state", cpu=100.0, load=0, lag=0.0, age=0, pending=2**62, up=1e300),
    "whole numbers as numbers": given("state", cpu=5, up=60),
    "a clock that is behind": given("link", skew=-3600.5),
    "letters of all kinds": given("event", text='ä "quoted" \\ \u2028 \U0001f426', node="Übersee"),
}
BAD = {
    '{"kind":"state"': "not JSON",
    "hello": "not JSON",
    "{kind:1}": "not JSON",
    "{'kind':'state'}": "not JSON",
    "\x00\x01\x02": "not JSON",
    "[1, 2]": "no JSON object",
    f"[{given('event')}]": "no JSON object",
    "5": "no JSON object",
    '"heron"': "no JSON object",
    "null": "no JSON object",
    given("event") + given("event"): "text after the JSON object",
    given("event") + " x": "text after the JSON object",
    given("event") + "}": "text after the JSON object",
    "{}": "missing: kind, cluster, observer, observer_uuid, observer_boot, line, ts, node",
    given("event", node=None): "missing: node",
    given("state", uuid=None, version=None): "missing: uuid, version",
    given("event", event=None): "missing: event",
    given("queue", queue=None): "missing: queue",
    given("topic", topic=None): "missing: topic",
    given("event", kind="gossip"): "unknown kind: gossip",
    given("event", kind="quarantine"): "unknown kind: quarantine",
    given("event", line="seven"): "wrong type: line",
    given("event", line="7"): "wrong type: line",
    given("event", line=7.5): "wrong type: line",
    given("event", line=10**19): "wrong type: line",
    given("state", cpu="5", sessions=True): "wrong type: cpu, sessions",
    given("state", cpu=[5]): "wrong type: cpu",
    given("event", node=5): "node is not a text",
    given("event", cluster={"a": 1}): "cluster is not a text",
    given("event", text=True): "text is not a text",
    given("event", observer_uuid=1e30): "observer_uuid is not a text",
    given("event", ts="yesterday"): "ts is not a time: yesterday",
    given("event", ts=1767322800): "ts is not a time: 1767322800",
    given("event", ts="T12:30"): "ts is not a time: T12:30",
    given("event", ts="2026-01-02"): "ts is not a time: 2026-01-02",
    given("event", ts="2026-02-30T00:00:00Z"): "ts is not a time: 2026-02-30T00:00:00Z",
    given("event", ts="1969-12-31T23:59:59Z"): "ts is not a time: 1969-12-31T23:59:59Z",
    given("state", wall="12345-01-01T00:00:00Z"): "wall is not a time: 12345-01-01T00:00:00Z",
    given("state", cpu=100.1): "cpu is out of its range: 100.1",
    given("state", load=1.5): "load is out of its range: 1.5",
    given("state", up=-1.0): "up is out of its range: -1.0",
    given("state", cpu=float("nan")): "cpu is out of its range: NaN",
    given("link", skew=float("-inf")): "skew is out of its range: -Infinity",
    given("link", rtt=-0.1): "rtt is out of its range: -0.1",
    given("balance", sent=-1): "sent is out of its range: -1",
    given("event", observer_boot=-1): "observer_boot is out of its range: -1",
}


@pytest.fixture(scope="module")
def judged(session: SparkSession) -> dict[str, tuple[bool, str]]:
    """The judgment of each line: whether it is good, and the reason if it is not."""
    value = F.col("value")
    lines = session.createDataFrame([(text,) for text in (*GOOD.values(), *BAD)], "value string")
    found = parsed(lines).select("value", is_good(value), reason(value)).collect()
    return {text: (good, why) for text, good, why in found}


@pytest.mark.parametrize("name", GOOD)
def test_what_a_node_may_write_counts(judged: dict[str, tuple[bool, str]], name: str) -> None:
    assert judged[GOOD[name]][0] is True, judged[GOOD[name]][1]


@pytest.mark.parametrize("text", BAD, ids=lambda text: BAD[text])
def test_what_no_node_writes_is_told_with_its_reason(judged: dict[str, tuple[bool, str]], text: str) -> None:
    assert judged[text] == (False, BAD[text])
