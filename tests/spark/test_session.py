"""The settings of a Spark session, and the errors if Spark refuses them."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pages import ROOT

pytestmark = pytest.mark.spark


def test_hours_of_a_history_are_utc_wherever_it_is_read(session: SparkSession) -> None:
    assert session.sql("SELECT date_format(timestamp_seconds(0), 'HH:mm')").first() == ("00:00",)


REFUSED = """
import sys
from mesh.history.cli import main
for options in (["--master", "local[x]"], ["--conf", "spark.driver.port=x"]):
    assert main(["compact", "--to", sys.argv[1], *options]) == 2
"""


def test_a_setting_that_spark_refuses_is_an_error_that_says_so(tmp_path: Path) -> None:
    """Both refusals share a process of their own, because Spark starts only once in a JVM."""
    command = [sys.executable, "-c", REFUSED, str(tmp_path / "to")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    first, second = done.stderr.split("[SESSION]")[:2]
    assert "Spark does not start: " in first and "Could not parse Master URL" in first
    assert "Spark does not start: " in second
    assert "The value 'x' in the config \"spark.driver.port\" is invalid" in second
