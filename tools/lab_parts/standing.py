"""The lab of the commands `up` and `down`, which stays between commands."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from mesh.security.joining import new_mesh
from tools.lab_parts.netlab import NetLab, why_not
from tools.running.processes import ROOT, Failed

CLUSTER = "lab"
READY, GONE = 30.0, 10.0  # s


def place() -> Path:
    """Return the folder of the user's single lab: its files, and the state directory of its nodes."""
    return Path(tempfile.gettempdir()) / f"mesh-lab-{os.getuid()}"


def build(count: int) -> None:
    """Build a lab of `count` hosts, each with a node.

    Raises Failed when there is a lab already, or none is possible.
    """
    if why := why_not():
        raise Failed(why)
    try:
        place().mkdir(mode=0o700)
    except FileExistsError:
        raise Failed(f"A lab stands already, in {place()}. Take it down: tools/lab down") from None
    try:
        _build(count)
    except BaseException:
        take_down()
        raise


def _build(count: int) -> None:
    lab = NetLab(count, switch=True)
    lab.__enter__()  # without an exit: the lab outlives this program
    started = [lab.switch.pid]
    _remember(lab, count, started)
    new_mesh(place(), CLUSTER)
    for host in lab.hosts:
        started.append(_start_node(lab, host).pid)
        _remember(lab, count, started)
    _until_ready(lab.hosts)


def _remember(lab: NetLab, count: int, pids: Sequence[int]) -> None:
    # The start time is saved as well, as the id of an ended process may be reused.
    processes = [(pid, psutil.Process(pid).create_time()) for pid in pids]
    saved = {"name": lab.name, "hosts": count, "rules": str(lab.switch.rules), "processes": processes}
    (place() / "lab.json").write_text(json.dumps(saved))


def _start_node(lab: NetLab, host: int) -> "subprocess.Popen[bytes]":
    seed = () if host == 1 else ("--peer", f"tcp://{lab.address(1)}:7710")
    command = [
        sys.executable,
        "-m",
        "mesh",
        "up",
        "--json",
        "--id",
        f"n{host}",
        "--cluster",
        CLUSTER,
        "--bind",
        f"tcp://{lab.address(host)}:7710",
        *seed,
    ]
    with (place() / f"n{host}.out").open("wb") as out, (place() / f"n{host}.log").open("wb") as log:
        return subprocess.Popen(
            lab.command(host, command),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            env=environment(host),
            cwd=place(),
            start_new_session=True,
        )


def _until_ready(hosts: Sequence[int]) -> None:
    end = time.monotonic() + READY
    while not all((place() / f"n{host}.out").read_bytes() for host in hosts):
        if time.monotonic() > end:
            raise Failed(f"not every node got ready within {READY:g} s: see {place()}/n*.log")
        time.sleep(0.05)


def environment(host: int) -> dict[str, str]:
    """Return the environment of commands on a host, whose node is the default."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MESH_")}
    path = f"{Path(sys.executable).parent}:{outer.get('PATH', '')}"
    return {
        **outer,
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "MESH_STATE_DIR": str(place()),
        "XDG_CONFIG_HOME": str(place()),
        "MESH_URL": f"n{host}",
        "MESH_CLUSTER": CLUSTER,
    }


def attached() -> NetLab:
    """Return the lab that was built. Raises: Failed, if there is none."""
    try:
        saved = json.loads((place() / "lab.json").read_text())
    except FileNotFoundError:
        raise Failed("No lab stands here. Build one: tools/lab up 3") from None
    name, hosts, rules = saved["name"], saved["hosts"], saved["rules"]
    return NetLab.attached(name, hosts, Path(rules))


def take_down() -> None:
    """Remove everything that is left of the lab. Raises: Failed, if there is none."""
    if not place().exists():
        raise Failed("No lab stands here.")
    with suppress(FileNotFoundError):
        saved = json.loads((place() / "lab.json").read_text())
        for pid, began in saved["processes"]:
            _end(pid, began)
        for namespace in NetLab.named(saved["name"], saved["hosts"]).namespaces:
            subprocess.run(["ip", "netns", "del", namespace], stderr=subprocess.DEVNULL)
        shutil.rmtree(Path(saved["rules"]).parent, ignore_errors=True)
    shutil.rmtree(place())


def _end(pid: int, began: float) -> None:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if process.create_time() == began:
            process.send_signal(signal.SIGTERM)
            with suppress(psutil.TimeoutExpired):
                process.wait(GONE)
                return
            process.kill()
