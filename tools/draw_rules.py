"""Examples that define the master of a message: the tests check them, and docs/routing.md shows them.

python -m tools.draw_rules [--check] [--page FILE]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mesh.mapping.filters import Filter
from mesh.mapping.rules import ANY, DOMAIN, EXACT, FILTER, PATTERN, XPATH, KeyRule, Rule

PAGE = Path(__file__).resolve().parent.parent / "docs" / "routing.md"
BEGIN, END = (f"<!-- drawn by tools/draw_rules.py: {word} -->" for word in ("begin", "end"))
SHORT, LOOSE = Filter("ContentLength", "8000"), Filter("ContentGlob", "*loose*")
XML = Filter("ContentType", "text/xml")


@dataclass(frozen=True)
class Message:
    """A message as a filter sees it."""

    key: str
    domain: str = ""
    xml: str = ""
    content: bytes = b"won"
    type: str = ""

    def header(self, name: str) -> str | None:
        return (self.type or None) if name == "content-type" else None

    def __str__(self) -> str:
        said = [
            f"`{self.key}`",
            f"in {self.domain}" if self.domain else "in no domain",
            f"with `{self.xml}`" if self.xml else "",
            f"{len(self.content):,} bytes" if len(self.content) > 99 else "",
            f"“{self.content.decode()}”" if 99 > len(self.content) != 3 else "",
            f"of {self.type}" if self.type else "",
        ]
        return ", ".join(filter(None, said))


@dataclass(frozen=True)
class Case:
    """An example: rules for some nodes, a message, and its masters.

    Without masters, each node is master for its own clients.
    """

    rules: tuple[tuple[str, KeyRule], ...]
    message: Message
    masters: tuple[str, ...]

    def given(self) -> tuple[Rule, ...]:
        """Return the rules, one for each (node, key rule)."""
        return tuple(Rule(node, given=(key,)) for node, key in self.rules)

    def row(self) -> str:
        rules = "; ".join(f"{node}: {_said(key)}" for node, key in self.rules)
        return f"| {rules} | {self.message} | {' and '.join(self.masters) or 'none'} |"


def _said(key: KeyRule) -> str:
    return "*" if key == KeyRule(ANY) else str(key).replace("|", "\\|")


def heron(kind: str, text: str = "", *filters: Filter) -> tuple[str, KeyRule]:
    return "heron", KeyRule(kind, text, filters)


def avalon(kind: str, text: str = "", *filters: Filter) -> tuple[str, KeyRule]:
    return "avalon", KeyRule(kind, text, filters)


STOCK, LONG, CAT = "<STOCK name='IBM'/>", b"x" * 8000, b"the cat is loose"
EXAMPLES = (
    Case((heron(EXACT, "radar.track"), avalon(DOMAIN, "RADAR")), Message("radar.track", "RADAR"), ("heron",)),
    Case((heron(EXACT, "radar.track"), avalon(DOMAIN, "RADAR")), Message("radar.log", "RADAR"), ("avalon",)),
    Case((heron(EXACT, "radar.track"), avalon(XPATH, "//STOCK")), Message("radar.track", "", STOCK),
         ("heron",)),
    Case((heron(XPATH, "//STOCK"), avalon(DOMAIN, "NEWS")), Message("ibm", "NEWS", STOCK), ("heron",)),
    Case((heron(XPATH, "//STOCK"), avalon(DOMAIN, "NEWS")), Message("ibm", "NEWS"), ("avalon",)),
    Case((heron(XPATH, "//STOCK"), avalon(PATTERN, "stock/#")), Message("stock/ibm", "", STOCK), ("heron",)),
    Case((heron(XPATH, "//key[@oid='ibm']"), avalon(ANY)), Message("ibm", "NEWS"), ("heron",)),
    Case((heron(XPATH, "//STOCK"), avalon(XPATH, "//STOCK[@name='IBM']")), Message("ibm", "", STOCK),
            ("heron", "avalon")),
    Case((heron(PATTERN, "stock/#"), avalon(DOMAIN, "NEWS")), Message("stock/ibm", "NEWS"), ("heron",)),
    Case((heron(DOMAIN, "NEWS"), avalon(ANY)), Message("today", "NEWS"), ("heron",)),
    Case((heron(DOMAIN, "NEWS"), avalon(ANY)), Message("today", "SPORTS"), ("avalon",)),
    Case((heron(DOMAIN, "NEWS"), avalon(DOMAIN, "NEWS")), Message("today", "NEWS"), ("heron", "avalon")),
    Case((heron(DOMAIN, "NEWS"), avalon(FILTER, "", LOOSE)), Message("today", "NEWS", "", CAT),
            ("heron",)),
    Case((heron(FILTER, "", LOOSE), avalon(ANY)), Message("today", "NEWS", "", CAT), ("heron",)),
    Case((heron(FILTER, "", LOOSE), avalon(ANY)), Message("today", "NEWS"), ("avalon",)),
    Case((heron(FILTER, "", LOOSE),), Message("today", "", "", CAT), ("heron",)),
    Case((heron(EXACT, "radar.track"), heron(XPATH, "//STOCK"), heron(FILTER, "", SHORT)), Message("today"),
            ("heron",)),
    Case((heron(FILTER, "", SHORT), avalon(ANY)), Message("today", "NEWS", "", LONG), ("avalon",)),
    Case((heron(DOMAIN, "NEWS", SHORT), avalon(ANY)), Message("today", "NEWS"), ("heron",)),
    Case((heron(DOMAIN, "NEWS", SHORT), avalon(ANY)), Message("today", "NEWS", "", LONG), ("avalon",)),
    Case((heron(DOMAIN, "NEWS", SHORT, XML), avalon(ANY)), Message("today", "NEWS"), ("avalon",)),
    Case((heron(DOMAIN, "NEWS", SHORT, XML), avalon(ANY)), Message("today", "NEWS", type="text/xml"),
         ("heron",)),
    Case((heron(EXACT, "today", LOOSE), avalon(DOMAIN, "NEWS")), Message("today", "NEWS"), ("avalon",)),
    Case((heron(ANY),), Message("today"), ()),
    Case((heron(ANY),), Message("today", "queue/jobs"), ()),
    Case((heron(DOMAIN, "NEWS"),), Message("today", "SPORTS"), ()),
)  # fmt: skip


def table() -> str:
    head = ["| the rules of | a message | its masters |", "| --- | --- | --- |"]
    return "\n".join([*head, *(example.row() for example in EXAMPLES)])


def drawn(page: str) -> str:
    """Return the page with everything between the marks replaced.

    Raises ValueError if a mark is missing.
    """
    before, _ = page.split(BEGIN)
    _, after = page.split(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools.draw_rules", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is out of date")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    old = options.page.read_text()
    new = drawn(old)
    if options.check and new != old:
        print(f"{options.page} is out of date. Type: python -m tools.draw_rules", file=sys.stderr)
        return 1
    if not options.check:
        options.page.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
