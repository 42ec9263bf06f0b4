"""Nodes that are forked from the helper, compared with nodes that `mesh up` starts."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.mesh import forking
from tests.mesh.running import ANEW, PROGRAM, RunningNode, run_mesh, running, until

pytestmark = pytest.mark.slow
SAID = r"^(?:Umask|PPid|Uid|Gid|Groups|Threads|Sig(?:Blk|Ign|Cgt)|Cap\w+|NoNewPrivs|Cpus_allowed):.*$"


def traits(node: RunningNode) -> dict[str, object]:
    """Return the properties of a node's process in the kernel that an equal process shares."""
    proc, status = Path(f"/proc/{node.pid}"), Path(f"/proc/{node.pid}/status").read_text()
    return {
        "status": re.findall(SAID, status, re.MULTILINE),
        "group": (os.getpgid(node.pid), os.getsid(node.pid)),
        "limits": (proc / "limits").read_text(),
        "cwd": (proc / "cwd").readlink().relative_to(node.state),
        "namespaces": [each.readlink() for each in sorted((proc / "ns").iterdir())],
        "files": sorted(kind_of(each) for each in (proc / "fd").iterdir()),
    }


def kind_of(file: Path) -> str:
    """Return the kind of an open file, without the parts that differ between processes."""
    name = str(file.readlink())
    return re.sub(r"[0-9a-f]{8}", "", Path(name).name) if name.startswith("/") else name.partition(":")[0]


def test_the_kernel_knows_no_difference() -> None:
    with running("a") as a, running("a", inside=ANEW) as b:
        assert isinstance(a._process, forking.Forked) and not isinstance(b._process, forking.Forked)
        until(lambda: traits(a) == traits(b))


def test_its_code_is_that_of_a_process_of_ours_however_it_ends() -> None:
    with running("a") as a:
        assert psutil.Process(a.pid).ppid() == os.getpid()
        first = a.it["pid"]
        assert a.pid == first and a.is_running
        os.kill(a.pid, signal.SIGKILL)
        assert a.wait() == -signal.SIGKILL and not a.is_running
        a.start()
        assert a.pid != first
        assert a.stop() == 0
        a.start(crashpoint="answer.before")
        with subprocess.Popen([*PROGRAM, "pub", "k", "x"], env=a.environ, stderr=subprocess.DEVNULL) as pub:
            assert a.wait() == 137
            pub.kill()


def test_a_command_says_what_it_says_when_a_shell_starts_it() -> None:
    with running("a") as a:
        for arguments, content in [
            (("pub", "k"), b"one\ntwo\n"),
            (("get", "nothing", "--json"), b""),
            (("ls", "--url", "nobody"), b""),
            (("pub", "--no-such"), b""),
        ]:
            one = a.mesh(*arguments, content=content)
            other = run_mesh(*arguments, environ=a.environ, content=content)
            assert (one.returncode, one.stdout) == (other.returncode, other.stdout)
            assert re.sub(r"[\d.]+ ms", "", one.stderr) == re.sub(r"[\d.]+ ms", "", other.stderr)


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "LC_ALL", "LD_PRELOAD"])
def test_what_a_fork_cannot_take_in_any_more_is_started_anew(name: str) -> None:
    with running("a") as a:
        assert forking.is_able(a.environ) and not forking.is_able({**a.environ, name: "1"})


def test_a_helper_ends_with_whoever_has_it() -> None:
    helper = forking.Helper({})
    child = psutil.Process(helper._process.pid)
    helper.close()
    assert not child.is_running()


def test_what_a_command_leaves_behind_is_no_child_of_ours() -> None:
    """A child of this process would stay a zombie, since no code waits for it."""
    with running("a"):
        before = psutil.Process().children()
        leaves = [sys.executable, "-c", "import os, time\nif os.fork() == 0: time.sleep(1)"]
        subprocess.run(leaves, check=True)
        assert psutil.Process().children() == before
