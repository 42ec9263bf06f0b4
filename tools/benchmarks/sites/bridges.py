"""Two linked sites of each product: their programs, and the addresses of clients."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from mesh.security.derive import RELAY
from mesh.security.joining import join_site, new_mesh, token_of
from tools.benchmarks.peers.servers import BIN, PYTHON
from tools.benchmarks.sites.sending import Sending
from tools.benchmarks.sites.wan import LON, NAMES, NYC, Wan
from tools.running.nodes import READY
from tools.running.processes import Failed, Processes, Program

JAVA, JGROUPS = Path(__file__).with_name("java"), BIN / "jgroups.jar"
MODULES = "tools.benchmarks.sites"
PORT, GATEWAY = 4222, 7222  # of NATS, for clients and for gateways
OURS = 7710
NATS = """
listen: "{me}:4222"
server_name: {name}
max_pending: 2GB
write_deadline: "60s"
gateway {{
    name: {name}
    listen: "{me}:7222"
    gateways: [{{name: LON, url: "nats://{lon}:7222"}}, {{name: NYC, url: "nats://{nyc}:7222"}}]
}}
"""
MESH = """
[site]
name = "{name}"
relay = true

[sites.{other}]
addresses = [{addresses}]
topics = ["bench/#"]
"""


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge between two sites.

    `command(role, site, sending)` returns the command of a receiver or sender at a site; `role` is take or
    send.
    """

    wan: Wan
    command: Callable[[str, int, Sending], list[str]]


def _in_python(wan: Wan, program: str, module: str, addresses: dict[int, str]) -> Bridge:
    """Return a bridge with Python clients, whose `addresses` are by site."""

    def command(role: str, site: int, sending: Sending) -> list[str]:
        client = [program, "-m", f"{MODULES}.{module}"]
        return [*wan.inside(site), *client, role, addresses[site], sending.packed()]

    return Bridge(wan, command)


def _nats(processes: Processes, wan: Wan) -> Bridge:
    addresses = {}
    for site, name in NAMES.items():
        me, path = wan.host(site), processes.place / f"{name}.conf"
        path.write_text(NATS.format(me=me, name=name, lon=wan.host(LON), nyc=wan.host(NYC)))
        processes.launch(name, *wan.inside(site), str(BIN / "nats-server"), "-c", str(path))
        addresses[site] = f"nats://{me}:{PORT}"
    return _in_python(wan, str(PYTHON), "nats_site", addresses)


def _ours(processes: Processes, wan: Wan) -> Bridge:
    states = {site: processes.place / name for site, name in NAMES.items()}
    files = {}
    for site, state in states.items():
        state.mkdir()
        files[site] = new_mesh(state, "default")
    join_site(states[LON], NAMES[NYC], token_of(files[NYC], RELAY, 0, NAMES[LON]))
    addresses, programs = {}, []
    for site, name in NAMES.items():
        programs.append(_node(processes, wan, site, states[site]))
        addresses[site] = f"{states[site]}:{name}"
    for program in programs:
        _await(processes, program)
    return _in_python(wan, sys.executable, "ours_site", addresses)


def _node(processes: Processes, wan: Wan, site: int, state: Path) -> Program:
    other = NYC if site == LON else LON
    config = state / "mesh.toml"
    dialled = f'"tcp://{wan.host(NYC)}:{OURS}"' if site == LON else ""
    config.write_text(MESH.format(name=NAMES[site], other=NAMES[other], addresses=dialled))
    inside = [*wan.inside(site), "env", f"MESH_STATE_DIR={state}"]
    bind = f"tcp://{wan.host(site)}:{OURS}"
    options = ("--json", "--no-mdns", "--id", NAMES[site], "--config", str(config), "--bind", bind)
    return processes.start(NAMES[site], "mesh", "up", *options, inside=inside)


def _await(processes: Processes, program: Program) -> None:
    processes.until(lambda: "\n" in program.out.read_text() or program.ended(), READY, "a node was not ready")
    if program.ended():
        raise Failed(f"{program.name} ended by itself: {program.words()}")


def _jgroups(processes: Processes, wan: Wan) -> Bridge:
    """Return a bridge whose senders and receivers are relays themselves."""
    both = ",".join(f"{wan.host(site)}[7900]" for site in NAMES)

    def command(role: str, site: int, sending: Sending) -> list[str]:
        said = {"site": NAMES[site], "here": wan.host(site), "both": both}
        said |= {name: str(JAVA / f"{name}.xml") for name in ("local", "bridge")}
        said["java.net.preferIPv4Stack"] = "true"
        options = [f"-D{name}={value}" for name, value in said.items()]
        client = ["java", "-cp", str(JGROUPS), *options, str(JAVA / "Relayed.java")]
        numbers = [str(sending.messages), str(sending.size), str(processes.place / sending.ready)]
        return [*wan.inside(site), *client, role, *numbers]

    return Bridge(wan, command)


BRIDGES: dict[str, Callable[[Processes, Wan], Bridge]] = {
    "heronry": _ours,
    "nats-py": _nats,
    "jgroups": _jgroups,
}
NEEDS = {"heronry": (), "nats-py": (PYTHON, BIN / "nats-server"), "jgroups": (JGROUPS,)}  # files of each


def is_installed(name: str) -> bool:
    return all(path.exists() for path in NEEDS[name]) and (name != "jgroups" or which("java") is not None)
