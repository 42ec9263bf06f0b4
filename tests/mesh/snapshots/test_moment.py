"""The text of a moment, as the standard library writes it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.snapshots.moment import iso

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_it_is_what_the_standard_library_writes(wall: int) -> None:
    there = EPOCH + timedelta(microseconds=wall // 1000)
    assert iso(wall) == there.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.mark.parametrize(
    "date", ["1970-01-01", "1999-12-31", "2000-02-29", "2000-03-01", "2024-02-29", "2100-02-28", "2100-03-01"]
)
def test_a_day_at_the_edge_of_a_year_or_a_century(date: str) -> None:
    wall = int(datetime.fromisoformat(f"{date}T23:59:59.999999+00:00").timestamp()) * 10**9 + 999_999_999
    assert iso(wall) == f"{date}T23:59:59.999999Z"
