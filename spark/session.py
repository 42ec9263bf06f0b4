"""Starts the Spark session, on this machine or as configured by spark-submit."""

import os
import sys
import warnings
from collections.abc import Mapping

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from mesh.history import jvm
from mesh.history.failures import SESSION, in_words
from mesh.history.java import find_java

SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set if spark-submit has started a JVM for this program
LOCAL = "local[*]"
OPTIONS = "spark.driver.extraJavaOptions"
HERE = {  # on one machine
    # With 200 shuffle partitions, the default for clusters, most would be empty, and jobs take twice as long.
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.memory": "2g",
    # Only the total duration of a job matters, not its pauses, and this collector uses a fifth less CPU time
    # than G1. Java's warnings go to stderr, because stdout may be a JSON document.
    OPTIONS: "-XX:+UseParallelGC -Xlog:disable -Xlog:all=warning:stderr",
}
SETTINGS = {
    # Hours and dates in a history are UTC everywhere.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    # Segments are many and tiny. With the default of 4 MiB, each segment would be a separate task.
    "spark.sql.files.openCostInBytes": "65536",
    # With the default of 10,000, listing the segments takes so many tasks that it is slower than all else.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
    # Java does not compile methods of more than 8,000 bytes of code, as Spark generates for wide rows. Spark
    # must split them.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Files of several hours are written in parallel, without sorting all rows first.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    # More programs read this type than the default, INT96, and Spark can skip files by it.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Groups kept by an aggregate of sketches before it sorts: with 128 the matrix of links takes 50 % longer.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "2000",
    # A value that cannot be read is a null, and does not end the job.
    "spark.sql.ansi.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def session(
    app: str = "heronry", master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the session of this process, which is started if there is none. Raises: SparkJobError.

    `conf` takes precedence over the options of spark-submit, which take precedence over SETTINGS. The default
    `master` is that of spark-submit, else local[*]. The error has the code SESSION, or another one of
    mesh.history.failures, mesh.history.java or mesh.history.jvm.
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
        # A log that the user requested is not filtered.
        jvm.start(settings, quiet="MESH_DEBUG" not in os.environ and "spark.log.level" not in (conf or {}))
    # PySpark warns of pandas releases newer than itself, but nothing here uses pandas.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with in_words("spark.local.dir", SESSION):
        return SparkSession.builder.appName(app).config(conf=settings).getOrCreate()


def _of_spark_submit() -> SparkConf:
    SparkContext._ensure_initialized()
    return SparkConf()


def _of_this_machine(master: str) -> SparkConf:
    """Return settings for a driver on this machine, and set the environment that the JVM needs."""
    os.environ["JAVA_HOME"] = jvm.home(find_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = SparkConf(loadDefaults=False).setMaster(master)
    if master.startswith("local"):
        settings.setAll(list(HERE.items()))
    return settings
