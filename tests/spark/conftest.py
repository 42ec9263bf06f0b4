"""One Spark session for all tests of a worker, because its start takes longer than most tests."""

from collections.abc import Iterator

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from mesh.history.jvm import end
from mesh.history.session import session as start_session


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start Spark on two threads of this machine, with all its files in a directory of the tests."""
    place = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{place}/warehouse",
        "spark.local.dir": f"{place}/local",
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={place} -XX:TieredStopAtLevel=1",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    made = start_session("tests", "local[2]", conf)
    gateway = SparkContext._gateway
    assert gateway is not None
    yield made
    made.stop()
    end(gateway)  # the JVM must end before the leftovers check
