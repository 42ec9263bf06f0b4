"""What does the link table look like? Draws docs/links.md; --check fails if that page is out of date.

python -m tools.draw_states [--check] [--page FILE]
"""

import argparse
import sys
from pathlib import Path

from mesh.links.backoff import Timing
from mesh.links.table import LINK_TABLE, Action, Event, State

PAGE = Path(__file__).resolve().parent.parent / "docs" / "links.md"
BEGIN = "<!-- drawn from mesh/links by tools/draw_states.py: begin -->"
END = "<!-- drawn from mesh/links by tools/draw_states.py: end -->"


def picture() -> list[str]:
    """The table as a Mermaid diagram: one arrow a pair of states, with the events that lead along it."""
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += [f'    state "{state.value}" as {state.name}' for state in State]
    lines.append("    [*] --> POLLING")
    for state, row in LINK_TABLE.items():
        for target in State:
            events = [event.name for event, (next_state, _) in row.items() if next_state is target]
            if events:
                lines.append(f"    {state.name} --> {target.name} : {', '.join(events)}")
    return [*lines, "```"]


def cell(state: State, event: Event) -> str:
    """What stands in one cell, in words."""
    if event not in LINK_TABLE[state]:
        return "cannot happen"
    target, actions = LINK_TABLE[state][event]
    move = "stays" if target is state else f"→ **{target.value}**"
    return f"{move}: {', '.join(action.name for action in actions)}" if actions else move


def cells() -> list[str]:
    """The table as Markdown: a row an event, a column a state."""
    lines = [f"| event | what happened | {' | '.join(state.value for state in State)} |"]
    lines.append("| --- " * (2 + len(State)) + "|")
    for event in Event:
        row = [event.name, event.value, *(cell(state, event) for state in State)]
        lines.append(f"| {' | '.join(row)} |")
    return lines


def actions() -> list[str]:
    """The actions and what they mean."""
    return ["| action | what is done |", "| --- | --- |", *(f"| {a.name} | {a.value} |" for a in Action)]


def timings() -> list[str]:
    """The waiting times."""
    t = Timing()
    return [
        "| wait | seconds |",
        "| --- | --- |",
        f"| before dialling again | chosen at random between {t.low:g} and a bound that doubles each time, "
        f"from {2 * t.low:g} to {t.high:g} |",
        f"| before asking a peer again that refused us | {t.rare:g}, doubled each time up to {t.rarest:g} |",
        f"| for the answer to a dial, before it counts as DISCONNECTED | {t.connect_limit:g} |",
        f"| that a login must have stood for the next back-off to start anew | {t.settled:g} |",
    ]


def drawn(page: str) -> str:
    """The page with everything between the two marks drawn anew. Raises ValueError if a mark is missing."""
    before, _ = page.split(BEGIN)
    _, after = page.split(END)
    parts = [picture(), ["### Cell by cell"], cells(), ["### Actions"], actions(), ["### Waiting"], timings()]
    body = "\n\n".join("\n".join(part) for part in parts)
    return f"{before}{BEGIN}\n\n{body}\n\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw the link table into docs/links.md.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if out of date")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to draw into")
    options = parser.parse_args()
    old = options.page.read_text(encoding="utf-8")
    new = drawn(old)
    if not options.check:
        options.page.write_text(new, encoding="utf-8")
    elif new != old:
        print(f"{options.page} is out of date. Type: python -m tools.draw_states", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
