"""A killed program that has forked a helper: its death is noticed, and its address is free."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mesh.running import LIMIT, RunningNode, running, until

PROGRAM = """
import multiprocessing as mp, sys, time
import mesh.sync
with mesh.sync.node("robot", mdns=False, bind=[sys.argv[1]], data=sys.argv[2], seeds=[sys.argv[3]]) as m:
    child = 0
    if sys.argv[4] == "fork":
        helper = mp.get_context("fork").Process(target=time.sleep, args=(600,))
        helper.start()
        child = helper.pid
    m.publish("arm/angle", b"90")
    print("child", child, flush=True)
    time.sleep(600)
"""
CONSUMER = """
import os, sys, time
import mesh.sync
m = mesh.sync.connect(sys.argv[1]).__enter__()
with m.queue("jobs").consume(prefetch=1) as jobs:
    job = next(jobs)
    child = os.fork()
    if not child:
        time.sleep(600)
    print("child", child, flush=True)
    time.sleep(600)
"""


def started(node: RunningNode, *argv: str) -> tuple["subprocess.Popen[str]", int]:
    """Start a program, and return it with the pid of its helper."""
    environ = {**node.environ, "MESH_NODE__CLUSTER": node.cluster}
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", *argv], env=environ, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    return program, int(program.stdout.readline().split()[1])


def killed(program: "subprocess.Popen[str]") -> None:
    assert program.stdout is not None
    program.kill()
    program.wait(LIMIT)
    program.stdout.close()  # its helper has the other end


@pytest.mark.slow
def test_the_death_of_a_node_is_noticed_and_its_address_free_though_a_forked_helper_lives(
    tmp_path: Path,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with running("a") as a:
        argv = address, str(tmp_path / "robot"), a.tcp
        program, child = started(a, PROGRAM, *argv, "fork")
        try:
            until(lambda: "robot" in a.mesh("ls", "--url", "a").stdout)
            killed(program)
            again, _ = started(a, PROGRAM, *argv, "alone")
            killed(again)
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["file", "tcp"])
def test_the_job_of_a_dead_consumer_goes_to_another_though_a_forked_helper_lives(way: str) -> None:
    with running("a") as a:
        for words in (("create", "jobs"), ("put", "jobs", "one")):
            assert a.mesh("queue", *words, "--url", "a").returncode == 0
        program, child = started(a, CONSUMER, "a" if way == "file" else a.tcp)
        try:
            killed(program)
            other, second = started(a, CONSUMER, "a")  # it only continues with the job
            killed(other)
            os.kill(second, signal.SIGKILL)
        finally:
            os.kill(child, signal.SIGKILL)
