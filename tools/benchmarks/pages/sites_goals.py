"""Goals between sites: figures, bytes on the wire, and ratios to those of peers."""

from tools.benchmarks.pages.goal import Goal
from tools.benchmarks.sites.rows import CASES, bytes_of, rate_of, ratio_of

MOST_BYTES = 1.1  # on the wire, relative to 1 KiB contents


def _goals() -> dict[str, Goal]:
    goals = {}
    for name, case in CASES.items():
        for who in case.who:
            limit = MOST_BYTES if who == case.who[0] and case.size == 1024 else None
            text = f"to another site, 40 ms and 1 % loss, {case.what}"
            goals[rate_of(name, who)] = Goal(f"{text}: {who}", "msg/s", more=True)
            goals[bytes_of(name, who)] = Goal(f"{text}, on the line: {who}", "of contents", limit)
        for theirs in case.who[1:]:
            goals[ratio_of(name, theirs)] = Goal(f"{text}: of {theirs}", "of 1", 1.0, more=True)
    return goals


SITE_GOALS = _goals()
