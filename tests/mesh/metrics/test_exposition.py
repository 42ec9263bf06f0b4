"""The text format of metrics, as Prometheus's own reader parses it."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mesh.metrics.exposition import exposed
from mesh.metrics.family import COUNTER, GAUGE, Family, Labels
from mesh.printable import harmless


@pytest.mark.parametrize("queue", ["jobs", 'a"b\\c\nd', "\u202e", "{}", "\ud800"])
def test_names_of_others_are_values_and_nothing_else(queue: str) -> None:
    text = exposed([Family("mesh_queue_ready", GAUGE, "What waits", [({"queue": queue}, 3.0)])]).decode()
    [family] = text_string_to_metric_families(text)
    [sample] = family.samples
    assert sample.value == 3 and sample.labels["queue"] == harmless(queue)


def test_a_counter_has_total_behind_its_name_and_no_sample_is_no_metric() -> None:
    empty = Family("mesh_y", GAUGE, "none")
    text = exposed([Family("mesh_x", COUNTER, "x", [({"a": "1"}, 1.0), ({"a": "2"}, 2.0)]), empty]).decode()
    assert 'mesh_x_total{a="2"} 2.0' in text and "mesh_y" not in text


def test_the_process_is_told_where_it_is_the_nodes() -> None:
    assert b"process_resident_memory_bytes" in exposed([], with_process=True)
    assert exposed([]) == b""


def test_no_name_turns_its_line_round_and_the_text_stays_valid() -> None:
    names = ["a\u202eb", "a\\u202eb", "jobs", "\u2066x"]
    samples: list[tuple[Labels, float]] = [({"queue": name}, float(n)) for n, name in enumerate(names)]
    text = exposed([Family("mesh_queue_ready", GAUGE, "What waits", samples)]).decode()
    assert not set(text) & set("\u202e\u2066")
    [family] = text_string_to_metric_families(text)
    found = {sample.labels["queue"]: sample.value for sample in family.samples}
    assert found == {"a\\u202eb": 1.0, "jobs": 2.0, "\\u2066x": 3.0}
