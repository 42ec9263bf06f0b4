"""Runs a Spark job as a separate program, so that the mesh imports nothing of Spark."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from mesh.errors import LocalError

SIGNALLED = 128  # added to the number of a signal


def run(verb: str, arguments: Sequence[str]) -> int:
    """Run `python -m mesh.history VERB ARGUMENTS…` as a child, and return its exit code.

    The code is 128 + N if signal N ended the child. Raises: LocalError NO_SPARK if PySpark is not installed.
    """
    if find_spec("pyspark") is None:
        what = "PySpark is not installed in this Python."
        raise LocalError(what, hint="Run:  pip install 'heronry[spark]'", code="NO_SPARK")
    # The job receives Ctrl-C too, and may take time to end.
    before = signal.signal(signal.SIGINT, lambda number, _: None)
    try:
        # -P: a folder named spark in the working directory must not be imported.
        code = _ended([sys.executable, "-P", "-m", "mesh.history", verb, *arguments])
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else SIGNALLED - code


def _ended(command: Sequence[str]) -> int:
    """Run the job, and return its exit code, which is negative after a signal.

    SIGTERM is deferred until the job has started, so that the job is always terminated.
    """
    put_off: list[int] = []
    process: subprocess.Popen[bytes] | None = None
    before = signal.signal(signal.SIGTERM, lambda number, _: put_off.append(number))
    try:
        process = subprocess.Popen(command)
        signal.signal(signal.SIGTERM, before)  # inside `try`: `finally` terminates the job
        for number in put_off:
            signal.raise_signal(number)
        return process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
        if process is not None and process.poll() is None:
            process.terminate()
            process.wait()
