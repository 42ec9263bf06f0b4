"""The grammar of `<clusternode>`: the elements and attributes, and the ones without effect here."""

# Law: everything in a text is known, refused with its line, or ignored with a note.

from __future__ import annotations

from typing import TYPE_CHECKING

from mesh.config.source import near_miss
from mesh.errors import BadConfig
from mesh.features.xmlblaster.clusterxml import line_of, texts, tree
from mesh.features.xmlblaster.properties import Property
from mesh.mapping.rules import OWN_MAPPER

if TYPE_CHECKING:
    from lxml import etree

_ADDRESSES = ("address", "callback", "backupnode", "nameservice")
_OF_QOS = (*_ADDRESSES, "queue", "securityService", "session", "persistent", "duplicateUpdates")
_OF_QUEUE = ("type", "version", "maxEntries", "maxBytes", "maxEntriesCache", "maxBytesCache", "onOverflow")
_OF_MASTER = (
    "type", "version", "stratum", "refid", "refId", "acceptDefault", "acceptOtherDefault", "dirtyRead",
    "cacheTtl", "cacheLinger", "history", "minNodes",
)  # fmt: skip
# For each element its attributes and child elements.
GRAMMAR: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "clusternode": (("id", "maxConnections"), ("connect", "disconnect", "master", "state", "backupnode")),
    "connect": ((), ("qos", *_OF_QOS)),
    "qos": ((), _OF_QOS),
    "queue": (("relating", *_OF_QUEUE), ("address", "callback")),
    "address": (
        ("type", "bootstrapHostname", "bootstrapPort", "maxConnections", "useRemoteLoginAsTunnel"),
        ("attribute",),
    ),
    "attribute": (("name", "type", "encoding", "size"), ()),
    "securityService": (("type", "version"), ("user", "passwd")),
    "user": ((), ()),
    "passwd": ((), ()),
    "nameservice": ((), ()),
    "backupnode": ((), ("clusternode",)),
    "master": (_OF_MASTER, ("key", "filter")),
    "key": (("queryType", "type", "oid", "domain"), ("filter",)),
    "filter": (("type", "version"), ()),
    "state": ((), ("cpu", "ram", "performance")),
    "cpu": (("id", "idle"), ()),
    "ram": (("free",), ()),
    "performance": (("bogomips", "idleIndex"), ()),
}
# Parts that are accepted without effect.
IDLE = {
    "callback": "callbacks are not dialed, because each node listens",
    "state": "each node reports its own state",
    "queue": "waiting messages are bounded by [limits]",
    "session": "a node logs in by its name, and again as needed",
    "persistent": "messages that wait for a node are kept on disk",
    "duplicateUpdates": "a node sends each message to another node once",
}
TUNNELS = ("useRemoteLoginAsTunnel", "acceptRemoteLoginAsTunnel")
TUNNEL = "a link carries both directions, whichever node dialed"
UNREAD = ("callback", "disconnect", "session", "persistent", "duplicateUpdates")
PLAIN_TEXT = ("key", "address")  # elements with text of their own


