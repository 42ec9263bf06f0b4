"""The nodes of a long run: on hosts of a lab if there is one, else all on this machine."""

from collections.abc import Mapping, Sequence

from mesh.security.joining import new_mesh
from tools.lab_parts.disks import SmallDisk
from tools.lab_parts.faults import READY
from tools.lab_parts.netlab import NetLab
from tools.running.nodes import ANYWHERE, Node, all_see
from tools.running.processes import Processes

PORT = 7710


def start_company(
    processes: Processes, lab: NetLab | None, names: Sequence[str], disks: Mapping[str, SmallDisk]
) -> list[Node]:
    """Start a node for each name, and return when all see each other.

    With a lab, the i-th node is on host i. A node whose name is in `disks` has its data on that disk.
    """
    if lab is not None:
        new_mesh(processes.place, processes.cluster)
    nodes: list[Node] = []
    for number, name in enumerate(names, start=1):
        nodes.append(_node(processes, lab, nodes, number, name, disks.get(name)))
        nodes[-1].launch()
        processes.until(nodes[-1].is_ready, READY, f"{name} was not ready")
    processes.until(lambda: all_see(processes, nodes), READY, "no mesh")
    return nodes


def _node(
    processes: Processes,
    lab: NetLab | None,
    others: list[Node],
    number: int,
    name: str,
    disk: SmallDisk | None,
) -> Node:
    options, inside = (disk.options, disk.inside) if disk is not None else ((), ())
    if lab is None:
        peer = ("--peer", others[0].tcp) if others else ()
        return Node(processes, name, *ANYWHERE, *peer, *options, inside=inside)
    address = lab.address(number)
    peer = ("--peer", f"tcp://{lab.address(1)}:{PORT}") if number > 1 else ()
    listens = ("--bind", f"tcp://{address}:{PORT}")
    return Node(processes, name, *listens, *peer, *options, inside=[*inside, *lab.command(number, [])])
