"""How does a Spark session for our jobs start? On this machine, or as spark-submit has arranged it."""

import os
import sys
import warnings
from collections.abc import Mapping

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from spark import jvm
from spark.failures import SESSION, in_words
from spark.java import find_java

SUBMITTED = "PYSPARK_GATEWAY_PORT"  # spark-submit has started a JVM, which waits for this program
LOCAL = "local[*]"
OPTIONS = "spark.driver.extraJavaOptions"
HERE = {  # on one machine
    # Of a shuffle: at the 200 of a cluster most would be empty, and cost twice the time.
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.memory": "2g",
    # What counts is the end, not a pause: so it takes a fifth less of the processor than with G1.
    # What Java warns of would stand in the job's own stdout, which may be a JSON document.
    OPTIONS: "-XX:+UseParallelGC -Xlog:disable -Xlog:all=warning:stderr",
}
SETTINGS = {
    # Hours and dates in a history are UTC, wherever it is read.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    # Segments are many and tiny; at the 4 MiB that Spark assumes for opening one, each would be its own task.
    "spark.sql.files.openCostInBytes": "65536",
    # At the 10,000 that Spark makes of as many segments, the tasks that list them take longer than all else.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
    # Java runs methods of more than 8,000 bytes of code, such as Spark makes for wide rows, without compiling
    # them. So Spark shall make several of such a one.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Files of several hours are written side by side, without sorting all rows first.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    # Others understand it better than the INT96 that Spark writes of old; and it can be skipped unread.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
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

    Without `master` it is the one of spark-submit, else local[*]. Raises SparkJobError SESSION, and those of
    spark.java and spark.jvm.
    """
    submitted = SUBMITTED in os.environ
    settings = _of_spark_submit() if submitted else _of_this_machine(master or LOCAL)
    if master:
        settings.setMaster(master)
    for key, value in SETTINGS.items():
        settings.setIfMissing(key, value)
    for key, value in (conf or {}).items():
        settings.set(key, value)
    if not submitted:
        settings.set(OPTIONS, jvm.unpacking(settings.get(OPTIONS) or ""))
        # Whoever asks for a log gets all of it.
        jvm.start(settings, quiet="MESH_DEBUG" not in os.environ and "spark.log.level" not in (conf or {}))
    # PySpark warns of each release of pandas that is newer than itself; nothing here uses pandas.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with in_words("spark.local.dir", SESSION):
        return SparkSession.builder.appName(app).config(conf=settings).getOrCreate()


def _of_spark_submit() -> SparkConf:
    """The settings of --master and --conf, which stand in the JVM that spark-submit has started."""
    SparkContext._ensure_initialized()
    return SparkConf()


def _of_this_machine(master: str) -> SparkConf:
    """Nothing is known yet; what the JVM needs to start stands in the environment."""
    os.environ["JAVA_HOME"] = jvm.home(find_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = SparkConf(loadDefaults=False).setMaster(master)
    if master.startswith("local"):
        settings.setAll(list(HERE.items()))
    return settings
