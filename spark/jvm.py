"""Starts and ends the JVM of Spark, without startup messages, and with any Java that is new enough."""

import atexit
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from mesh.history.errors import SparkJobError
from mesh.history.java import Java

# Spark requests this module for machine learning. A Java without it refuses to start.
VECTOR = "jdk.incubator.vector"
WITHOUT = """#!/bin/sh
for argument; do
    shift
    [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""
LOG = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d [A-Z]+ ")
# Startup messages of Spark and Java, and lines that do not continue a log entry.
NOISE = ("WARNING: ", "Using Spark's default log4j", "Setting ", "To adjust logging level")
NEWS = ("Exception in thread", "#", "OpenJDK", "Error")
SHOWN = 400  # characters
TIDYING = 30.0  # s until the JVM must have ended
TEMPORARY = "/tmp"  # where Java unpacks native code, ignoring TMPDIR
PERSISTENT = "/var/tmp"
OF_JAVA = re.compile(r"-Djava\.io\.tmpdir=(?:\"([^\"]*)\"|(\S+))")
SET_BY = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")  # options of each Java, before its command line


def may_run(place: str) -> bool:
    """Return whether this user may write and run programs in `place`.

    On a file system that is mounted noexec, programs cannot run.
    """
    try:
        return os.access(place, os.W_OK | os.X_OK) and not os.statvfs(place).f_flag & os.ST_NOEXEC
    except OSError:
        return False


def runnable(*places: str, fits: Callable[[str], bool] = may_run) -> str:
    """Return the first of `places` from which programs may be run. Raises: SparkJobError JAVA.

    `fits` decides whether a place is usable.
    """
    for place in places:
        if fits(place):
            return place
    raise SparkJobError(
        "Java needs a writable directory from which programs can run. Not writable, or mounted noexec: "
        f"{', '.join(dict.fromkeys(places))}.",
        "Set TMPDIR to a writable directory on a disk without noexec.",
        "JAVA",
    )


def unpacking(
    options: str, environ: Mapping[str, str] = os.environ, fits: Callable[[str], bool] = may_run
) -> str:
    """Return Java's `options`, with another temporary directory if native code cannot run in the usual one.

    Java unpacks native code into its temporary directory and runs it. `fits` decides whether a directory is
    usable. Raises: SparkJobError JAVA, if no directory is.
    """
    named = OF_JAVA.findall(" ".join([*(environ.get(name, "") for name in SET_BY), options]))
    usual = "".join(named[-1]) if named else TEMPORARY
    place = runnable(usual, tempfile.gettempdir(), PERSISTENT, fits=fits)
    return options if place == usual else f'{options} "-Djava.io.tmpdir={place}"'.strip()


def home(java: Java) -> str:
    """Return a JAVA_HOME for Spark: that of `java`, or of a wrapper for a Java without the module VECTOR.

    The wrapper drops the option that requests the module, and is deleted at exit. Raises: SparkJobError JAVA.
    """
    try:
        modules = (java.home / "release").read_text()
    except OSError:
        modules = ""
    if "MODULES=" not in modules or VECTOR in modules:
        return str(java.home)
    place = Path(tempfile.mkdtemp(prefix="heronry-java-", dir=runnable(tempfile.gettempdir(), PERSISTENT)))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    program = place / "bin" / "java"
    program.parent.mkdir()
    program.write_text(WITHOUT.format(module=VECTOR, java=java.home / "bin" / "java"))
    program.chmod(0o700)
    return str(place)


def start(settings: SparkConf, quiet: bool) -> None:
    """Start the JVM, whose error output goes to stderr, unless one is running. Raises: SparkJobError JAVA.

    With `quiet`, log entries and startup messages are left out.
    """
    if SparkContext._gateway is not None:
        return
    reading, writing = os.pipe()
    try:
        gateway = launch_gateway(settings, {"stderr": writing})  # type: ignore[no-untyped-call]
    except PySparkRuntimeError as error:
        os.close(writing)
        with os.fdopen(reading, errors="replace") as said:
            words = " ".join(said.read().split())[:SHOWN]
        raise SparkJobError(
            f"Java does not start: {(words or str(error)).rstrip('.')}.",
            "If memory is short, allow Java less:  --conf spark.driver.memory=1g. Otherwise check --conf.",
            "JAVA",
        ) from error
    os.close(writing)
    atexit.register(end, gateway)
    SparkContext._ensure_initialized(gateway=gateway)
    threading.Thread(target=_pass_on, args=(reading, quiet), daemon=True).start()


def end(gateway: JavaGateway) -> None:
    """End the JVM, and wait at most TIDYING seconds until it has cleaned up."""
    # A thread of py4j reports freed Python objects to the JVM once a second. The JVM now frees all of them by
    # itself, and a report without an answer would print a traceback on stderr.
    gateway._gateway_client.is_connected = False
    process: subprocess.Popen[bytes] = gateway.proc
    if process.stdin:
        process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(TIDYING)


def news(lines: Iterable[bytes]) -> Iterable[bytes]:
    """Yield the lines that are neither startup messages nor log entries.

    A log entry may have several lines.
    """
    in_log = False
    for line in lines:
        text = line.decode(errors="replace")
        in_log = bool(LOG.match(text)) or (in_log and not text.startswith(NEWS))
        if not in_log and not text.startswith(NOISE):
            yield line


def _pass_on(reading: int, quiet: bool) -> None:
    chosen: Callable[[Iterable[bytes]], Iterable[bytes]] = news if quiet else iter
    with os.fdopen(reading, "rb") as said:
        for line in chosen(said):
            os.write(2, line)
