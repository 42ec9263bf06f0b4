"""Assembles rows of the views into the facts of a report, such as series over time and facts about nodes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from mesh.history.report.facts import FARES, MEASURES, Facts, Series
from mesh.history.report.message_rows import Fare, Quality
from mesh.history.report.node_rows import Coverage, Flapping, Life, Load, Node
from mesh.history.report.sampling import mean, median, most

Span = tuple[str, datetime, datetime]  # node, start, end
AboutNode = TypeVar("AboutNode", Load, Coverage, Flapping)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def assemble(
    *,
    load: Sequence[Load],
    fares: Sequence[Fare],
    width_s: float,
    fares_width_s: float | None = None,
    coverage: Sequence[Coverage],
    flapping: Sequence[Flapping],
    balance: Sequence[Quality],
    lives: Sequence[Life],
    **others: Any,
) -> Facts:
    """Return the facts from rows of `load.over_time` and `services.over_time`, and from rows of single views.

    `fares` may have buckets of another width, `fares_width_s` seconds.
    """
    times = axis((row.bucket_at for row in load), timedelta(seconds=width_s))
    return Facts(
        width_s=width_s,
        times=times,
        series=series(load, times),
        fares=by_address(fares, times, timedelta(seconds=fares_width_s or width_s)),
        nodes=nodes(load, coverage, flapping, balance),
        coverage=tuple(coverage),
        flapping=tuple(flapping),
        balance=tuple(balance),
        lives=tuple(sorted(lives, key=lambda life: (life.first_at, life.node, life.boot))),
        **others,
    )


def waiting(row: Load) -> float | None:
    """Return the number of messages that wait in queues, for subscribers, and for unreachable masters.

    None means that none of these numbers is known.
    """
    known = [messages for messages in (row.pending, row.tailback, row.queued) if messages is not None]
    return sum(known) if known else None


def axis(starts: Iterable[datetime], width: timedelta) -> tuple[datetime, ...]:
    """Return the starts of the buckets, with an empty bucket at each end of a period without data.

    A gap is thus visible, and a history with long gaps stays short. A gap of one bucket gets a single empty
    bucket.
    """
    times: list[datetime] = []
    for start in sorted(set(starts)):
        if times and start - times[-1] > width:
            times.append(times[-1] + width)
            if start - times[-1] > width:
                times.append(start - width)
        times.append(start)
    return tuple(times)


def series(load: Sequence[Load], times: Sequence[datetime]) -> dict[str, Series]:
    """Return the MEASURES by node at each of `times`."""
    found: dict[tuple[str, datetime], Load] = {(row.node, row.bucket_at): row for row in load}
    names = sorted({row.node for row in load})

    def of(measure: str) -> Series:
        return {name: tuple(_value(found.get((name, when)), measure) for when in times) for name in names}

    return {measure: of(measure) for measure in MEASURES}


def by_address(fares: Sequence[Fare], times: Sequence[datetime], width: timedelta) -> dict[str, Series]:
    """Return the FARES by address at each of `times`, from the bucket of `width` that contains it."""
    found = {(row.address, row.bucket_at): row for row in fares}
    buckets = [when - (when - EPOCH) % width for when in times]
    names = sorted({row.address for row in fares})

    def of(measure: str) -> Series:
        return {
            name: tuple(getattr(found.get((name, when)), measure, None) for when in buckets) for name in names
        }

    return {measure: of(measure) for measure in FARES}


def _value(row: Load | None, measure: str) -> float | None:
    if row is None:
        return None
    value: float | None = waiting(row) if measure == "waiting" else getattr(row, measure)
    return value


def nodes(
    load: Sequence[Load],
    coverage: Sequence[Coverage],
    flapping: Sequence[Flapping],
    balance: Sequence[Quality],
) -> tuple[Node, ...]:
    """Return one Node for each name, the busiest first."""
    loads, covered, restless = _by_node(load), _by_node(coverage), _by_node(flapping)
    shares = fair_shares(balance)
    found = [
        _node(name, loads[name], covered[name], restless[name], shares.get(name, (None, None)))
        for name in {*loads, *covered}
    ]
    return tuple(
        sorted(found, key=lambda node: (-(node.load_share or 0), -(node.cpu_percent or 0), node.name))
    )


def _by_node(rows: Iterable[AboutNode]) -> defaultdict[str, list[AboutNode]]:
    groups: defaultdict[str, list[AboutNode]] = defaultdict(list)
    for row in rows:
        groups[row.node].append(row)
    return groups


def _node(
    name: str,
    load: Sequence[Load],
    coverage: Sequence[Coverage],
    flapping: Sequence[Flapping],
    share: tuple[float | None, float | None],
) -> Node:
    lags = [row.lag_s for row in load]
    return Node(
        name=name,
        boots=sum(row.boots for row in coverage),
        states=sum(row.states for row in coverage),
        first_at=min((row.first_at for row in coverage if row.first_at), default=None),
        last_at=max((row.last_at for row in coverage if row.last_at), default=None),
        cpu_percent=mean([row.cpu_percent for row in load]),
        cpu_peak_percent=most([row.cpu_percent for row in load]),
        load_share=mean([row.load_share for row in load]),
        lag_s=median(lags),
        lag_worst_s=most(lags),
        ram_peak_percent=most([row.ram_percent for row in load]),
        published_per_s=mean([row.published_per_s for row in load]),
        delivered_per_s=mean([row.delivered_per_s for row in load]),
        waiting=most([waiting(row) for row in load]),
        share=share[0],
        fair_share=share[1],
        deaths=sum(row.deaths for row in flapping),
        restarts=sum(row.restarts for row in flapping),
        machine=next((row.machine for row in sorted(load, key=_begins, reverse=True) if row.machine), None),
    )


def _begins(row: Load) -> datetime:
    return row.bucket_at


def fair_shares(balance: Sequence[Quality]) -> dict[str, tuple[float, float]]:
    """Return for each candidate its share of all balanced messages, and the share due to its capacity.

    The result is empty without balanced messages, and omits candidates whose shares are 0.
    """
    totals: dict[tuple[str, str], int] = {}
    for row in balance:
        totals[row.whose] = totals.get(row.whose, 0) + row.chosen
    everything = sum(totals.values())
    if not everything:
        return {}
    shares: dict[str, tuple[float, float]] = {}
    for row in balance:
        got, fair = shares.get(row.node, (0.0, 0.0))
        due = totals[row.whose] * (row.capacity_share or 0)
        shares[row.node] = got + row.chosen / everything, fair + due / everything
    return {node: (got, fair) for node, (got, fair) in shares.items() if got or fair}


def alive(spans: Iterable[Span]) -> tuple[tuple[datetime, int], ...]:
    """Return each moment at which the number of living nodes changes, with the new number.

    Moments are exact, because buckets would hide a node that was dead for less than one bucket. A node whose
    lives overlap counts once.
    """
    turns: defaultdict[datetime, list[tuple[str, int]]] = defaultdict(list)
    for node, since, until in spans:
        turns[since].append((node, 1))
        turns[until].append((node, -1))
    lives: Counter[str] = Counter()
    changes: list[tuple[datetime, int]] = []
    for when in sorted(turns):
        for node, change in turns[when]:
            lives[node] += change
        number = sum(of_node > 0 for of_node in lives.values())
        if number != (changes[-1][1] if changes else 0):
            changes.append((when, number))
    return tuple(changes)
