"""Which meshes are put to the test by killing their nodes? Who publishes, who is owed what, and who dies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tools.benchmarks.trials import plan
from tools.benchmarks.trials.history import Killed, Publisher, Subscriber
from tools.benchmarks.trials.verdict import seen_from
from tools.running.line import DOMAIN, start_line
from tools.running.nodes import Node, start_nodes
from tools.running.processes import Processes

Query = dict[str, str]  # what `subscribe` takes


@dataclass(frozen=True, slots=True)
class Story:
    """A mesh, its clients, and what befalls it. `kind` names what a kill was to two clients."""

    part: str  # its name as a part of the benchmark
    start: Callable[[Processes], list[Node]]
    publishers: tuple[Publisher, ...]
    subscribers: Mapping[Subscriber, Query]
    kinds: tuple[str, ...]
    kind: Callable[[Killed, Publisher, Subscriber], str]
    path: Callable[[Publisher, Subscriber], Sequence[str]]  # the nodes that messages pass
    mortal: tuple[str, ...]  # who dies; who stands here twice, twice as often
    between: tuple[float, float]  # s from one kill to the next
    down: tuple[float, float]  # s that a node stays dead

    def plan(self, count: int, seed: int) -> list[plan.Kill]:
        return plan.draw(count, seed, self.mortal, self.between, self.down)


NODES = ("heron", "stork", "egret")
P1, P2, P3 = Publisher("p1", "heron"), Publisher("p2", "heron"), Publisher("p3", "egret")
EACH_ITS_OWN_MASTER = Story(
    part="kills",
    start=lambda processes: start_nodes(processes, *NODES, log_level="debug"),
    publishers=(P1, P2, P3),
    # No two of a pair live on the same node.
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

# bilbo's messages go through frodo to heron; avalon is a slave of heron, too, and lives.
ROLES = {"heron": "master", "frodo": "way", "bilbo": "slave"}
SLAVE = Publisher("p1", "bilbo", DOMAIN)
MASTERS = Story(
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

# by what --story calls them
STORIES = {"nodes": EACH_ITS_OWN_MASTER, "masters": MASTERS}
