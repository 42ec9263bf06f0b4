"""Findings about links and clocks, and about missing data."""

from collections.abc import Iterator
from datetime import timedelta

from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, decimal, duration, listed, percent, spoken
from mesh.history.report.findings.finding import NOTE, WARN, Finding
from mesh.history.report.machines import labels
from mesh.history.report.node_rows import Clock
from mesh.history.report.sampling import median, most

CLOCK_S = 2.0  # tolerance of the views
WELL_LINKED, FAR_MS, FARTHER = 0.95, 20, 5
SILENT_S = 60


def links(facts: Facts) -> Iterator[Finding]:
    known = [(link.logged_in_share, link) for link in facts.links if link.logged_in_share is not None]
    loose = [(share, link) for share, link in known if share < WELL_LINKED and link.lost]
    for share, link in sorted(loose, key=lambda row: row[0])[:1]:
        more = f" {counted(len(loose) - 1, 'more link')} like it." if loose[1:] else ""
        text = (
            f"The link from {link.observer} to {link.node} was lost "
            f"{counted(link.lost, 'time')}, and up for {percent(share, 1)} of the time.{more}"
        )
        yield Finding(WARN, text, "links")
    typical = median([link.rtt_median_ms for link in facts.links]) or 0.0
    far = [link for link in facts.links if (link.rtt_median_ms or 0) >= max(FAR_MS, FARTHER * typical)]
    for link in sorted(far, key=lambda link: -(link.rtt_median_ms or 0))[:1]:
        more = f" {counted(len(far) - 1, 'more link')} like it." if far[1:] else ""
        text = (
            f"The round trip from {link.observer} to {link.node} takes "
            f"{decimal(link.rtt_median_ms)} ms, elsewhere {decimal(typical)} ms.{more}"
        )
        yield Finding(NOTE, text, "links")


def clocks(facts: Facts) -> Iterator[Finding]:
    off = sorted(wrong_clocks(facts), key=lambda clock: -abs(clock.skew_s))
    names = labels(facts, [clock.node for clock in off])
    if len(names) == 1:
        side = "ahead" if off[0].skew_s > 0 else "behind"
        text = f"The clock of {names[0]} is {duration(abs(off[0].skew_s))} {side}"
    elif off:
        text = f"The clocks of {listed(names)} are off, by up to {duration(abs(off[0].skew_s))}"
    if off:
        yield Finding(WARN, f"{text}. The times in this report are corrected.", "clocks")


def wrong_clocks(facts: Facts) -> list[Clock]:
    """Return the clocks that are off by more than the tolerance of the views."""
    return [clock for clock in facts.clocks if abs(clock.skew_s) > CLOCK_S]


def missing(facts: Facts) -> Iterator[Finding]:
    lost = sum(row.states_lost for row in facts.coverage)
    if lost:
        worst = max(facts.coverage, key=lambda row: row.states_lost)
        are = "is" if lost == 1 else "are"
        text = f"{counted(lost, 'state')} of nodes {are} missing here, most of them from {worst.node}."
        yield Finding(NOTE, text, "quality")
    bad = sum(row.rows for row in facts.quarantined)
    if bad:
        worst_reason = max(facts.quarantined, key=lambda row: row.rows)
        text = f"{counted(bad, 'line')} could not be read and {'is' if bad == 1 else 'are'} in quarantine, "
        yield Finding(WARN, f"{text}most often because: {worst_reason.reason}.", "quality")
    gap = most([row.gap_s for row in facts.coverage])
    if gap and gap >= max(SILENT_S, 3 * facts.width_s):
        row = max(facts.coverage, key=lambda row: row.gap_s or 0)
        end = spoken(row.gap_at + timedelta(seconds=gap)) if row.gap_at else "-"
        text = f"There is no data from {row.node} for {duration(gap)}, from {spoken(row.gap_at)} to {end}."
        yield Finding(NOTE, text, "quality")
    strange = sum(row.future + row.past for row in facts.coverage)
    if strange:
        have = "has" if strange == 1 else "have"
        rows = counted(strange, "row")
        text = f"{rows} {have} a time later than now or before 2020: a clock that was not set."
        yield Finding(NOTE, text, "quality")
