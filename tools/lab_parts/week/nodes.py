"""Three nodes with a history: days of segments, under their names, before their first start."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mesh.local.datadir import write_identity
from mesh.local.segmentfiles import make_directories
from tools.running.line import free_ports
from tools.running.nodes import Node
from tools.running.processes import Failed, Processes

NAMES = ("heron", "stork", "egret")  # as in the generated history
GENERATING = 900.0  # s


def domain_of(name: str) -> str:
    """Return the domain whose master is that node."""
    return f"CHATTER_{name.upper()}"


def made(processes: Processes, inside: Sequence[str], limit: int) -> list[Node]:
    """Return nodes that are not started yet.

    `limit` is the number of bytes of segments that each may keep.
    """
    ports = dict(zip(NAMES, free_ports(len(NAMES)), strict=True))
    return [_made(processes, name, ports, inside, limit) for name in NAMES]


def _made(processes: Processes, name: str, ports: dict[str, int], inside: Sequence[str], limit: int) -> Node:
    lines = ["[node]", f'bind = ["tcp://127.0.0.1:{ports[name]}"]']
    lines += [f"peers = {[f'tcp://127.0.0.1:{port}' for other, port in ports.items() if other != name]}"]
    lines += ["[snapshots]", f"limit_bytes = {limit}"]
    for each in NAMES:
        lines += [f"[[nodes.{each}.master]]", f'domains = ["{domain_of(each)}"]']
    path = processes.place / f"{name}.toml"
    path.write_text("\n".join(lines) + "\n")
    return Node(processes, name, "--config", str(path), log_level="debug", inside=inside)


def data_of(processes: Processes, name: str) -> Path:
    return processes.place / "data" / name


def give_a_past(processes: Processes, hours: float, seed: int) -> tuple[int, int]:
    """Generate the nodes' segments and identities, and return the number of segments and of their bytes."""
    past = processes.place / "past"
    wish = ("--nodes", str(len(NAMES)), "--hours", f"{hours:g}", "--seed", str(seed), "--close", "60")
    words = ("tools.generate_snapshots", *wish, "--clean", "--to", str(past))
    program = processes.run("past", *words, limit=GENERATING)
    if program.code:
        raise Failed(f"no history: {program.words()}")
    size = 0
    machines: dict[str, Any] = json.loads(program.out.read_text())["machines"]
    found = sorted(past.glob("*/*/*.jsonl"))
    boots = dict.fromkeys(NAMES, 1)
    for path in found:
        name, _, boot, _ = path.name.removeprefix("_").split("-")
        boots[name] = max(boots[name], int(boot))
        size += path.stat().st_size
        folder = data_of(processes, name) / "snapshots" / path.parent.relative_to(past)
        make_directories(folder, processes.place, 0o700)
        path.rename(folder / path.name)
    shutil.rmtree(past)
    for name in NAMES:
        write_identity(data_of(processes, name), bytes.fromhex(machines[name]["uuid"]), boots[name], b"")
    return len(found), size