class ClusterText:
    """The text of one `<clusternode>`: checks its grammar, and collects notes on ignored parts.

    If `is_lenient`, unknown parts are ignored with a note. Otherwise they are refused; with `None` the error
    does not suggest `--lenient`, because the user cannot choose it.
    """

    def __init__(self, property_: Property, is_lenient: bool | None) -> None:
        self.property = property_
        self.is_lenient = is_lenient
        self.lead = 0  # lines of the property before its root
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> list[str]:
        return list(self._notes)

    def place(self, line: int) -> str:
        return self.property.place(line)

    def place_of(self, element: etree._Element) -> str:
        return self.place(self.lead + line_of(element))

    def bad(self, element: etree._Element, what: str, hint: str = "") -> BadConfig:
        return BadConfig(f"{self.place_of(element)}: {what.rstrip('.')}.", hint=hint)

    def add_note(self, text: str) -> None:
        self._notes.setdefault(text)

    # --- elements and attributes ------------------------------------------------------------------------

    def check_element(self, element: etree._Element) -> None:
        """Check that all parts of an element are known, and parse text in it as elements.

        Raises: BadConfig for an unknown part; if lenient, such a part is removed or ignored with a note.
        """
        tag = str(element.tag)
        attributes, elements = GRAMMAR[tag]
        for name in element.attrib:
            if name not in attributes:
                self.unknown(element, f"attribute {str(name)[:80]!r} of <{tag}>", str(name), attributes)
            elif name in IDLE:
                self.add_note(f"{self.place_of(element)}: {name}: {IDLE[str(name)]}")
        if self._holds_elements(element):
            self._unfold(element)
        for child in list(element):
            name = str(child.tag)
            if name not in elements:
                self.unknown(child, f"element <{name[:80]}> in <{tag}>", name, elements)
                _remove(element, child)
                continue
            if name in IDLE:
                self.add_note(f"{self.place_of(child)}: <{name}>: {IDLE[name]}")
            if name == "attribute":
                self._attribute(child)
            if tag != "backupnode" and name not in UNREAD:
                self.check_element(child)

    def _attribute(self, element: etree._Element) -> None:
        name = element.get("name", "")
        if name in TUNNELS:
            self.add_note(f"{self.place_of(element)}: {name}: {TUNNEL}")
        else:
            self.unknown(element, f"attribute {name[:80]!r} of an address", name, TUNNELS)

    @staticmethod
    def _holds_elements(element: etree._Element) -> bool:
        is_foreign = element.tag == "master" and element.get("type", OWN_MAPPER) != OWN_MAPPER
        return bool(GRAMMAR[str(element.tag)][1]) and element.tag not in PLAIN_TEXT and not is_foreign

    def _unfold(self, element: etree._Element) -> None:
        """Parse text that begins with `<`, such as CDATA, as child elements.

        Other text is refused, or ignored with a note.
        """
        tag = str(element.tag)
        for before, text in list(texts(element)):
            if not text.lstrip().startswith("<"):
                self._stray(element, text.strip())
                continue
            line = line_of(element if before is None else before)
            inner, _ = tree(self.property, f"<{tag}>{text}</{tag}>", self.lead + line)
            for _, stray in texts(inner):
                self._stray(element, stray.strip())
            for each in inner.iter():
                each.sourceline = line - 1 + line_of(each)  # type: ignore[assignment]
            at = 0 if before is None else element.index(before) + 1
            element[at:at] = list(inner)

    def _stray(self, element: etree._Element, text: str) -> None:
        tag = str(element.tag)
        if tag == "master":
            said = f"{self.place_of(element)}: {text[:40]!r} has no meaning for {OWN_MAPPER} and is ignored"
            self.add_note(said)
        elif tag == "securityService":  # may be a password
            self.unknown(element, f"text in <{tag}>", "", GRAMMAR[tag][1])
        else:
            self.unknown(element, f"text {text[:40]!r} in <{tag}>", "", GRAMMAR[tag][1])

    def unknown(self, element: etree._Element, what: str, name: str, known: tuple[str, ...]) -> None:
        if self.is_lenient:
            self.add_note(f"{self.place_of(element)}: unknown {what} is ignored")
            return
        hint = near_miss(name, known) or (f"Known there: {', '.join(known)}." if known else "")
        lenient = "" if self.is_lenient is None else "--lenient ignores unknown parts."
        raise self.bad(element, f"unknown {what}", f"{hint} {lenient}".strip())

    def truth(self, element: etree._Element, name: str, default: bool) -> bool:
        said = element.get(name)
        if said is None:
            return default
        if said.strip().lower() not in ("true", "false"):
            raise self.bad(element, f"{name}={said[:40]!r} of <{element.tag}> is neither true nor false")
        return said.strip().lower() == "true"

    def number(self, element: etree._Element, name: str, lowest: int, highest: int) -> int:
        said = element.get(name, str(lowest)).strip()
        if not (said.isascii() and said.isdigit() and lowest <= int(said[:20]) <= highest):
            bounds = f"a whole number from {lowest} to {highest}"
            raise self.bad(element, f"{name}={said[:40]!r} of <{element.tag}> is not {bounds}")
        return int(said)


def _remove(element: etree._Element, child: etree._Element) -> None:
    """Remove a child, but keep its tail text, which belongs to the element."""
    before = child.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (child.tail or "")
    else:
        element.text = (element.text or "") + (child.tail or "")
    element.remove(child)
