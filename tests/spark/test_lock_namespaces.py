"""The process id in a lock counts only in the namespace of its writer."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mesh.history.lock import is_dead_here, namespace

HERE = "boot pid:[1]"


@pytest.fixture(scope="module")
def ended() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_writer_of_this_namespace_that_has_ended_is_dead(ended: int) -> None:
    assert is_dead_here({"pid": ended, "namespace": HERE}, HERE)
    assert not is_dead_here({"pid": os.getpid(), "namespace": HERE}, HERE)


@pytest.mark.parametrize(
    "fields",
    [
        {"namespace": "boot pid:[2]"},  # another container of this machine
        {"namespace": "earlier pid:[1]"},
        {"namespace": ""},
        {},  # a release that wrote the host only
    ],
    ids=["container", "boot", "empty", "earlier release"],
)
def test_a_writer_whose_process_id_counts_elsewhere_is_judged_by_its_signs(
    ended: int, fields: dict[str, Any]
) -> None:
    sign = {"pid": ended, "host": socket.gethostname(), **fields}
    assert not is_dead_here(sign, HERE) and not is_dead_here(sign, "")


@pytest.mark.parametrize("pid", ["1", None, 10**30, -(10**30)])
def test_a_process_id_that_is_none_is_no_dead_writer(pid: object) -> None:
    assert not is_dead_here({"pid": pid, "namespace": HERE}, HERE)


def test_a_namespace_is_that_of_a_boot_and_of_a_container(tmp_path: Path) -> None:
    def of(boot: str, pids: str) -> str:
        (tmp_path / "pid").unlink(missing_ok=True)
        (tmp_path / "pid").symlink_to(pids)
        (tmp_path / "boot").write_text(f"{boot}\n")
        return namespace(tmp_path / "boot", tmp_path / "pid")

    assert len({of("a", "pid:[1]"), of("a", "pid:[2]"), of("b", "pid:[1]")}) == 3
    assert namespace(tmp_path / "nothing", tmp_path / "pid") == ""
    assert namespace() == namespace() != ""
