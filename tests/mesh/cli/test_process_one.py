"""Process 1 of a container passes on signals and the exit code, and leaves no zombie."""

import signal
import subprocess
import sys

PRELUDE = """
import ctypes, os, signal, subprocess, sys, time
from mesh.cli.process_one import fork_and_wait
PR_SET_CHILD_SUBREAPER = 36  # orphans become its children, as those of process 1
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
fork_and_wait()
"""

# An orphan that has ended is gone, and no zombie. It outlives the shell, which would wait for it.
ORPHAN = """
orphan = int(subprocess.check_output(["/bin/sh", "-c", "sleep 0.1 & echo $!"]))
for _ in range(1000):
    if not os.path.exists(f"/proc/{orphan}"):
        sys.exit(7)
    time.sleep(0.01)
"""

TOLD = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
os.kill(os.getppid(), signal.SIGTERM)
signal.pause()
"""

KILLED = "os.kill(os.getpid(), signal.SIGKILL)"


def test_orphans_are_waited_for_and_signals_and_exit_codes_are_those_of_the_child() -> None:
    runs = [subprocess.Popen([sys.executable, "-c", PRELUDE + each]) for each in (ORPHAN, TOLD, KILLED)]
    assert [run.wait(60) for run in runs] == [7, 9, 128 + signal.SIGKILL]
