"""All metrics of one node, out of what it says of itself: its figures, and a few of its queues."""

from collections.abc import Iterable, Iterator, Sequence

from mesh.metrics.family import COUNTER, GAUGE, Family, Labels
from mesh.metrics.table import TABLE
from mesh.wire.calls import AskFared, AskInfo, AskQueues
from mesh.wire.limits import FARED
from mesh.wire.replies import FaredRow, Info, QueueRow

QUEUES = 100  # that have metrics of their own: the first ones by name. All others are in the sums
ADDRESSES = FARED + 1  # likewise: the busiest, and the sum of the others
ASKS = (AskInfo(), AskQueues(here=True, limit=QUEUES), AskFared())  # what a node is asked for it

NODE = (
    ("mesh_node_info", GAUGE, "1. Who this node is, and its release"),
    ("mesh_uptime_seconds", GAUGE, "Time since the start of this node"),
    ("mesh_boot", GAUGE, "The number of this start"),
    (
        "mesh_loop_lag_seconds",
        GAUGE,
        "How late its loop comes to its work, of the last 5 s: the worst, and 99 of 100",
    ),
)
QUEUE = (
    ("ready", "mesh_queue_ready", GAUGE, "Messages of a queue that wait for somebody at this node"),
    ("out", "mesh_queue_out", GAUGE, "Messages of a queue at this node that somebody has"),
    (
        "delayed",
        "mesh_queue_delayed",
        GAUGE,
        "Messages of a queue at this node that must not be given out yet",
    ),
    ("going", "mesh_queue_going", GAUGE, "Messages of a queue on their way to another node"),
    ("bytes", "mesh_queue_bytes", GAUGE, "Bytes of the messages of a queue at this node"),
    ("consumers", "mesh_queue_consumers", GAUGE, "Who takes from a queue at this node"),
    (
        "oldest",
        "mesh_queue_oldest_seconds",
        GAUGE,
        "Age of the oldest message of a queue that waits at this node",
    ),
    ("acked", "mesh_queue_acked", COUNTER, "Messages of a queue that at this node were done"),
    (
        "redelivered",
        "mesh_queue_redelivered",
        COUNTER,
        "Messages of a queue that at this node were given out once more",
    ),
    ("dead", "mesh_queue_dead", COUNTER, "Messages of a queue that at this node were given up"),
)
ADDRESS = (
    ("requests", "mesh_address_requests", COUNTER, "Requests of clients of this node, by address"),
    ("replies", "mesh_address_replies", COUNTER, "Replies to them"),
    ("failures", "mesh_address_request_failures", COUNTER, "Requests that failed"),
    ("seconds", "mesh_address_reply_seconds", COUNTER, "Time that the replies took, all together"),
    ("sent", "mesh_address_sent", COUNTER, "Messages that want no reply, sent to it and taken"),
)


def families(info: Info, queues: Sequence[QueueRow] = (), addresses: Sequence[FaredRow] = ()) -> list[Family]:
    """In the order of the tables; a metric that this node has no figure for is left out."""
    return [
        *_node(info),
        *_figures(info),
        *_rows("queue", QUEUE, [(row.name, row) for row in queues[:QUEUES]]),
        *_rows("address", ADDRESS, [(row.address, row) for row in addresses[:ADDRESSES]]),
    ]


def known() -> list[Family]:
    """Every family that there can be, without samples."""
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
    """A family for each field of what has a name."""
    for field, name, kind, what in table if rows else ():
        samples: list[tuple[Labels, float]] = [({label: of}, float(getattr(row, field))) for of, row in rows]
        yield Family(name, kind, what, samples)
