"""Figures of the pages: words of prose, length of sentences, and persons in place of nouns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median, quantiles

from tools.housing.source import ROOT

FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
PERSON = re.compile(r"\b(somebody|nobody|whoever|whom)\b", re.IGNORECASE)
END = re.compile(r"(?<=[.!?:])(?:\*\*)?\s+(?=[A-Z`*\[“\"(])")
BEGINS_BLOCK = re.compile(r"^ *(?:[-*] |\d+\. |#+ |\[\^)")


def pages() -> list[Path]:
    return [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def blocks(text: str) -> Iterator[str]:
    """Yield each paragraph and list item of a page, without tables, code and headings."""
    block: list[str] = []
    for line in [*FENCE.sub("", text).splitlines(), ""]:
        is_prose = (
            line.strip() and not line.lstrip().startswith(("|", "#", "<!--")) and not line.startswith("    ")
        )
        if (not is_prose or BEGINS_BLOCK.match(line)) and block:
            yield " ".join(block)
            block = []
        if is_prose:
            block.append(re.sub(r"^(?:[-*]|\d+\.) ", "", line.strip()))


def sentences(text: str) -> Iterator[str]:
    """Yield each sentence of a page.

    A sentence ends with its list item or paragraph at the latest.
    """
    for block in blocks(text):
        yield from END.split(block)


def figures() -> Mapping[str, int]:
    """Return the figures of all pages together."""
    texts = [page.read_text(encoding="utf-8") for page in pages()]
    lengths = [len(sentence.split()) for text in texts for sentence in sentences(text)]
    return {
        "words of prose in pages": sum(lengths),
        "words of a sentence in pages, median": round(median(lengths)),
        "words of a sentence in pages, 90 %": round(quantiles(lengths, n=10)[-1]),
        "somebody, nobody, whoever, whom in pages": sum(len(PERSON.findall(text)) for text in texts),
    }
