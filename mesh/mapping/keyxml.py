"""The XML of a key: a message's key as a small document, for XPath queries."""

# Law 1: nothing external is read, and nothing expands: no DTD, no custom entities, and size limits.
# Law 2: an XPath returns true or false for each document within these limits, in bounded time.

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from mesh.errors import BadXml, BadXPath
from mesh.mapping.cost import ELEMENTS, LEVELS, checked_price, needed, reads_key
from mesh.mapping.xmltext import NOT_XML, attribute
from mesh.mapping.xpath import read
from mesh.wire.limits import KEY_XML

if TYPE_CHECKING:
    from lxml import etree

ATTRIBUTES = ELEMENTS  # in all
COMPILED = 4096  # compiled XPaths that are cached

_FORBIDDEN = ("<!DOCTYPE", "<!ENTITY", "<?")
_LONG = "Put long data into the content."
_HINT = "Write the contents of <key>, such as <STOCK_EXCHANGE name='IBM'/>."


class KeyXPath:
    """A compiled XPath. Two objects with the same text are equal."""

    __slots__ = ("_ask", "needed", "price", "reads_key", "text")

    def __init__(self, text: str) -> None:
        """Compile the XPath. Raises: BadXPath, if it is invalid or too expensive."""
        self.text = text.strip()
        term = read(self.text)
        self.price = checked_price(term, self.text)
        self.needed = tuple(sorted(needed(term), key=len, reverse=True))
        self.reads_key = reads_key(term)
        lxml = _lxml()
        try:
            self._ask = lxml.XPath(f"boolean({self.text})", regexp=False, smart_strings=False)
            self._ask(_parsed("<key/>"))
        except lxml.XPathError as error:
            what = f"The XPath {self.text!r} cannot be evaluated: {error}."
            raise BadXPath(what, hint="Write a simpler XPath.") from None

    def matches(self, document: Document) -> bool:
        """Return whether the XPath is true for the document.

        The result is False for malformed XML, which a peer may have sent.
        """
        text = document.text
        for name in self.needed:
            if name not in text:
                return False
        try:
            return bool(self._ask(document.root))
        except BadXml:
            return False

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, KeyXPath) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"KeyXPath({self.text!r})"


class Document:
    """The XML of a key, `<key oid="radar.track" domain="RADAR">…</key>`, parsed at the first use."""

    __slots__ = ("_root", "text")

    def __init__(self, key: str, domain: str = "", xml: str = "") -> None:
        place = f" domain={_quoted(domain)}" if domain else ""
        self.text = f"<key oid={_quoted(key)}{place}>{xml}</key>"
        self._root: etree._Element | None = None

    @property
    def root(self) -> etree._Element:
        """The element `key`. Raises: BadXml, if the XML is malformed."""
        if self._root is None:
            self._root = _parsed(self.text)
        return self._root


@lru_cache(COMPILED)
def asked(text: str) -> KeyXPath:
    """Return the compiled XPath. Raises: BadXPath."""
    return KeyXPath(text)


def check_xml(xml: str) -> str:
    """Return `xml` if it is well-formed, within the limits and without a DTD. Raises: BadXml."""
    return _checked(xml) if xml else xml


@lru_cache(COMPILED)
def _checked(xml: str) -> str:
    size = len(xml) if xml.isascii() else len(xml.encode(errors="replace"))
    if size > KEY_XML:
        raise BadXml(f"The XML of a key has {size:,} bytes; the limit is {KEY_XML:,}.", hint=_LONG)
    if bad := NOT_XML.search(xml):
        hint = "XML does not allow this character: put such data into the content."
        raise BadXml(f"The XML of a key has the invalid character {bad[0]!r}.", hint=hint)
    for word in _FORBIDDEN:
        if word in xml:
            hint = "The XML of a key must have no DTD, entities or processing instructions."
            raise BadXml(f"The XML of a key contains {word!r}.", hint=hint)
    _check_shape(_parsed(f"<key>{xml}</key>"))
    return xml


def _check_shape(root: etree._Element) -> None:
    elements = attributes = 0
    for element in root.iter():
        elements += 1
        attributes += len(element.attrib)
    if elements > ELEMENTS or attributes > ATTRIBUTES:
        given = f"{elements - 1:,} element{'s' * (elements != 2)}"
        what = f"The XML of a key has {given} and {attributes:,} attribute{'s' * (attributes != 1)}"
        raise BadXml(f"{what}; the limits are {ELEMENTS - 1} and {ATTRIBUTES}.", hint=_LONG)
    level, deepest = [root], 0
    while level:
        level, deepest = [below for element in level for below in element], deepest + 1
    if deepest > LEVELS:
        what = f"The XML of a key has {deepest} levels, with <key> itself; the limit is {LEVELS}."
        raise BadXml(what, hint=_LONG)
    if root.find("key") is not None:
        raise BadXml("The XML of a key contains <key>.", hint=_HINT)


def _parsed(text: str) -> etree._Element:
    lxml = _lxml()
    try:
        return lxml.fromstring(text, _parser())  # type: ignore[no-any-return]
    except lxml.XMLSyntaxError as error:
        line, column = error.position
        column -= len("<key>") if line == 1 else 0
        what = f"The XML of a key is malformed at line {line}, column {max(column, 1)}: {error.msg}"
        raise BadXml(f"{what[:300]}.", hint=_HINT) from None


@cache
def _lxml() -> Any:
    from lxml import etree  # takes 4 MB, seldom needed

    return etree


@cache
def _parser() -> etree.XMLParser:
    return _lxml().XMLParser(  # type: ignore[no-any-return]
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        dtd_validation=False,
        remove_comments=True,
        remove_pis=True,
        strip_cdata=True,
    )


def _quoted(text: str) -> str:
    return attribute(text, instead="\ufffd")
