"""Markers, which show each node the segments that are in the history."""

import json

from mesh.history.marker import added, by_place, joined


def test_ranges_that_touch_or_overlap_are_one() -> None:
    assert joined([[7, 9], [1, 2], [3, 3], [8, 12], [20, 20]]) == [[1, 3], [7, 12], [20, 20]]


def test_what_was_there_stays_and_the_new_is_joined_to_it() -> None:
    before = json.dumps({"heron-1a2b3c4d-7": [[1, 340]], "a-b-00000000-1": [[2, 2]]})
    names = [
        "heron-1a2b3c4d-7-341.jsonl",
        "heron-1a2b3c4d-8-1.jsonl",
        "notes.jsonl",
        "heron-1a2b3c4d-7-9.jsonl",
    ]
    assert json.loads(added(before, names)) == {
        "heron-1a2b3c4d-7": [[1, 341]],
        "heron-1a2b3c4d-8": [[1, 1]],
        "a-b-00000000-1": [[2, 2]],
    }


def test_a_marker_that_is_damaged_counts_for_nothing() -> None:
    for text in (None, "", "{damaged", "[1]", '{"x": 5}', '{"x": [[1]]}', '{"x": [["a", "b"]]}', "null"):
        assert json.loads(added(text, ["heron-1a2b3c4d-7-1.jsonl"])) == {"heron-1a2b3c4d-7": [[1, 1]]}


def test_each_node_has_its_marker_where_it_writes() -> None:
    paths = [
        "file:///srv/a%20b/date=2026-01-02/hour=03/heron-1a2b3c4d-7-1.jsonl",
        "file:///srv/date=x/stork/date=2026-01-02/hour=03/stork-1a2b3c4d-7-1.jsonl",
        "file:///srv/date=x/stork/date=2026-01-02/hour=04/stork-1a2b3c4d-7-2.jsonl",
        "file:///srv/elsewhere/notes.jsonl",
    ]
    assert by_place(paths) == {
        "file:///srv/a b": ["heron-1a2b3c4d-7-1.jsonl"],
        "file:///srv/date=x/stork": ["stork-1a2b3c4d-7-1.jsonl", "stork-1a2b3c4d-7-2.jsonl"],
    }
