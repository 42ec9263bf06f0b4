"""Draws the state tables into docs; --check fails if a page is out of date.

python -m tools.draw_states [--check] [--page FILE]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from mesh.kernel.peers import reach
from mesh.kernel.peers.reach_table import REACH_TABLE, ReachState
from mesh.links.backoff import Timing
from mesh.links.table import LINK_TABLE, LinkState

DOCS = Path(__file__).resolve().parent.parent / "docs"
MARK = "<!-- drawn from {} by tools/draw_states.py: {} -->"
Table = Mapping[Any, Mapping[Any, tuple[Enum, Sequence[Enum]]]]


@dataclass(frozen=True)
class Drawing:
    """A state table, the code that has it (`what`), the page that shows it, and its waiting times."""

    page: str
    what: str
    table: Table
    first: Enum  # the initial state
    waits: Callable[[], list[tuple[str, str]]]

    @property
    def marks(self) -> tuple[str, str]:
        return MARK.format(self.what, "begin"), MARK.format(self.what, "end")

    def picture(self) -> list[str]:
        """Return the table as a Mermaid diagram: an arrow for each pair of states, with its events."""
        lines = ["```mermaid", "stateDiagram-v2"]
        lines += [f'    state "{state.value}" as {state.name}' for state in self.table]
        lines.append(f"    [*] --> {self.first.name}")
        for state, row in self.table.items():
            for target in self.table:
                events = [event.name for event, (next_state, _) in row.items() if next_state is target]
                if events:
                    lines.append(f"    {state.name} --> {target.name} : {', '.join(events)}")
        return [*lines, "```"]

    def cell(self, state: Enum, event: Enum) -> str:
        if event not in self.table[state]:
            return "cannot happen"
        target, actions = self.table[state][event]
        move = "stays" if target is state else f"→ **{target.value}**"
        return f"{move}: {', '.join(action.name for action in actions)}" if actions else move

    def cells(self) -> list[str]:
        """Return the table as Markdown: a row for each event, a column for each state."""
        lines = [f"| event | what happened | {' | '.join(state.value for state in self.table)} |"]
        lines.append("| --- " * (2 + len(self.table)) + "|")
        for event in type(next(iter(self.table[self.first]))):
            row = [event.name, event.value, *(self.cell(state, event) for state in self.table)]
            lines.append(f"| {' | '.join(row)} |")
        return lines

    def actions(self) -> list[str]:
        used = (action for row in self.table.values() for _, actions in row.values() for action in actions)
        rows = [f"| {action.name} | {action.value} |" for action in type(next(used))]
        return ["| action | what is done |", "| --- | --- |", *rows]

    def timings(self) -> list[str]:
        return [
            "| wait | seconds |",
            "| --- | --- |",
            *(f"| {what} | {wait} |" for what, wait in self.waits()),
        ]

    def drawn(self, page: str) -> str:
        """Return the page with everything between the marks replaced.

        Raises ValueError if a mark is missing.
        """
        begin, end = self.marks
        before, _ = page.split(begin)
        _, after = page.split(end)
        parts = [
            self.picture(),
            ["### Cell by cell"],
            self.cells(),
            ["### Actions"],
            self.actions(),
            ["### Waiting"],
            self.timings(),
        ]
        body = "\n\n".join("\n".join(part) for part in parts)
        return f"{before}{begin}\n\n{body}\n\n{end}{after}"


def of_links() -> list[tuple[str, str]]:
    t = Timing()
    bound = f"a bound that doubles each time, from {2 * t.low:g} to {t.high:g}"
    return [
        ("before dialing again", f"chosen at random between {t.low:g} and {bound}"),
        (
            "before dialing a peer again that refused the link",
            f"{t.rare:g}, doubled each time up to {t.rarest:g}",
        ),
        ("for the answer to a dial, before it counts as DISCONNECTED", f"{t.connect_limit:g}"),
        ("of a login, after which the next backoff starts again at the lowest delay", f"{t.settled:g}"),
    ]


def of_reach() -> list[tuple[str, str]]:
    t = Timing()
    return [
        ("SOON", f"{reach.HEAD_START:g}"),
        ("before the next address of a node is dialed in parallel", f"{reach.STAGGER:g}"),
        ("RETRY", f"as for links, {reach.SHORT_WAIT:g} at most"),
        ("BACK_OFF", f"as for links in the first {reach.SHORT - 1} failed dials, later {t.high:g} at most"),
        ("RETRY_RARELY", f"{t.high:g}"),
    ]


DRAWINGS = (
    Drawing("links.md", "mesh/links", LINK_TABLE, LinkState.POLLING, of_links),
    Drawing("links.md", "mesh/kernel/peers", REACH_TABLE, ReachState.AWAY, of_reach),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Draw the state tables into the pages.")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if out of date")
    parser.add_argument("--page", type=Path, help="path of a page with the name of one in docs, to draw into")
    options = parser.parse_args(arguments)
    code = 0
    for drawing in DRAWINGS:
        page = options.page or DOCS / drawing.page
        if page.name != drawing.page:
            continue
        old = page.read_text(encoding="utf-8")
        new = drawing.drawn(old)
        if not options.check:
            page.write_text(new, encoding="utf-8")
        elif new != old:
            print(f"{page} is out of date. Type: python -m tools.draw_states", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
