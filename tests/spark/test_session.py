"""Does a session start as our jobs need it, and is it said when it does not?"""

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pages import ROOT

pytestmark = pytest.mark.spark


def test_hours_of_a_history_are_utc_wherever_it_is_read(session: SparkSession) -> None:
    assert session.sql("SELECT date_format(timestamp_seconds(0), 'HH:mm')").first() == ("00:00",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--master", "local[x]"], "Could not parse Master URL"),
        (["--conf", "spark.driver.port=x"], "The value 'x' in the config \"spark.driver.port\" is invalid"),
    ],
)
def test_a_setting_that_spark_refuses_is_an_error_that_says_so(
    tmp_path: Path, options: list[str], said: str
) -> None:
    command = [sys.executable, "-m", "spark", "compact", "--to", str(tmp_path / "to"), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "Spark does not start: " in done.stderr and said in done.stderr and "[SESSION]" in done.stderr
