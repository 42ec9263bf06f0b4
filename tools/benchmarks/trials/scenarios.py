"""The scenarios of kills: meshes, their publishers and subscribers, and the nodes that die."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tools.benchmarks.trials import plan
from tools.benchmarks.trials.history import Killed, Publisher, Subscriber
from tools.benchmarks.trials.verdict import seen_from
from tools.running.line import DOMAIN, start_line
from tools.running.nodes import Node, start_nodes
from tools.running.processes import Processes

Query = dict[str, str]  # the arguments of `subscribe`


@dataclass(frozen=True, slots=True)
class Scenario:
    """A mesh, its clients, and its kills.

    `kind` names the relation of a kill to two clients.
    """

    part: str  # its name as a part of the benchmark
    start: Callable[[Processes], list[Node]]
    publishers: tuple[Publisher, ...]
    subscribers: Mapping[Subscriber, Query]
    kinds: tuple[str, ...]
    kind: Callable[[Killed, Publisher, Subscriber], str]
    path: Callable[[Publisher, Subscriber], Sequence[str]]  # the nodes that messages pass
    mortal: tuple[str, ...]  # nodes that die, listed by frequency
    between: tuple[float, float]  # s between two kills
    down: tuple[float, float]  # s of downtime

    def plan(self, count: int, seed: int) -> list[plan.Kill]:
        return plan.draw(count, seed, self.mortal, self.between, self.down)


NODES = ("heron", "stork", "egret")
P1, P2, P3 = Publisher("p1", "heron"), Publisher("p2", "heron"), Publisher("p3", "egret")
EACH_ITS_OWN_MASTER = Scenario(
    part="kills",
    start=lambda processes: start_nodes(processes, *NODES, log_level="debug"),
    publishers=(P1, P2, P3),
    # No publisher shares a node with its subscriber.
    subscribers={
        Subscriber("s1", "stork", (P1, P2, P3)): {"pattern": "kills/#"},
        Subscriber("s2", "stork", (P1,)): {"key": P1.topic},
        Subscriber("s3", "stork", (P3,)): {"key": P3.topic},
        Subscriber("s4", "egret", (P1, P2)): {"pattern": "kills/heron/+"},
        Subscriber("s5", "heron", (P3,)): {"key": P3.topic},
    },
    kinds=("publisher's", "subscriber's", "third"),
    kind=seen_from,
    path=lambda publisher, subscriber: (publisher.node, subscriber.node),
    mortal=NODES,
    between=plan.BETWEEN,
    down=plan.DOWN,
)

# bilbo's messages go through frodo to heron; avalon is another slave of heron, and is not killed.
ROLES = {"heron": "master", "frodo": "way", "bilbo": "slave"}
SLAVE = Publisher("p1", "bilbo", DOMAIN)
MASTERS = Scenario(
    part="kills-masters",
    start=lambda processes: start_line(processes, log_level="debug"),
    publishers=(SLAVE,),
    subscribers={
        Subscriber("s1", "heron", (SLAVE,)): {"pattern": "kills/#", "domain": DOMAIN},
        Subscriber("s2", "avalon", (SLAVE,)): {"domain": DOMAIN},
        Subscriber("s3", "bilbo", (SLAVE,)): {"key": SLAVE.topic, "domain": DOMAIN},
    },
    kinds=tuple(ROLES.values()),
    kind=lambda kill, publisher, subscriber: ROLES[kill.node],
    path=lambda publisher, subscriber: tuple(ROLES),
    mortal=("heron", "heron", "frodo", "frodo", "bilbo"),
    between=(0.2, 4.0),
    down=(0.1, 3.0),
)

# by their names in --scenario
SCENARIOS = {"nodes": EACH_ITS_OWN_MASTER, "masters": MASTERS}
