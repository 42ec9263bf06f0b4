"""Does Prometheus's own reader find in the text what was put into it?"""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mesh.metrics.exposition import exposed
from mesh.metrics.family import COUNTER, GAUGE, Family


@pytest.mark.parametrize("queue", ["jobs", 'a"b\\c\nd', "\u202e", "{}", "\ud800"])
def test_names_of_others_are_values_and_nothing_else(queue: str) -> None:
    text = exposed([Family("mesh_queue_ready", GAUGE, "What waits", [({"queue": queue}, 3.0)])]).decode()
    [family] = text_string_to_metric_families(text)
    [sample] = family.samples
    assert sample.value == 3 and sample.labels["queue"] == queue.encode("utf-8", "backslashreplace").decode()


def test_a_counter_has_total_behind_its_name_and_no_sample_is_no_metric() -> None:
    empty = Family("mesh_y", GAUGE, "none")
    text = exposed([Family("mesh_x", COUNTER, "x", [({"a": "1"}, 1.0), ({"a": "2"}, 2.0)]), empty]).decode()
    assert 'mesh_x_total{a="2"} 2.0' in text and "mesh_y" not in text


def test_the_process_is_told_where_it_is_the_nodes() -> None:
    assert b"process_resident_memory_bytes" in exposed([], with_process=True)
    assert exposed([]) == b""
