"""Does a session start as our jobs need it?"""

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_hours_of_a_history_are_utc_wherever_it_is_read(session: SparkSession) -> None:
    assert session.sql("SELECT date_format(timestamp_seconds(0), 'HH:mm')").first() == ("00:00",)
