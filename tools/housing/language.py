"""Figures of the language: docstrings outside the tests with constructions that CONTRIBUTING forbids."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tools.housing.source import OPEN, ROOT, files

FOLDERS = ("mesh", "discovery", "balancers", "spark", "tools", "examples")
# Further first words without a noun.
HEADLESS = re.compile(
    r"(that|these|this|they|them|its|their|ones?|such|of|by|so|as|likewise|same|else|nothing|everything"
    r"|anything|none|both|all|another|others|there|then|thus|therefore|because|whether)\b",
    re.IGNORECASE,
)
PERSONS = re.compile(r"\b(somebody|nobody|anybody|everybody|whoever|whom|he|his|him)\b", re.IGNORECASE)
# "who waits", "what came": a relative clause in place of a noun.
CLAUSES = re.compile(
    r"\b(who|whoever|what) (is|has|was|are|had|does|did|says|said|comes|came|goes|went|takes|took|waits"
    r"|waited|needs|wants|sends|sent|asks|asked|serves|knows|gets|stands|lies|can|may|must|will|would|follows)\b",
    re.IGNORECASE,
)
# Words of this project for which there are standard terms.
CODE = re.compile(r"`[^`]*`")  # names of arguments and the like
HOMEMADE = re.compile(
    r"\b(tells?|told|hears?|heard|word of|words? for|last words?|fates?|said no|parcels?|portions?|lots?"
    r"|lanes?|takers?|(?<!dead )(?<!dead-)letters?|tail-?back|shel(?:f|ves)|desks?|faces?|floors?|in vain"
    r"|put off|putting off|trials?|void|bury|buried|buries|thrown? away|threw away|throws away|no more"
    r"|on (?:its|their) way"
    r"|custody|parked|stamps?|stories|story|so many|those that|those who|one who|one that|such a one"
    r"|of these|of those|stock|its way|ways|circles?|stands? in|give away|wish(?:es)?)\b",
    re.IGNORECASE,
)


class Docstring(NamedTuple):
    """A docstring: its file below the root, its line, and its text."""

    file: str
    line: int
    text: str

    @property
    def package(self) -> str:
        """The folder of the file, with at most two levels, such as `mesh/client`."""
        return "/".join(self.file.split("/")[:-1][:2])

    @property
    def is_marked(self) -> bool:
        """Whether the text opens without a subject, names a person, or has a relative clause as a noun."""
        first = re.sub(r"[^a-z]", "", self.text.split()[0].lower())
        return first in OPEN or bool(PERSONS.search(self.text) or CLAUSES.search(self.text))

    @property
    def is_marked_widely(self) -> bool:
        """Whether the text is marked, opens with another word without a noun, or has a home-made word."""
        return self.is_marked or bool(HEADLESS.match(self.text) or HOMEMADE.search(CODE.sub("", self.text)))


def docstrings() -> Iterator[Docstring]:
    """Yield each docstring in FOLDERS, in the order of the files."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for path in files(*FOLDERS):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, documented) and (text := (ast.get_docstring(node) or "").strip()):
                yield Docstring(str(path.relative_to(ROOT)), node.body[0].lineno, text)


def by_package() -> Mapping[str, tuple[int, int, int]]:
    """Return the numbers of docstrings, marked ones, and those of the wider count, by package."""
    found: dict[str, Counter[str]] = {}
    for one in docstrings():
        counts = found.setdefault(one.package, Counter())
        counts.update(all=1, marked=one.is_marked, widely=one.is_marked_widely)
    return {name: (each["all"], each["marked"], each["widely"]) for name, each in sorted(found.items())}


def figures() -> Mapping[str, int]:
    counts = list(by_package().values())
    return {
        "docstrings outside tests": sum(each[0] for each in counts),
        "marked docstrings": sum(each[1] for each in counts),
        "marked docstrings, wider count": sum(each[2] for each in counts),
    }
