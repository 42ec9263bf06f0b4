"""Figures of the language: docstrings outside the tests that no native engineer would write."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tools.housing.source import ROOT, files

FOLDERS = ("mesh", "discovery", "balancers", "spark", "tools", "examples")
# Openings without a subject, in place of a noun or an imperative.
OPENINGS = frozenset("it what who those somebody nobody whoever which how where whom".split())
WIDE_OPENINGS = frozenset(
    "that these this they them its their one ones such of by so as likewise same else nothing everything "
    "anything none both all another others there then thus therefore because whether".split()
)
PERSONS = re.compile(r"\b(somebody|nobody|anybody|everybody|whoever|whom|he|his|him)\b", re.IGNORECASE)
# "who waits", "what came": a relative clause in place of a noun.
CLAUSES = re.compile(
    r"\b(who|whoever|what) (is|has|was|are|had|does|did|says|said|comes|came|goes|went|takes|took|waits|waited"
    r"|needs|wants|sends|sent|asks|asked|serves|knows|gets|stands|lies|can|may|must|will|would|follows)\b",
    re.IGNORECASE,
)
# The column "not" of the words in the style guide, as far as they have no other meaning here.
HOMEMADE = re.compile(
    r"\b(tells?|told|hears?|heard|word of|words? for|last words?|fates?|said no|parcels?|portions?|lots?|lanes?"
    r"|takers?|letters?|tail-?back|shel(?:f|ves)|desks?|faces?|floors?|in vain|put off|putting off|trials?|void"
    r"|bury|buried|buries|thrown? away|threw away|throws away|no more|on (?:its|their) way|custody|parked"
    r"|stamps?|stories|story|so many|those that|those who|one who|one that|such a one|of these|of those|stock"
    r"|its way|ways|circles?|stands? in|give away|wishes|wish)\b",
    re.IGNORECASE,
)


class Docstring(NamedTuple):
    """A docstring: its file below the root, its line, and its text."""

    file: str
    line: int
    text: str

    @property
    def package(self) -> str:
        """The folder of two levels that it is in, such as `mesh/client`, or `mesh` for its own files."""
        folders = self.file.split("/")[:-1]
        return "/".join(folders[:2])

    @property
    def is_marked(self) -> bool:
        """Whether it opens without a subject, names a person, or has a relative clause as a noun."""
        return self._first in OPENINGS or bool(PERSONS.search(self.text) or CLAUSES.search(self.text))

    @property
    def is_marked_widely(self) -> bool:
        """Whether it is marked, opens with another word without a noun, or has a home-made word."""
        return self.is_marked or self._first in WIDE_OPENINGS or bool(HOMEMADE.search(self.text))

    @property
    def _first(self) -> str:
        return re.sub(r"[^a-z]", "", self.text.split()[0].lower())


def docstrings() -> Iterator[Docstring]:
    """Yield each docstring outside the tests, in the order of the files."""
    for path in files(*FOLDERS):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                if (text := ast.get_docstring(node)) and text.strip():
                    yield Docstring(str(path.relative_to(ROOT)), node.body[0].lineno, text)


def by_package() -> Mapping[str, tuple[int, int, int]]:
    """Return for each package its docstrings, the marked ones, and those of the wider count."""
    found: dict[str, Counter[str]] = {}
    for one in docstrings():
        counts = found.setdefault(one.package, Counter())
        counts["all"] += 1
        counts["marked"] += one.is_marked
        counts["widely"] += one.is_marked_widely
    return {name: (each["all"], each["marked"], each["widely"]) for name, each in sorted(found.items())}


def figures() -> Mapping[str, int]:
    """Return the sums over all packages."""
    counts = list(by_package().values())
    return {
        "docstrings outside tests": sum(each[0] for each in counts),
        "marked docstrings": sum(each[1] for each in counts),
        "marked docstrings, wider count": sum(each[2] for each in counts),
    }
