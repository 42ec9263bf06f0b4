"""The metrics of one node, from its reported figures and a limited number of queues and addresses."""

from collections.abc import Iterable, Iterator, Sequence

from mesh.metrics.family import COUNTER, GAUGE, Family, Labels
from mesh.metrics.table import TABLE
from mesh.wire.calls import AskFared, AskInfo, AskQueues
from mesh.wire.limits import FARED
from mesh.wire.replies import FaredRow, Info, QueueRow

# Queues with metrics of their own, the first ones by name. The others are in the sums only.
QUEUES = 100
ADDRESSES = FARED + 1  # the busiest, and the sum of the others
ASKS = (AskInfo(), AskQueues(here=True, limit=QUEUES), AskFared())  # requests to a node for its metrics

NODE = (
    ("mesh_node_info", GAUGE, "Always 1; the labels identify the node and its release"),
    ("mesh_uptime_seconds", GAUGE, "Time since the start of this node"),
    ("mesh_boot", GAUGE, "Number of this start of the node"),
    ("mesh_loop_lag_seconds", GAUGE, "Delay of the event loop in the last 5 s: maximum and 99th percentile"),
)
QUEUE = (
    ("ready", "mesh_queue_ready", GAUGE, "Ready messages of a queue at this node"),
    ("out", "mesh_queue_out", GAUGE, "Outstanding messages of a queue at this node"),
    ("delayed", "mesh_queue_delayed", GAUGE, "Delayed messages of a queue at this node"),
    ("going", "mesh_queue_going", GAUGE, "Messages of a queue in transit to another node"),
    ("bytes", "mesh_queue_bytes", GAUGE, "Bytes of the messages of a queue at this node"),
    ("consumers", "mesh_queue_consumers", GAUGE, "Consumers of a queue at this node"),
    (
        "oldest",
        "mesh_queue_oldest_seconds",
        GAUGE,
        "Age of the oldest waiting message of a queue at this node",
    ),
    ("acked", "mesh_queue_acked", COUNTER, "Messages of a queue acked at this node"),
    ("redelivered", "mesh_queue_redelivered", COUNTER, "Redelivered messages of a queue at this node"),
    ("dead", "mesh_queue_dead", COUNTER, "Messages of a queue dead-lettered at this node"),
)
ADDRESS = (
    ("requests", "mesh_address_requests", COUNTER, "Requests of clients of this node, by address"),
    ("replies", "mesh_address_replies", COUNTER, "Replies to requests of clients of this node, by address"),
    (
        "failures",
        "mesh_address_request_failures",
        COUNTER,
        "Failed requests of clients of this node, by address",
    ),
    ("seconds", "mesh_address_reply_seconds", COUNTER, "Total time of the replies, by address"),
    (
        "sent",
        "mesh_address_sent",
        COUNTER,
        "Messages without a reply that were sent to the address and accepted",
    ),
)


def families(info: Info, queues: Sequence[QueueRow] = (), addresses: Sequence[FaredRow] = ()) -> list[Family]:
    """Return the families in the order of the tables, except families for which the node has no figures."""
    return [
        *_node(info),
        *_figures(info),
        *_rows("queue", QUEUE, [(row.name, row) for row in queues[:QUEUES]]),
        *_rows("address", ADDRESS, [(row.address, row) for row in addresses[:ADDRESSES]]),
    ]


def known() -> list[Family]:
    """Return all possible families, without samples."""
    found = {name: Family(name, kind, what) for name, kind, what in NODE}
    for name, kind, what, _ in TABLE.values():
        found.setdefault(name, Family(name, kind, what))
    return [*found.values(), *(Family(name, kind, what) for _, name, kind, what in (*QUEUE, *ADDRESS))]


def _node(info: Info) -> Iterator[Family]:
    who = {"node": info.name, "uuid": info.uuid, "cluster": info.cluster, "software": info.software}
    samples: tuple[list[tuple[Labels, float]], ...] = (
        [(who, 1.0)],
        [({}, info.uptime)],
        [({}, float(info.boot))],
        [({"share": "1"}, info.lag_worst), ({"share": "0.99"}, info.lag_p99)],
    )
    for (name, kind, what), its in zip(NODE, samples, strict=True):
        yield Family(name, kind, what, its)


def _figures(info: Info) -> Iterable[Family]:
    found: dict[str, Family] = {}
    figures = {**info.metrics, **info.snapshots, **info.disk}
    for figure, (name, kind, what, labels) in TABLE.items():
        if figure in figures:
            family = found.setdefault(name, Family(name, kind, what))
            family.samples.append((labels, float(figures[figure])))
    return found.values()


def _rows(
    label: str, table: Iterable[tuple[str, str, str, str]], rows: Sequence[tuple[str, object]]
) -> Iterator[Family]:
    for field, name, kind, what in table if rows else ():
        samples: list[tuple[Labels, float]] = [({label: of}, float(getattr(row, field))) for of, row in rows]
        yield Family(name, kind, what, samples)
