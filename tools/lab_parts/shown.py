"""The tables at the end of the runs `soak`, `queues`, `services`, `sites` and `visits`."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table

from tools.lab_parts.ledger import Count
from tools.lab_parts.queue_ledger import WRONG as QUEUES_WRONG
from tools.lab_parts.queue_soak import QueuePlan, QueueResult
from tools.lab_parts.service_ledger import WRONG as SERVICES_WRONG
from tools.lab_parts.service_ledger import figures
from tools.lab_parts.service_soak import ServicePlan, ServiceResult
from tools.lab_parts.site_soak import SitePlan, SiteResult
from tools.lab_parts.soak import Plan, Result
from tools.lab_parts.visit_soak import VisitPlan, VisitResult, percentile


def queues_shown(plan: QueuePlan, result: QueueResult) -> Table:
    table = _table(f"queues, seed {plan.seed}", _happened(result.faults, result.log), "messages")
    wrong = {name: [anomaly.what for anomaly in found] for name, found in result.anomalies.items()}
    return _in_columns(
        table, {name: book.figures() for name, book in result.books.items()}, wrong, QUEUES_WRONG
    )


def services_shown(plan: ServicePlan, result: ServiceResult) -> Table:
    table = _table(f"services, seed {plan.seed}", _happened(result.faults, result.log), "requests")
    wrong = {name: [anomaly.what for anomaly in found] for name, found in result.anomalies.items()}
    return _in_columns(
        table, {name: figures(book) for name, book in result.books.items()}, wrong, SERVICES_WRONG
    )


def _happened(faults: Mapping[str, int], log: str) -> str:
    caption = "; ".join(f"{what} {times:,}" for what, times in sorted(faults.items())) or "no faults"
    return f"{caption}; logs: {log}" if log else caption


def _in_columns(
    table: Table,
    found: Mapping[str, Mapping[str, int]],
    wrong: Mapping[str, Sequence[str]],
    kinds: Sequence[str],
) -> Table:
    """Add a column for each queue or address, with its figures and the number of errors of each kind."""
    rows: dict[str, list[int]] = {}
    for name, numbers in found.items():
        table.add_column(name, justify="right")
        mistakes = Counter(wrong[name])
        for what, n in (*numbers.items(), *((what, mistakes[what]) for what in kinds)):
            rows.setdefault(what, []).append(n)
    for what, each in rows.items():
        table.add_row(what, *(f"{n:,}" for n in each))
    return table


def _table(title: str, caption: str, first: str) -> Table:
    table = Table(title=title, caption=caption, box=box.SIMPLE, title_justify="left", caption_justify="left")
    table.add_column(first)
    return table


def soak_shown(plan: Plan, result: Result) -> Table:
    faults = ", ".join(f"row {row} {times} times" for row, times in sorted(result.faults.items())) or "none"
    caption = f"{result.answered:,} answered, {result.refused:,} refused; faults: {faults}"
    if result.dropped:
        caption += f"; {result.dropped:,} dropped, and the subscriber was told"
    if result.log:
        caption += f"; logs: {result.log}"
    return _counted(f"soak, seed {plan.seed}", caption, result.counts)


def sites_shown(plan: SitePlan, result: SiteResult) -> Table:
    faults = ", ".join(f"{what} {times} times" for what, times in sorted(result.faults.items()))
    caption = f"{result.answered:,} answered; killed: {faults}"
    if result.log:
        caption += f"; logs: {result.log}"
    return _counted(f"sites, seed {plan.seed}", caption, result.counts)


def visits_shown(plan: VisitPlan, result: VisitResult) -> Table:
    errors = ", ".join(f"{what} {times} times" for what, times in sorted(result.errors.items())) or "none"
    caption = f"{result.acknowledged:,} acknowledged; errors: {errors}"
    table = _table(f"visits, seed {plan.seed}", caption, "figure")
    table.add_column("", justify="right")
    what, paused = ("drain", "longest pause") if plan.drains else ("kill", "served again after")
    table.add_row(f"{what}s", f"{plan.kills:,}")
    table.add_row(f"clients of {what}ed nodes", f"{len(result.waits):,}")
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        table.add_row(f"{paused}, {name}", f"{result.percentile(share):.1f} s")
    for name, seconds in (("before", result.calm), ("meanwhile", result.meanwhile)):
        table.add_row(f"request {name}, p99", f"{1000 * percentile(seconds, 0.99):.0f} ms")
    table.add_row("delay of the clients' process, p99", f"{result.delay:.1f} s")
    table.add_row("late, with the mark", f"{result.late:,}")
    for what, count in result.anomalies.items():
        table.add_row(what, f"{count:,}")
    return table


def _counted(title: str, caption: str, counts: Mapping[str, Count]) -> Table:
    table = _table(title, caption, "subscriber at")
    for column in ("owed", "lost", "doubled", "out of order"):
        table.add_column(column, justify="right")
    for name, count in counts.items():
        table.add_row(name, *(f"{n:,}" for n in (count.owed, count.lost, count.doubled, count.disordered)))
    return table
