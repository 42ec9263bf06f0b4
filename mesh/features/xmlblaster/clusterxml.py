"""Parses the text of a `<clusternode>` into a tree. Anything but plain XML is refused with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from mesh.errors import BadConfig
from mesh.features.xmlblaster.properties import Property

if TYPE_CHECKING:
    from lxml import etree

LARGEST, ELEMENTS = 64 * 1024, 1000  # characters; elements
DECLARATION = re.compile(r"""<\?xml\s(?:[^?]{0,99}?\bencoding\s?=\s?["']([^"'?]{0,99})["'])?[^?]{0,99}\?>""")

_LINE = re.compile(r" line \d+\b")  # in a reason of libxml2: counted in the text, not in the file


def tree(property_: Property, text: str, line: int = 1) -> tuple[etree._Element, int]:
    """Return the root of a text, and the number of lines before it.

    `line` is the line of the property on which the text begins. Raises: BadConfig.
    """

    def bad(what: str, hint: str = "") -> BadConfig:
        return BadConfig(f"{property_.place(line)}: {what}.", hint=hint)

    if len(text) > LARGEST:
        raise bad(f"{property_} has more than {LARGEST:,} characters")
    for word in ("<!DOCTYPE", "<!ENTITY"):
        if word in text:
            raise bad(f"{word} in {property_}: a DTD is not allowed")
    lead = line - 1 + _line_ends(text[: len(text) - len(text.lstrip())])
    text = text.strip()
    if declared := DECLARATION.match(text):
        if (declared[1] or "UTF-8").upper() != "UTF-8":
            raise bad(
                f"encoding={declared[1][:40]!r} in {property_} is not supported", "Omit it, or use UTF-8."
            )
        text = "\n" * _line_ends(declared[0]) + text[declared.end() :]
        lead, text = lead + _line_ends(text[: len(text) - len(text.lstrip())]), text.lstrip()
    root = _parsed(property_, text, lead)
    if any(True for _ in _instructions(root)):
        raise bad(f"<?...?> in {property_}: processing instructions are not allowed")
    if sum(1 for _ in root.iter()) > ELEMENTS:
        raise bad(f"{property_} has more than {ELEMENTS:,} elements")
    return root, lead


def texts(element: etree._Element) -> Iterator[tuple[etree._Element | None, str]]:
    """Yield each text directly in the element that is not blank, with the child before the text.

    The child is `None` for a text at the beginning.
    """
    for before, text in ((None, element.text), *((child, child.tail) for child in element)):
        if text and not text.isspace():
            yield before, text


def line_of(element: etree._Element) -> int:
    """Return the line of the element, counted from its root."""
    line = element.sourceline
    return line if isinstance(line, int) else 1


def _parsed(property_: Property, text: str, lead: int) -> etree._Element:
    lxml = _lxml()
    try:
        return lxml.fromstring(text, _parser())  # type: ignore[no-any-return]
    except (lxml.XMLSyntaxError, ValueError) as error:
        at, column = getattr(error, "position", (1, 1))
        # In the first line, the column would count from the beginning of the text, not of the line.
        where = property_.place(lead + (at or 1), column if at > 1 else 0)
        why = _LINE.sub("", str(getattr(error, "msg", error)).partition(", line")[0]).rstrip(".")
        raise BadConfig(f"{where}: {property_} is not XML: {why[:200]}.") from None


def _instructions(root: etree._Element) -> Iterator[etree._Element]:
    kind = _lxml().PI
    yield from root.itersiblings(kind, preceding=True)
    yield from root.iter(kind)
    yield from root.itersiblings(kind)


def _line_ends(text: str) -> int:
    return text.count("\n")


@cache
def _lxml() -> Any:
    from lxml import etree  # late: takes 4 MB, and few need it

    return etree


@cache
def _parser() -> Any:
    return _lxml().XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        strip_cdata=True,
    )
