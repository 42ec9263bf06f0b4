"""One Spark session for all tests of a worker: it takes longer to start than most of them to run."""

from collections.abc import Iterator

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from mesh.history.jvm import end
from mesh.history.session import session as start_session


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark on two threads of this machine, whose files all lie in a directory of the tests."""
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
    end(gateway)  # otherwise the JVM ends with this process, behind the search for leftovers
