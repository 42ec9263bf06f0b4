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
    # The job hears Ctrl-C, too, and may take its time.
    before = signal.signal(signal.SIGINT, lambda number, _: None)
    try:
        # -P: a folder named spark, where somebody happens to be, is not ours.
        code = _ended([sys.executable, "-P", "-m", "spark", verb, *arguments])
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else SIGNALLED - code


def _ended(command: Sequence[str]) -> int:
    """Its exit code. SIGTERM while it starts is put off: we would end, and it go on without us."""
    put_off: list[int] = []
    process: subprocess.Popen[bytes] | None = None
    before = signal.signal(signal.SIGTERM, lambda number, _: put_off.append(number))
    try:
        process = subprocess.Popen(command)
        signal.signal(signal.SIGTERM, before)  # in here: what comes from now on ends the job, too
        for number in put_off:
            signal.raise_signal(number)
        return process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
        if process is not None and process.poll() is None:
            process.terminate()
            process.wait()
