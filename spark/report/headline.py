"""Title of a report, and the figures at its top."""

from collections import Counter
from dataclasses import dataclass

from mesh.history.report.facts import Facts, Series, Values
from mesh.history.report.figures import counted, decimal, duration, moment, number, percent
from mesh.history.report.sampling import mean, median, most

ENDS = {  # by end of the last life
    "there": "alive at the end",
    "stopped": "stopped cleanly",
    "left": "left",
    "dead": "dead",
    "silent": "silent",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its label and an explanation.

    `is_text` means that the value is a word, such as a node's name.
    """

    label: str
    value: str
    note: str
    is_text: bool = False


def name(facts: Facts) -> str:
    return f"Mesh {', '.join(facts.clusters)}" if facts.clusters else "A mesh without data"


def span(facts: Facts) -> str:
    """Return the period of the report and its length, or "no time" if it is unknown."""
    if facts.since is None or facts.until is None:
        return "no time"
    long = duration((facts.until - facts.since).total_seconds())
    return f"{moment(facts.since)} to {moment(facts.until)} UTC ({long})"


def headline(facts: Facts) -> list[Figure]:
    """Return the figures, always the same ones in the same order."""
    return [_nodes(facts), _deaths(facts), _noticed(facts), _missing(facts), _busiest(facts), _carried(facts)]


def _nodes(facts: Facts) -> Figure:
    ends = Counter(life.ended for life in facts.last_lives.values())
    told = [f"{ends[end]:,} {words}" for end, words in ENDS.items() if ends[end]]
    return Figure("Nodes", number(len(facts.nodes)), ", ".join(told) or "no node was alive")


def _deaths(facts: Facts) -> Figure:
    deaths, restarts = (sum(getattr(row, what) for row in facts.flapping) for what in ("deaths", "restarts"))
    alarms = sum(row.how == "dead" and row.lived_on for row in facts.detections)
    note = f"of which false: {alarms:,}; " if alarms else ""
    return Figure("Deaths", number(deaths), note + counted(restarts, "restart"))


def _noticed(facts: Facts) -> Figure:
    real = [row for row in facts.detections if row.how == "dead" and not row.lived_on]
    firsts, lasts = [row.first_s for row in real], [row.final_s for row in real]
    if median(firsts) is None:
        note = "their last states are outside this time" if real else "no deaths"
        return Figure("Deaths noticed after", "-", note)
    note = f"median; at most {duration(most(lasts))} until all observers noticed"
    return Figure("Deaths noticed after", duration(median(firsts)), note)


def _missing(facts: Facts) -> Figure:
    lost = sum(row.states_lost for row in facts.coverage)
    bad = sum(row.rows for row in facts.quarantined)
    return Figure("Lines missing", number(lost + bad), f"{number(lost)} lost, {number(bad)} in quarantine")


def _busiest(facts: Facts) -> Figure:
    for node in facts.nodes[:1]:
        note = f"load {decimal(node.load_share)} of 1, cpu {percent(node.cpu_percent)} on average"
        return Figure("Busiest node", node.name, note, is_text=True)
    return Figure("Busiest node", "-", "no node has reported its load")


def _carried(facts: Facts) -> Figure:
    accepted, delivered = (
        mean(_together(facts.series[what])) for what in ("published_per_s", "delivered_per_s")
    )
    return Figure(
        "Messages a second", decimal(accepted), f"accepted by their masters; {decimal(delivered)} delivered"
    )


def _together(rows: Series) -> Values:
    """Return the sum over all nodes at each time.

    Means of nodes with different periods cannot be added.
    """
    columns = (
        [value for value in column if value is not None] for column in zip(*rows.values(), strict=True)
    )
    return tuple(sum(known) if known else None for known in columns)
