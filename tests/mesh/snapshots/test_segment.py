"""The names of segments: one spelling each, and other names are ignored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.snapshots.segment import BYTES, SECONDS, SegmentName, hour, is_full
from tests.mesh.snapshots.lines import segment

names = st.builds(
    SegmentName,
    node=st.from_regex(r"[A-Za-z0-9_.:-]{1,64}", fullmatch=True),
    uuid8=st.from_regex(r"[0-9a-f]{8}", fullmatch=True),
    boot=st.integers(1, 10**19 - 1),
    number=st.integers(1, 10**19 - 1),
)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ("heron", "heron-1a2b3c4d-7-12.jsonl"),
        ("a-b.c", "a-b.c-1a2b3c4d-7-12.jsonl"),
        ("a-1a2b3c4d-7-12.jsonl", "a-1a2b3c4d-7-12.jsonl-1a2b3c4d-7-12.jsonl"),
        ("_a_", "~5fa_-1a2b3c4d-7-12.jsonl"),
        (".a.", "~2ea.-1a2b3c4d-7-12.jsonl"),
        ("::1", "~3a~3a1-1a2b3c4d-7-12.jsonl"),
    ],
)
def test_a_name_is_written_so_that_spark_reads_the_file(node: str, text: str) -> None:
    name = SegmentName(node, "1a2b3c4d", 7, 12)
    assert str(name) == text
    assert SegmentName.parse(text) == name
    assert name.unfinished == f"_{text}"
    assert f"{name.run}-12.jsonl" == text


@given(names)
def test_every_name_comes_back_and_is_seen_by_spark(name: SegmentName) -> None:
    text = str(name)
    assert SegmentName.parse(text) == name
    assert text[0] not in "._" and ":" not in text
    assert SegmentName.parse(name.unfinished) is None
    assert len(text) <= 255


@pytest.mark.parametrize(
    "text",
    [
        "",
        "_ingested.json",
        "-1a2b3c4d-7-12.jsonl",
        "heron-1a2b3c4d-7-12.json",
        "heron-1a2b3c4d-7-12.jsonl.part",
        "heron-1a2b3c4d-7-12.jsonl\n",
        "heron-1A2B3C4D-7-12.jsonl",
        "heron-1a2b3c4-7-12.jsonl",
        "heron-1a2b3c4d-0-12.jsonl",
        "heron-1a2b3c4d-7-0.jsonl",
        "heron-1a2b3c4d-07-12.jsonl",
        "heron-1a2b3c4d-7-\u0661.jsonl",
        f"heron-1a2b3c4d-7-{'1' * 20}.jsonl",
        f"{'h' * 65}-1a2b3c4d-7-12.jsonl",
        "hér-1a2b3c4d-7-12.jsonl",
        "_heron-1a2b3c4d-7-12.jsonl",
        ".heron-1a2b3c4d-7-12.jsonl",
        "a:b-1a2b3c4d-7-12.jsonl",
        "~68eron-1a2b3c4d-7-12.jsonl",
        "a~5fb-1a2b3c4d-7-12.jsonl",
        "a~b-1a2b3c4d-7-12.jsonl",
    ],
)
def test_any_other_name_is_none_of_ours(text: str) -> None:
    assert SegmentName.parse(text) is None


@given(st.text())
def test_no_text_at_all_does_harm(text: str) -> None:
    name = SegmentName.parse(text)
    assert name is None or str(name) == text


def test_a_segment_stands_in_the_hour_of_its_first_line() -> None:
    assert hour("2026-01-31T09:57:25.000001Z") == "date=2026-01-31/hour=09"
    assert hour("1970-01-01T00:00:00.000000Z") == "date=1970-01-01/hour=00"
    assert segment(3).path == "date=2026-01-31/hour=09/heron-1a2b3c4d-7-3.jsonl"


@pytest.mark.parametrize(
    ("size", "age", "full"),
    [(0, 0.0, False), (BYTES - 1, SECONDS - 0.01, False), (BYTES, 0.0, True), (0, SECONDS, True)],
)
def test_it_is_full_by_size_or_by_age(size: int, age: float, full: bool) -> None:
    assert is_full(size, 1000.0, 1000.0 + age) is full
