"""How does a Spark session for our jobs start? On this machine, or as spark-submit has arranged it."""

import os
import sys
from collections.abc import Mapping

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from spark.java import find_java

SUBMITTED = "PYSPARK_GATEWAY_PORT"  # spark-submit has started a JVM, which waits for this program
LOCAL = "local[*]"
LOCAL_PARTITIONS = "8"  # of a shuffle: at the 200 of a cluster most would be empty, and cost twice the time
SETTINGS = {
    # Hours and dates in a history are UTC, wherever it is read.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    # Segments are many and tiny; at the 4 MiB that Spark assumes for opening one, each would be its own task.
    "spark.sql.files.openCostInBytes": "65536",
    # Groups that an aggregate of sketches keeps before it sorts: at 128 the matrix of links takes half more.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "2000",
    # A value that cannot be read is a null, and not the end of a job.
    "spark.sql.ansi.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def session(
    app: str = "heronry", master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """The session of this process; `conf` prevails over what spark-submit was told, and that over SETTINGS.

    Without `master` it is the one of spark-submit, else local[*]. Raises SparkJobError NO_JAVA or OLD_JAVA.
    """
    settings = _of_spark_submit() if SUBMITTED in os.environ else _of_this_machine(master or LOCAL)
    if master:
        settings.setMaster(master)
    for key, value in SETTINGS.items():
        settings.setIfMissing(key, value)
    for key, value in (conf or {}).items():
        settings.set(key, value)
    return SparkSession.builder.appName(app).config(conf=settings).getOrCreate()


def _of_spark_submit() -> SparkConf:
    """What it was told with --master and --conf stands in the JVM that it has started."""
    SparkContext._ensure_initialized()
    return SparkConf()


def _of_this_machine(master: str) -> SparkConf:
    """Nothing is known yet; what the JVM needs to start stands in the environment."""
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = SparkConf(loadDefaults=False).setMaster(master)
    if master.startswith("local"):
        settings.set("spark.sql.shuffle.partitions", LOCAL_PARTITIONS)
    return settings
