"""Weights of nodes for balancing, learned from the history."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import sqrt
from statistics import median, median_high, median_low
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from mesh.history.views.answers import latencies
from mesh.history.views.capacity import idle
from mesh.history.views.forecast import capacity
from mesh.history.views.rows import newest

HALF_LIFE = 86_400.0  # s
ANSWERS, STATES = 100, 30  # minimum for a judgment of a node
NEAR = 0.1  # smaller relative differences count as noise
LEAST, MOST = 0.25, 4.0
# Widest 95 % interval of a usable capacity, as a multiple of the capacity.
VAGUE = 1.0
INSTANT = 0.001  # minimum latency in ms


@dataclass(frozen=True, slots=True)
class Measured:
    """A node's figures from the history."""

    node: str
    answers: int = 0
    unanswered: int = 0
    latency_ms: float | None = None  # mean
    states: int = 0
    idle_cores: float | None = None
    capacity: float | None = None  # messages/s at full load


@dataclass(frozen=True, slots=True)
class Learnt:
    """The learned weight of a node, which is 1 for a typical node."""

    node: str
    weight: float
    answers: int
    latency_ms: float | None
    capacity: float | None  # messages/s at full load; None if unknown
    reason: str


@dataclass(frozen=True, slots=True)
class Typical:
    """A typical node, to which the others are compared."""

    latency_ms: float
    room: float  # messages/s at full load; idle cores if `a_core` is None
    a_core: float | None  # messages/s per idle core, if any capacity is known


def learn(history: DataFrame, half_life_s: float = HALF_LIFE) -> list[Learnt]:
    """Return the weights of all nodes that reported a load, or are candidates of others, sorted by name.

    `history` has corrected clocks, by `mesh.history.views.clocks.aligned`.
    """
    return weigh(measure(history, half_life_s))


def measure(history: DataFrame, half_life_s: float = HALF_LIFE) -> list[Measured]:
    """Return the figures of each node; newer answers count more in its mean latency.

    A capacity with a wide interval is left out.
    """
    high, low = F.col("capacity_high_per_s"), F.col("capacity_low_per_s")
    told = F.when(high - low <= VAGUE * F.col("capacity_per_s"), F.col("capacity_per_s"))
    full = capacity(history).select("node", "uuid", told.alias("capacity"))
    said = newest(idle(history).join(full, ["node", "uuid"], "left")).cache()
    nodes = latencies(history, said, half_life_s).join(said, "node", "full").where(F.col("node").isNotNull())
    counts = [F.coalesce(name, F.lit(0)).alias(name) for name in ("answers", "unanswered", "states")]
    rows = nodes.select("node", *counts, "latency_ms", "idle_cores", "capacity").collect()
    said.unpersist()
    return [Measured(**row.asDict()) for row in rows]


def weigh(nodes: Sequence[Measured]) -> list[Learnt]:
    """Return the weights, sorted by name, from the latency and capacity of each node.

    weight = (typical latency / latency) * sqrt(capacity / typical capacity), from 0.25 to 4, or 1 with too
    little history. A ratio within NEAR of 1 counts as 1. The root is used because latency under load already
    reflects capacity in part. An unknown capacity is estimated from idle cores, with the median rate per core
    of the other nodes.
    """
    typical = _typical([it for it in nodes if _is_known(it)])
    learnt = [_weighed(it, typical) if typical and _is_known(it) else _unknown(it) for it in nodes]
    return sorted(learnt, key=lambda it: it.node)


def as_file(
    learnt: Iterable[Learnt],
    *,
    cluster: str,
    made: datetime,
    expires: datetime,
    since: datetime,
    until: datetime,
) -> dict[str, Any]:
    """Return the content of weights.json, version 1.

    `made`, `expires`, `since` and `until` are aware times, stored in UTC.
    """
    times = {"made": made, "expires": expires, "since": since, "until": until}
    weights: Mapping[str, Any] = {
        it.node: {
            "weight": it.weight,
            "answers": it.answers,
            "latency_ms": _rounded(it.latency_ms),
            "capacity": _rounded(it.capacity),
            "reason": it.reason,
        }
        for it in learnt
    }
    iso = {name: f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" for name, time in times.items()}
    return {"version": 1, "cluster": cluster, **iso, "weights": weights}


def _is_known(it: Measured) -> bool:
    is_enough = it.answers + it.unanswered >= ANSWERS and it.states >= STATES
    return is_enough and it.latency_ms is not None and it.idle_cores is not None


def _typical(known: Sequence[Measured]) -> Typical | None:
    if not known:
        return None
    rates = [it.capacity / it.idle_cores for it in known if it.capacity and it.idle_cores]
    a_core = median(rates) if rates else None
    # Of two nodes the better one is typical, so that the worse one counts less and none is overrated.
    return Typical(
        median_low(_latency(it) for it in known), median_high(_room(it, a_core) for it in known), a_core
    )


def _weighed(it: Measured, typical: Typical) -> Learnt:
    room = _room(it, typical.a_core)
    slowness, roominess = _relative(_latency(it), typical.latency_ms), _relative(room, typical.room)
    free = round(sqrt(roominess) / slowness, 2)
    weight = min(MOST, max(LEAST, free))
    reason = f"answers in {_figure(_latency(it))} ms, " + (
        "as the typical node" if slowness == 1 else f"the typical node in {_figure(typical.latency_ms)} ms"
    )
    if it.unanswered:
        reason += f" ({it.unanswered} without an answer count 2 s each)"
    if roominess != 1:
        unit = "idle cores" if typical.a_core is None else "messages/s at full load"
        reason += f"; {_figure(room)} {unit}, the typical node {_figure(typical.room)}"
    if weight != free:
        reason += f"; {weight:g} is the {'most' if weight == MOST else 'least'}"
    return Learnt(it.node, weight, it.answers, it.latency_ms, it.capacity, reason)


def _unknown(it: Measured) -> Learnt:
    few = f"{it.answers} answers of {ANSWERS} and {it.states} states of {STATES}"
    reason = f"too little history, so the weight of the typical node: {few}"
    return Learnt(it.node, 1.0, it.answers, it.latency_ms, it.capacity, reason)


def _latency(it: Measured) -> float:
    """Return the latency in ms, at least INSTANT."""
    return max(INSTANT, it.latency_ms or 0.0)


def _room(it: Measured, a_core: float | None) -> float:
    """Return the node's capacity in messages/s, or its idle cores if `a_core` is None.

    An unknown capacity is estimated from the idle cores.
    """
    return it.capacity or (it.idle_cores or 0.0) * (1.0 if a_core is None else a_core)


def _relative(value: float, typical: float) -> float:
    relative = value / typical
    return 1.0 if abs(relative - 1) < NEAR else relative


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
