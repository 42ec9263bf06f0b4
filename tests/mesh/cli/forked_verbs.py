"""Program that runs `mesh` commands, each in a fork of a process that has loaded all verbs.

Stdin is a JSON list of cases. Stdout is a JSON list of results: the exit status (`None` if the command had to
be killed) and the output. A case may close standard streams, and set their encoding.
"""

import io
import json
import os
import signal
import sys
import tempfile
import time
from importlib import import_module

from mesh.cli.main import main
from mesh.cli.verbs import VERBS, module_of

STREAMS = ("stdin", "stdout", "stderr")
GRACE = 60.0  # s from SIGTERM to SIGKILL


def _run(case: dict[str, object], files: list[io.BufferedRandom]) -> int:
    os.environ.update(case["environ"])  # type: ignore[call-overload]
    os.chdir(str(case["cwd"]))
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    for number, name in enumerate(STREAMS):
        if number in case["closed"]:  # type: ignore[operator]
            os.close(number)
            setattr(sys, name, None)
        else:
            errors = "backslashreplace" if number == 2 else "strict"  # as in the interpreter
            mode, encoding = "rw"[number > 0], str(case["encoding"])
            stream = open(number, mode, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    sys.argv = ["mesh", *case["words"]]  # type: ignore[misc]
    try:
        status = main()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return status


def end_of(case: dict[str, object]) -> dict[str, object]:
    """Run one case, and return its exit status and its output."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        stdin.write("küche\n".encode())
        stdin.seek(0)
        child = os.fork()
        if not child:
            status = 71  # an uncaught exception is a bug
            try:
                status = _run(case, [stdin, out, err])
            finally:
                os._exit(status)
        ended = _wait(child, float(case["limit"]))  # type: ignore[arg-type]
        out.seek(0)
        err.seek(0)
        return {"status": ended, "out": out.read().decode("latin-1"), "err": err.read().decode("latin-1")}


def _wait(child: int, limit: float) -> int | None:
    for number, patience in ((signal.SIGTERM, limit), (signal.SIGKILL, GRACE)):
        until = time.monotonic() + patience
        while time.monotonic() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        os.kill(child, number)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    for verb in VERBS:
        import_module(module_of(verb))
    json.dump([end_of(case) for case in json.load(sys.stdin)], sys.stdout)
