"""Compares XPath results with lxml on random pairs; exit code 1 at the first difference.

python -m tools.compare_xpaths [--pairs 100000] [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from random import Random

from lxml import etree

from mesh.errors import BadXPath
from mesh.mapping.cost import price
from mesh.mapping.keyxml import Document, KeyXPath, check_xml
from mesh.mapping.xpath import read
from tools.models import xpaths


def pairs(count: int, seed: int) -> Iterator[tuple[KeyXPath, str]]:
    """Yield at least `count` pairs of an accepted XPath and a document; five documents to an XPath."""
    dice, made = Random(seed), 0
    while made < count:
        try:
            asked = KeyXPath(xpaths.xpath(dice))
        except BadXPath:
            continue
        for _ in range(5):
            made += 1
            yield asked, xpaths.document(dice)


def differs(asked: KeyXPath, xml: str) -> str:
    """Return the difference between both results as text, or an empty text."""
    ours = asked.matches(Document("the/key", "NEWS", check_xml(xml)))
    text = f'<key oid="the/key" domain="NEWS">{xml}</key>'
    theirs = bool(etree.fromstring(text).xpath(f"boolean({asked.text})"))
    return "" if ours == theirs else f"{asked.text!r} of {text!r}: {ours}, but {theirs} for lxml"


def slowest(count: int, seed: int) -> tuple[float, str, int]:
    """Return the longest time (s) of an XPath on one of the worst documents, its text and its price.

    At most `count` random XPaths are measured, because some are not accepted.
    """
    dice = Random(seed)
    worst = (0.0, "", 0)
    documents = [Document("k", "d", check_xml(xml)) for xml in xpaths.LARGEST]
    for _ in range(count):
        try:
            asked = KeyXPath(xpaths.xpath(dice))
        except BadXPath:
            continue
        for document in documents:
            began = time.thread_time()
            asked.matches(document)
            took = time.thread_time() - began
            if took > worst[0]:
                worst = (took, asked.text, price(read(asked.text)))
    return worst


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools.compare_xpaths", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    found = 0
    for asked, xml in pairs(options.pairs, options.seed):
        if what := differs(asked, xml):
            print(what, file=sys.stderr)
            return 1
        found += asked.matches(Document("the/key", "NEWS", xml))
    took, text, visits = slowest(options.pairs // 10, options.seed)
    print(f"{options.pairs:,} pairs alike, {found:,} of them true")
    print(f"slowest on the worst documents: {took * 1000:.1f} ms, {text!r}, {visits:,} visits")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
