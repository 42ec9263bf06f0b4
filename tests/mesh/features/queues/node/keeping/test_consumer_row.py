"""The rows of consumers, as this release and earlier ones write them."""

import pytest

from mesh.features.queues.node.keeping.consumer_row import FIXED, ConsumerRow
from mesh.wire.limits import QUEUE_CREDIT

JOE = "/node/a/client/joe/session/1"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (f"{JOE}\n5\n7", ConsumerRow(JOE, 5, 7)),
        (f"{JOE}\n5\n0", ConsumerRow(JOE, 5, 0)),
        (f"{JOE}\n5\n-1", ConsumerRow(JOE, 5, FIXED)),
        (f"{JOE}\n5", ConsumerRow(JOE, 5, FIXED)),
        (JOE, ConsumerRow(JOE, QUEUE_CREDIT, FIXED)),
        (f"{JOE}\nx\ny\nz", ConsumerRow(JOE, QUEUE_CREDIT, FIXED)),
    ],
)
def test_rows_without_numbers_have_limits_in_their_place(row: str, expected: ConsumerRow) -> None:
    assert ConsumerRow.from_bytes(row.encode()) == expected
