"""The JSON document of a report: all facts and findings."""

import json
from dataclasses import fields

from mesh.history.report.document import document
from mesh.history.report.facts import Facts
from tests.spark.report.invented import empty, facts


def test_it_is_json_with_every_fact_and_the_findings() -> None:
    made = facts(3)
    told = json.loads(json.dumps(document(made), allow_nan=False))
    assert told.keys() == {field.name for field in fields(Facts)} | {"version", "findings", "verdict"}
    assert told["until"] == "2026-11-21T09:58:24.000000Z"
    assert told["findings"][0]["rank"] == "bad"
    assert len(told["series"]["cpu_percent"]["heron"]) == len(told["times"])


def test_counters_are_exact_and_say_whether_they_are_final() -> None:
    made = facts(3)
    counters = document(made)["counters"]
    assert [(c["observer"], c["observer_boot"], c["node"], c["sent"], c["clean"]) for c in counters] == [
        (c.observer, c.observer_boot, c.node, c.sent, c.clean) for c in made.counters
    ]


def test_nothing_is_a_document_too() -> None:
    assert document(empty())["nodes"] == []
