"""A mesh in which one of four servers is ten times slower: the shares by balancer."""

from collections.abc import Callable

from tools.benchmarks.peers.servers import Server
from tools.benchmarks.services.asking import Asking
from tools.benchmarks.services.callers import CALLERS, MOST
from tools.benchmarks.services.exchange import Outcome, exchanged
from tools.benchmarks.services.questions import WORK
from tools.running.nodes import ANYWHERE, READY, Node, all_see
from tools.running.processes import Processes

ASKS = "ibis"  # the node of the client
SERVE = ("heron", "stork", "egret", "swan")  # nodes of the servers; the last is slow
SLOWER = 10
PARALLEL = 16
assert len(SERVE) == MOST


def tried(balancer: str, requests: int, advance: Callable[[], None]) -> Outcome:
    """Run `requests` requests in a mesh with the strategy `balancer`; each server has a node of its own."""
    with Processes() as processes:
        _start(processes, balancer)
        asking = Asking(f"skewed/{balancer}", requests, PARALLEL)
        caller = CALLERS["heronry"]
        works = [WORK * (SLOWER if node == SERVE[-1] else 1) for node in SERVE]
        servers = [
            caller.server(Server((), node, node), asking, number, work)
            for number, (node, work) in enumerate(zip(SERVE, works, strict=True))
        ]
        outcome = exchanged(processes, asking, servers, caller.asker(Server((), ASKS, ASKS), asking, MOST))
        advance()
        return outcome


def _start(processes: Processes, balancer: str) -> None:
    config = processes.place / "mesh.toml"
    config.write_text(f'[balancing]\nstrategy = "{balancer}"\n')
    nodes: list[Node] = []
    for name in (ASKS, *SERVE):
        peers = [option for node in nodes[:1] for option in ("--peer", node.tcp)]
        nodes.append(Node(processes, name, *ANYWHERE, *peers, "--config", str(config)))
        nodes[-1].start()
    processes.until(lambda: all_see(processes, nodes), READY, "no mesh")
