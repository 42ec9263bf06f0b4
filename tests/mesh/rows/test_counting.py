"""Does the count of the other tests here find what it is there to find?"""

import pytest

from mesh.client.client import Client
from mesh.client.subscription import Subscription, Terms
from mesh.wire.commands import Query
from tests.mesh.rows.traffic import Ear, Source


async def nothing(subscription: Subscription) -> None: ...


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
    source = Source("p", Client(), "topic", rate=1.0)
    source.posted, source.answered = 4, {1, 2, 4}
    ear = Ear("e", Subscription(1, Query("pattern", "#"), False, Terms(), nothing, nothing, lambda s: None))
    ear.heard["p"] = came
    assert ear.wrong(source) == wrong
