"""Figures of executed code: our files and functions that a message and a subscription pass."""

from __future__ import annotations

from collections.abc import Mapping

from tools.costing.features import SitePath
from tools.costing.meter import Bill
from tools.costing.nodes import QUIET, THROUGH, MeteredNetwork, NodePath, RequestPath
from tools.costing.queues import QueuePath
from tools.simulator.clients.client import SimClient


def figures() -> Mapping[str, int]:
    return {
        **_passed("a transient publish between two nodes", NodePath(nodes=2).bill(1)),
        **_passed("a persistent publish at one node", NodePath(persistent=True).bill(1)),
        **_passed("a first subscription, at two nodes", first_subscription()),
        **_passed("a message put into a queue, taken and acked", QueuePath(0).bill(1)),
        **_passed("a request and its reply, two nodes", RequestPath().bill(1)),
        **_passed("a message from site to site, five nodes", SitePath().bill(1)),
    }


def first_subscription() -> Bill:
    """Return the bill of a subscription at one of two nodes that know each other but have no link yet."""
    net = MeteredNetwork()
    _, b = net.mesh("a", "b")
    reader = SimClient(net, b.ipc, "reader").connected()
    net.run(QUIET)
    net.meter.take()
    reader.subscribed(pattern="k/#")
    net.run(THROUGH)
    return net.meter.take()


def _passed(what: str, bill: Bill) -> Mapping[str, int]:
    ours = [name for name in bill.functions if name.startswith("mesh/")]
    files = {name.partition(":")[0] for name in ours}
    packages = {package_of(file) for file in files} - {"mesh"}
    return {f"{what}: packages": len(packages), f"{what}: files": len(files), f"{what}: functions": len(ours)}


def package_of(file: str) -> str:
    """Return the package of a file: a folder of mesh, or one of its features."""
    return "/".join(file.split("/")[: 3 if file.startswith("mesh/features/") else 2][: file.count("/")])
