"""Checks drains of nodes, and clients that full nodes send to other ones."""

from __future__ import annotations

from collections import defaultdict, deque

from tools.simulator.checks.addresses import CALM, calm_of
from tools.simulator.checks.facts import Facts, Violation
from tools.simulator.history import Event, History

ENDS = 60.0  # s without faults in which a drain ends
NAMELESS = 3  # answers in a row that name nothing, until the drain counts as stuck
MOST = 12  # dials of one address,
WITHIN = 1.0  # in so many s


def ends_or_names(history: History, facts: Facts) -> list[Violation]:
    """SE10: a drain ends or names the rest, and an empty node has no message.

    Without faults it ends. A node refuses to be drained only if it reaches no other node that stays.
    """
    found, calm = list[Violation](), calm_of(history)
    begun: dict[tuple[str, int], Event] = {}
    nameless: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for e in history.of("drain", "drain refused", "emptied"):
        node = e.who, e.boot
        if e.kind == "emptied" and e.stamp:
            found.append(Violation("SE10", f"it is empty, and has {e.stamp} messages", (e,)))
        elif e.kind == "drain refused" and e.keys and calm.was(e.at - CALM, e.at):
            found.append(Violation("SE10", f"{e.text}, and {', '.join(e.keys)} stay", (e,)))
        elif e.kind == "drain" and e.text == "staying":
            begun.pop(node, None)
            nameless.pop(node, None)
        elif e.kind == "drain":
            first = begun.setdefault(node, e)
            rows = nameless[node]
            if e.text == "done" or any(" moves " in f" {row} " for row in e.keys):
                rows.clear()
            elif rows and rows[-1].text != e.text:
                rows[:] = [e]
            elif not rows or e.at > rows[-1].at:  # after a pause, a node answers many questions at once
                rows.append(e)
            if len(rows) == NAMELESS:
                found.append(Violation("SE10", f"it stays in step {e.text}, and names nothing", tuple(rows)))
            if e.text != "done" and e.at - first.at > ENDS and calm.was(e.at, e.at, ENDS):
                found.append(Violation("SE10", f"it is in step {e.text} after {ENDS:.0f} s", (first, e)))
                begun[node] = e
    return found


def served_at_the_end(history: History, facts: Facts) -> list[Violation]:
    """RD1: at the end, a node serves each client that knows several, as together they have room."""
    return [Violation("RD1", "no node serves it", (e,)) for e in history.of("unserved")]


def no_redirect_loops(history: History, facts: Facts) -> list[Violation]:
    """RD2: a client that is refused dials no address again and again."""
    found, last = list[Violation](), dict[tuple[str, str], deque[Event]]()
    for e in history.of("dials"):
        dials = last.setdefault((e.who, e.to), deque(maxlen=MOST))
        if len(dials) == MOST and e.at - dials[0].at < WITHIN:
            found.append(Violation("RD2", f"it dials {e.to} {MOST + 1} times in a second", (dials[0], e)))
            dials.clear()
        dials.append(e)
    return found
