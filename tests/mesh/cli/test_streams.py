"""Standard streams that are closed, or whose encoding has few characters."""

import os
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("verb", ["passwd", "join"])
def test_stdin_is_utf_8_whatever_the_locale_says_and_else_that_is_said(verb: str, tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "MESH_STATE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "mesh", verb]
    said = {
        text: subprocess.run(command, input=text, capture_output=True, env=environ)
        for text in ("küche\n".encode(), "küche\n".encode("latin-1"))
    }
    good, bad = said.values()
    assert b"[BUG]" not in good.stderr and (verb == "join" or good.stdout.startswith(b"scrypt:"))
    assert bad.returncode == 2 and b"mesh: stdin is not UTF-8 text. [BAD_ARGUMENT]" in bad.stderr
