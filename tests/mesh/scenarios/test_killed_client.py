"""A program is killed and started again at once: does it get its named session back?"""

import subprocess
import sys

import pytest

import mesh.sync
from mesh.errors import Refused
from tests.mesh.running import running

HOLDER = """
import sys, time, mesh.sync
m = mesh.sync.connect(sys.argv[1], client="joe", session=1, timeout=120).__enter__()
print("in", flush=True)
time.sleep(1000)
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["file", "tcp"])
def test_trial_B6_the_session_of_a_program_that_was_killed_is_free(way: str) -> None:
    with running("a") as a:
        address = "a" if way == "file" else a.tcp
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, address], env=a.environ, stdout=subprocess.PIPE, text=True
        )
        try:
            assert holder.stdout is not None and holder.stdout.readline() == "in\n"
            with pytest.raises(Refused) as refused:
                with mesh.sync.connect(address, client="joe", session=1, environ=a.environ):
                    pass
            assert refused.value.code == "SESSION_IN_USE"
        finally:
            holder.kill()
            holder.communicate()
        with mesh.sync.connect(address, client="joe", session=1, environ=a.environ) as m:
            assert m.publish("k", b"v").ok
