"""How is a Spark job run from here? As a program of its own: the mesh imports none of it."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from mesh.errors import LocalError

SIGNALLED = 128  # and the number of the signal: the exit code of who was ended by one


def run(verb: str, arguments: Sequence[str]) -> int:
    """`python -m spark VERB ARGUMENTS…` at this terminal; its exit code. LocalError NO_SPARK."""
    if find_spec("pyspark") is None:
        what = "PySpark is not installed in the Python that runs this."
        raise LocalError(what, hint="Install it:  pip install 'heronry[spark]'", code="NO_SPARK")
    before = signal.signal(
        signal.SIGINT, lambda number, _: None
    )  # the job hears it, too, and may take its time
    try:
        # -P: a folder named spark, where somebody happens to be, is not ours.
        with subprocess.Popen([sys.executable, "-P", "-m", "spark", verb, *arguments]) as process:
            try:
                code = process.wait()
            finally:
                if process.poll() is None:
                    process.terminate()
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else SIGNALLED - code
