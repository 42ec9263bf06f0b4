"""The section about balance."""

from mesh.history.report.charts.by_name import Dots, dots
from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, decimal, duration, number, percent
from mesh.history.report.markup import Html
from mesh.history.report.message_rows import Counter, Quality
from mesh.history.report.node_rows import Node
from mesh.history.report.sections.section import Section, drawn, nothing, worst

HOW = (
    "A message that several nodes can accept goes to one of them. While both are up, a node "
    "with twice the idle cores should be chosen twice as often: its share of the choices (●) "
    "should equal its share of the capacity (◇), both in %. The variation is 0 where they "
    "are equal everywhere; check values above 0.25."
)
DRAWN = 30  # nodes; if there are more, the most uneven
OBSERVERS = (
    "Balanced by",
    "Largest deviation",
    "Its share",
    "Its share of the capacity",
    "Candidates",
    "Choices",
    "Variation",
    "Answers",
    "Mean reply time",
)
COUNTERS = (
    "Sent by",
    "Sent to",
    "Stopped cleanly",
    "Start",
    "Sent",
    "Chosen",
    "Asked",
    "Answered",
    "Reply time",
)


def balance(facts: Facts) -> Section:
    """Return the section with shares against capacity, and the counters."""
    return Section("balance", "Balance", HOW, Html(_shares(facts) + _observers(facts) + _counters(facts)))


def _shares(facts: Facts) -> Html:
    nodes = [node for node in facts.nodes if node.share is not None]
    if not nodes:
        return nothing("No balancer had a choice: each message could go to one node only.")
    are_some = len(nodes) > DRAWN
    nodes = sorted(sorted(nodes, key=_off)[:DRAWN], key=lambda node: -(node.share or 0))
    title = "Share of the choices and of the capacity"
    if are_some:
        title += f", of the {DRAWN} nodes with the largest deviation"
    rows = {
        "of the choices": Dots([100 * (node.share or 0) for node in nodes]),
        "of the capacity": Dots([100 * (node.fair_share or 0) for node in nodes]),
    }
    told = [f"{n.name} {percent(n.share, 1)} with {percent(n.fair_share, 1)} of the capacity" for n in nodes]
    text = f"{title}: {'; '.join(told)}."
    return drawn("shares", title, dots([node.name for node in nodes], rows, "%"), text)


def _off(node: Node) -> float:
    return -abs((node.share or 0) - (node.fair_share or 0))


def _observers(facts: Facts) -> Html:
    groups: dict[tuple[str, str], list[Quality]] = {}
    for row in facts.balance:
        groups.setdefault(row.whose, []).append(row)
    rows = [rows for rows in groups.values() if any(row.chosen for row in rows)]
    rows.sort(key=lambda rows: -(rows[0].chosen_variation or 0))
    caption = "Evenness of balancers, the least even first"
    return worst(caption, OBSERVERS, [_observer(group) for group in rows], 2) if rows else Html()


def _observer(rows: list[Quality]) -> tuple[str, ...]:
    far = max(rows, key=lambda row: abs((row.chosen_ratio or 0) - 1))
    answers = sum(row.answered for row in rows)
    took = sum(row.answered * (row.latency_ms or 0) / 1000 for row in rows)
    return (
        far.observer,
        far.node,
        percent(far.chosen_share, 1),
        percent(far.capacity_share, 1),
        number(len(rows)),
        number(sum(row.chosen for row in rows)),
        decimal(far.chosen_variation),
        number(answers),
        duration(took / answers if answers else None),
    )


def _counters(facts: Facts) -> Html:
    told = [row for row in facts.counters if row.sent or row.chosen or row.asked]
    if not told:
        return nothing("No node has forwarded messages to another.")
    cut = sum(not clean for clean in {(r.observer_uuid, r.observer_boot): r.clean for r in told}.values())
    caption = "Counters of each boot of a node, to its end; exact after a clean stop"
    note = (
        nothing(f"{counted(cut, 'boot')} had no clean end (yet): the last ten seconds may be missing.")
        if cut
        else Html()
    )
    return Html(worst(caption, COUNTERS, [_counter(row) for row in _largest(told)], 3, shown=20) + note)


def _largest(rows: list[Counter]) -> list[Counter]:
    given: dict[tuple[str, int], int] = {}
    for row in rows:
        key = row.observer_uuid, row.observer_boot
        given[key] = given.get(key, 0) + row.sent + row.asked
    return sorted(
        rows, key=lambda row: (-given[row.observer_uuid, row.observer_boot], row.observer, -row.sent)
    )


def _counter(row: Counter) -> tuple[str, ...]:
    return (
        row.observer,
        row.node,
        "yes" if row.clean else "no",
        number(row.observer_boot),
        number(row.sent),
        number(row.chosen),
        number(row.asked),
        number(row.answered),
        duration(row.seconds),
    )
