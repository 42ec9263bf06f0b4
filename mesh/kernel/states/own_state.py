"""The state of this node, as it is gossiped: measurements, metrics and summaries of shared rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from mesh.discovery.state import NodeState, Sample, Summary, load_index
from mesh.kernel.context.component import Beginning
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.states.ways import OwnWays
from mesh.operations import StoreReach

# Law 1: each state of a boot has the next number, so that others can tell which one is newer.
# Law 2: rates are never negative, even if a metric starts again.

RATES = (
    "published",
    "delivered",
    "requests",
    "request_failures",
    "served",
)  # metrics that a state reports per second
WEIGHTS = "weights"  # rows whose timestamp earlier releases use


class OwnState:
    """The states of this node, each measured when it is due.

    `shared` has the summaries of shared rows by kind.
    """

    def __init__(
        self, context: NodeContext, software: str, ways: OwnWays, shared: Mapping[str, Summary]
    ) -> None:
        self._context = context
        self._software = software
        self._ways = ways
        self._shared = shared
        self._reach: Callable[[], StoreReach] = lambda: StoreReach(0, 0)  # of our store
        self._counter = 0
        self._last: tuple[float, dict[str, int | float]] | None = None
        self._born = 0.0

    def start(self, beginning: Beginning) -> None:
        self._reach = beginning.reach
        self._born = self._context.clock.now

    def measure(self, sample: Sample) -> NodeState:
        """Return the next state, with rates since the last one."""
        self._counter += 1
        now, me = self._context.clock.now, self._context.me
        figures = defaultdict[str, int | float](int, self._context.figures())  # 0 for missing features
        rates = self._rates(figures)
        reach, weights = self._reach(), self._shared[WEIGHTS].stamp if WEIGHTS in self._shared else 0
        self._last = (now, figures)
        return NodeState(
            uuid=me.uuid, name=me.name, boot=me.boot, counter=self._counter, wall=self._context.clock.wall,
            up=now - self._born, software=self._software, cpu=sample.cpu, ram_free=sample.ram_free,
            ram_total=sample.ram_total, load=load_index(sample), lag=sample.lag,
            published=rates["published"], delivered=rates["delivered"],
            pending=int(figures["pending"]), tailback=int(figures["tailed_back"]),
            stored=int(figures["stored_envelopes"]), sessions=int(figures["sessions"]),
            subscriptions=int(figures["subscriptions"]), links=int(figures["data_links"]),
            insecure=False, weights=weights, log=reach.log, commits=reach.commits, ways=self._ways.names,
            shared=tuple(self._shared.values()), requested=rates["requests"] or 0,
            request_p50=figures["request_p50"], request_p99=figures["request_p99"],
            request_failed=rates["request_failures"] or 0, served=rates["served"] or 0,
            queued=int(figures["queue_messages"]), consumers=int(figures["queue_consumers"]),
            machine=sample.machine, room=int(figures["client_room"]),
            leaving=self._context.leaving.is_on,
        )  # fmt: skip

    def _rates(self, figures: dict[str, int | float]) -> dict[str, float]:
        if self._last is None:
            return dict.fromkeys(RATES, 0.0)
        then, before = self._last
        seconds = max(self._context.clock.now - then, 0.001)
        return {name: max(0.0, (figures[name] - before[name]) / seconds) for name in RATES}
