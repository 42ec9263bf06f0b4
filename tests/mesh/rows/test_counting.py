"""The checks of `tests/mesh/rows/traffic.py` find each fault that they are for."""

import pytest

from mesh.client.client import Client
from tests.mesh.rows.traffic import Ear, Source


@pytest.mark.parametrize(
    ("came", "wrong"),
    [
        ([1, 2, 3, 4], []),
        ([1, 2, 4], []),  # 3 was never answered
        ([1, 3, 4], ["p -> e: lost [2]"]),
        ([1, 2, 2, 4], ["p -> e: doubled [2]"]),
        ([1, 4, 2], ["p -> e: out of order [2]"]),
        ([1, 2, 4, 5], ["p -> e: never posted [5]"]),
    ],
)
def test_what_is_lost_doubled_out_of_order_or_made_up_is_named(came: list[int], wrong: list[str]) -> None:
    client = Client()
    source = Source("p", client, "topic", rate=1.0)
    source.posted, source.answered = 4, {1, 2, 4}
    ear = Ear("e", client.subscribe(pattern="#"))
    ear.heard["p"] = came
    assert ear.wrong(source) == wrong
