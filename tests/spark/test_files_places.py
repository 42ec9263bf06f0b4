"""Places that Spark can use, and their addresses."""

import pytest

from mesh.history.errors import SparkJobError
from mesh.history.files import address, history_address


@pytest.mark.parametrize(
    ("place", "whole"),
    [
        ("/srv/history/", "file:///srv/history"),
        ("file:/srv/history", "file:/srv/history"),
        ("file:///srv/history", "file:///srv/history"),
        ("hdfs://namenode:8020/mesh/history", "hdfs://namenode:8020/mesh/history"),
        ("s3a://bucket/history", "s3a://bucket/history"),
    ],
)
def test_a_place_without_a_colon_in_a_name_holds_a_history(place: str, whole: str) -> None:
    assert history_address(place) == whole


@pytest.mark.parametrize(
    "place", ["/tmp/x:y", "/tmp/x:y/z", "file:///tmp/x:y", "hdfs://namenode:8020/x:y", "x:y", "/tmp/#x:y"]
)
def test_a_colon_in_a_name_is_refused_for_a_history_and_read_from_as_a_source(place: str) -> None:
    assert address(place)
    with pytest.raises(SparkJobError, match=r"reads a name with a colon as an address.*\[BAD_PLACE\]"):
        history_address(place)
