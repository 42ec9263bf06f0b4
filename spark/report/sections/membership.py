"""The sections about membership, and about the detection of deaths."""

from collections import Counter
from datetime import datetime

from mesh.history.report import assembling
from mesh.history.report.charts.over_time import Bar, points, spells, steps
from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, decimal, duration, number, second
from mesh.history.report.markup import Html
from mesh.history.report.node_rows import Detection, Life
from mesh.history.report.sampling import most, quantile
from mesh.history.report.sections.section import Section, axis, drawn, nothing, worst

HOW_LIVES = (
    "A bar is one life of a node, from its first state to its last (times in UTC); the mark "
    "shows how it ended. A node that comes and goes makes other nodes move its work each "
    "time."
)
HOW_SOON = (
    "Time from a node's last state until the first and the last observer noticed its end. A node sends a "
    "state every two seconds, so it may have lived for up to two seconds of this time."
)
DRAWN = 40  # nodes
ENDS = {
    "dead": ("x", "dead"),
    "silent": ("triangle-up", "dead"),
    "replaced": ("diamond", "suspect"),
    "left": ("square", "left"),
    "stopped": ("circle", "left"),
}
RESTLESS = ("Node", "Deaths", "Restarts", "Suspicions", "Refuted", "Alive for", "Changes an hour")
DEATHS = ("Node", "How", "First observer", "When", "First after", "Last after", "Observers")


def membership(facts: Facts) -> Section:
    """Return the section with lives and flapping."""
    return Section(
        "membership", "Membership", HOW_LIVES, Html(_alive(facts) + _lives(facts) + _flapping(facts))
    )


def _alive(facts: Facts) -> Html:
    span = axis(facts).span
    if not span:
        return Html()
    lives = ((life.node, life.first_at, _end(life, span[1])) for life in facts.lives)
    # A node that is alive at the end of the chart has not ended.
    changes = [(when, count) for when, count in assembling.alive(lives) if when < span[1]]
    if not changes:
        return Html()
    counts = [count for _, count in changes]
    text = f"Nodes alive: at most {number(most(counts))}, at the end {number(counts[-1])}."
    return drawn("alive", "Nodes alive", steps(span, changes, "nodes"), text)


def _end(life: Life, until: datetime | None) -> datetime:
    """Return the time of the last sign of life, or at least `until` if the node is still alive."""
    return max(until or life.last_at, life.last_at) if life.ended == "there" else life.last_at


def _lives(facts: Facts) -> Html:
    lives: dict[str, list[Life]] = {}
    for life in facts.lives:
        lives.setdefault(life.node, []).append(life)
    if not lives:
        return nothing("No node was seen.")
    eventful = [name for name, of_node in lives.items() if [life.ended for life in of_node] != ["there"]]
    steady = len(lives) - len(eventful)
    said = nothing(_steady(steady, len(lives))) if steady else Html()
    shown = (
        list(lives) if len(lives) <= DRAWN else sorted(eventful, key=lambda name: -len(lives[name]))[:DRAWN]
    )
    if not shown:
        return said
    bars = [
        Bar(life.node, life.first_at, _end(life, facts.until), "" if life.ended == "there" else life.ended)
        for name in shown
        for life in lives[name]
    ]
    ends = Counter(bar.end for bar in bars if bar.end)
    title = "Lives of the nodes"
    if len(shown) < len(eventful):
        title += f" with the most changes, and {len(eventful) - len(shown):,} more"
    told = ", ".join(f"{number} {end}" for end, number in ends.items())
    many = f"{counted(len(bars), 'life', 'lives')} of {counted(len(shown), 'node')}"
    text = f"{title}: {many}. Ends: {told or 'none'}."
    return Html(
        said
        + drawn(
            "lives",
            title,
            spells(axis(facts).span, bars, {end: ENDS[end] for end in ENDS if end in ends}),
            text,
        )
    )


def _steady(steady: int, everybody: int) -> str:
    if steady < everybody:
        who = f"{counted(steady, 'node')} of {everybody:,} {'was' if steady == 1 else 'were'}"
    else:
        who = "The only node was" if everybody == 1 else f"All {everybody:,} nodes were"
    return f"{who} up at the end, and never restarted."


def _flapping(facts: Facts) -> Html:
    rows = [row for row in facts.flapping if row.deaths or row.restarts or row.suspicions]
    if not rows:
        return nothing("No node flapped: no death, restart or suspicion.")
    rows.sort(key=lambda row: (-(row.deaths + row.restarts), -row.suspicions))
    return worst(
        "Most restless nodes",
        RESTLESS,
        [
            (
                row.node,
                number(row.deaths),
                number(row.restarts),
                number(row.suspicions),
                number(row.refutations),
                duration(3600 * row.seen_hours),
                decimal(row.changes_per_hour),
            )
            for row in rows
        ],
    )


def detection(facts: Facts) -> Section:
    """Return the section about the time until deaths and departures were noticed."""
    return Section("detection", "Detection of deaths", HOW_SOON, _detection(facts))


def _detection(facts: Facts) -> Html:
    if not facts.detections:
        return nothing("No node died or left.")
    deaths = [row for row in facts.detections if row.how == "dead"]
    real = [row for row in deaths if not row.lived_on]
    goodbyes = counted(len(facts.detections) - len(deaths), "goodbye")
    said = [
        f"{counted(len(deaths), 'death')} noticed, and {goodbyes}.",
        f"Of these deaths {counted(len(deaths) - len(real), 'was', 'were')} false: the node was alive."
        if len(real) < len(deaths)
        else "",
    ]
    rows = {
        sort: [(row.first_at, value, row.node) for row in real if (value := getattr(row, field)) is not None]
        for sort, field in (("first observer", "first_s"), ("last observer", "final_s"))
    }
    chart = Html()
    if any(rows.values()):
        text = "; ".join(f"{sort} after {_spread([v for _, v, _ in of])}" for sort, of in rows.items() if of)
        title = "Time from the last state until observers noticed"
        chart = drawn("detection", title, points(axis(facts).span, rows, "seconds"), f"{title}: {text}.")
    slowest = sorted(facts.detections, key=lambda row: (row.lived_on, -(row.final_s or 0)))
    caption = "Deaths and departures, the slowest detection first"
    return Html(nothing(" ".join(said)) + chart + worst(caption, DEATHS, [_death(row) for row in slowest], 3))


def _spread(values: list[float]) -> str:
    return f"median {duration(quantile(values, 0.5))}, at most {duration(most(values))}"


def _death(row: Detection) -> tuple[str, ...]:
    how = "left" if row.how == "left" else "was alive" if row.lived_on else "died"
    return (
        row.node,
        how,
        row.first_observer,
        second(row.first_at),
        duration(row.first_s),
        duration(row.final_s),
        counted(row.observers, "node"),
    )
