"""Does a verb work where a standard stream is closed, or knows few characters?"""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from mesh.cli.streams import mend_streams
mend_streams()
opened = os.open("/", os.O_RDONLY)
sys.stdin.read(), print("küche"), print("küche", file=sys.stderr), sys.stdout.buffer, sys.stderr.isatty()
sys.stdout.flush()
os.system("echo from a child >&2")
sys.exit(7 if opened > 2 and os.get_inheritable(1) else 1)
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_leads_nowhere_and_its_number_is_given_to_nothing_else(closed: str) -> None:
    command = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", PROGRAM]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 7


def test_what_an_encoding_lacks_is_escaped() -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, env=environ
    )
    assert (ended.returncode, ended.stdout) == (7, b"k\\xfcche\n")
