"""A node as xmlBlaster's `<clusternode>` describes it: its addresses, and what it is master of."""

# Law: a text is read as a whole, or refused with file, line and what would be right. Only what has no meaning
# here is passed over, and each such thing is told once.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mesh.config.clusterxml import line_of, texts, tree
from mesh.config.misprints import mended
from mesh.config.properties import Property
from mesh.config.rule import check_key_rule
from mesh.config.source import near_miss
from mesh.errors import BadConfig, BadName
from mesh.mapping.filters import MAPPERS, VERSION, Filter, made
from mesh.mapping.rules import DOMAIN, EXACT, OWN_MAPPER, PATTERN, XPATH, KeyRule, Rule
from mesh.names import node_name

if TYPE_CHECKING:
    from lxml import etree

KINDS = (EXACT, XPATH, PATTERN, DOMAIN)  # of a key; PATTERN is ours

# What may stand in which element: its attributes, and its elements.
GRAMMAR: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "clusternode": (("id", "maxConnections"), ("connect", "disconnect", "master", "state", "backupnode")),
    "connect": ((), ("qos",)),
    "qos": ((), ("address", "callback", "backupnode", "nameservice")),
    "address": (
        ("type", "bootstrapHostname", "bootstrapPort", "maxConnections", "useRemoteLoginAsTunnel"),
        (),
    ),
    "callback": (("type", "maxConnections"), ()),
    "backupnode": ((), ("clusternode",)),
    "nameservice": ((), ()),
    "disconnect": ((), ()),
    "master": (
        ("type", "version", "stratum", "refid", "refId", "acceptDefault", "acceptOtherDefault", "dirtyRead"),
        ("key", "filter"),
    ),
    "key": (("queryType", "type", "oid", "domain"), ("filter",)),
    "filter": (("type", "version"), ()),
    "state": ((), ("cpu", "ram", "performance")),
    "cpu": (("id", "idle"), ()),
    "ram": (("free",), ()),
    "performance": (("bogomips", "idleIndex"), ()),
}
# What is read and changes nothing here.
IDLE = {
    "callback": "callbacks are not dialled: each node listens itself",
    "nameservice": "there is no name service: nodes find each other",
    "disconnect": "a node that stops says so, and what is for it waits",
    "state": "a node says itself how it is",
    "maxConnections": "connections are bounded by [limits]",
}


@dataclass(slots=True)
class Described:
    """A node as a text describes it. `notes`: what was passed over, or read as something else."""

    name: str
    addresses: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    backups: tuple[str, ...] = ()  # nodes that stand in for it, the first first
    notes: list[str] = field(default_factory=list)
    idle: float | None = None  # of its processors, in %, as its <state> says
    ram_free: int | None = None  # likewise, in kB


def read_clusternode(property_: Property, is_lenient: bool | None = False) -> Described:
    """The node that a property's value describes. BadConfig. Lenient is None where nobody can choose that."""
    return _Reader(property_, is_lenient).node()


class _Reader:
    """One text, and where it stands."""

    def __init__(self, property_: Property, is_lenient: bool | None) -> None:
        self._property = property_
        self._is_lenient = is_lenient
        self._notes: dict[str, None] = {}

    # --- the text ---------------------------------------------------------------------------------------

    def node(self) -> Described:
        text, misprints = mended(self._property.value)
        for misprint in misprints:
            self._note(f"{self._property.place(misprint.line)}: {misprint.what}")
        root, self._lead = tree(self._property, text)
        if root.tag != "clusternode":
            raise self._bad(root, f"<{root.tag}> in place of <clusternode>")
        self._check(root)
        try:
            name = node_name(root.get("id", ""))
        except BadName as error:
            raise self._bad(root, f"id: {error.what}", error.hint) from error
        if self._property.node not in (None, name):
            what = f"it describes the node {name!r}, but the property is {self._property}"
            raise self._bad(root, what, "Let both be the same.")
        rules = tuple(self._rule(name, each) for each in root.findall("master"))
        found = Described(name, tuple(self._addresses(root)), rules, self._backups(root, name))
        self._state(root, found)
        found.notes = list(self._notes)
        return found

    def _place(self, line: int) -> str:
        return self._property.place(line)

    def _at(self, element: etree._Element) -> str:
        return self._place(self._lead + line_of(element))

    def _bad(self, element: etree._Element, what: str, hint: str = "") -> BadConfig:
        return BadConfig(f"{self._at(element)}: {what.rstrip('.')}.", hint=hint)

    def _note(self, text: str) -> None:
        self._notes.setdefault(text)

    # --- what may stand where ---------------------------------------------------------------------------

    def _check(self, element: etree._Element) -> None:
        """Everything in it is known. BadConfig; a note, if it is lenient."""
        tag = str(element.tag)
        attributes, elements = GRAMMAR[tag]
        for name in element.attrib:
            if name not in attributes:
                self._unknown(element, f"attribute {str(name)[:80]!r} of <{tag}>", str(name), attributes)
            elif name in IDLE:
                self._note(f"{self._at(element)}: {name}: {IDLE[str(name)]}")
        if self._holds_elements(element):
            self._unfold(element)
        for child in list(element):
            name = str(child.tag)
            if name not in elements:
                self._unknown(child, f"element <{name[:80]}> in <{tag}>", name, elements)
                element.remove(child)
                continue
            if name in IDLE:
                self._note(f"{self._at(child)}: <{name}>: {IDLE[name]}")
            if tag != "backupnode":
                self._check(child)

    @staticmethod
    def _holds_elements(element: etree._Element) -> bool:
        """The text of all others says something by itself."""
        is_foreign = element.tag == "master" and element.get("type", OWN_MAPPER) != OWN_MAPPER
        return bool(GRAMMAR[str(element.tag)][1]) and element.tag != "key" and not is_foreign

    def _unfold(self, element: etree._Element) -> None:
        """What stands in it as text, such as CDATA, is elements of it. Other text is unknown."""
        tag = str(element.tag)
        for before, text in list(texts(element)):
            if not text.lstrip().startswith("<"):
                self._stray(element, text.strip())
                continue
            line = line_of(element if before is None else before)
            inner, _ = tree(self._property, f"<{tag}>{text}</{tag}>", self._lead + line)
            for _, stray in texts(inner):
                self._stray(element, stray.strip())
            for each in inner.iter():
                each.sourceline = line - 1 + line_of(each)  # type: ignore[assignment]
            at = 0 if before is None else element.index(before) + 1
            element[at:at] = list(inner)

    def _stray(self, element: etree._Element, text: str) -> None:
        tag = str(element.tag)
        if tag == "master":
            said = f"{self._at(element)}: {text[:40]!r} says nothing to {OWN_MAPPER}, and is passed over"
            self._note(said)
        else:
            self._unknown(element, f"text {text[:40]!r} in <{tag}>", "", GRAMMAR[tag][1])

    def _unknown(self, element: etree._Element, what: str, name: str, known: tuple[str, ...]) -> None:
        if self._is_lenient:
            self._note(f"{self._at(element)}: unknown {what} is passed over")
            return
        hint = near_miss(name, known) or (f"Known there: {', '.join(known)}." if known else "")
        lenient = "" if self._is_lenient is None else "--lenient passes over what is unknown."
        raise self._bad(element, f"unknown {what}", f"{hint} {lenient}".strip())

    def _backups(self, root: etree._Element, name: str) -> tuple[str, ...]:
        found = dict[str, None]()
        for path in ("backupnode/clusternode", "connect/qos/backupnode/clusternode"):
            for element in root.findall(path):
                try:
                    backup = node_name(element.get("id", ""))
                except BadName as error:
                    raise self._bad(element, f"id of a backup: {error.what}", error.hint) from error
                if backup == name:
                    raise self._bad(element, f"{name} is its own backup", "Name another node, or none.")
                found[backup] = None
        return tuple(found)

    # --- addresses --------------------------------------------------------------------------------------

    def _addresses(self, root: etree._Element) -> Iterator[str]:
        for element in root.findall("connect/qos/address"):
            text = (element.text or "").strip()
            self._truth(element, "useRemoteLoginAsTunnel", False)
            if address := address_of(element, text):
                yield address
            else:
                said = f"{element.get('type', '')} {text}".strip()
                self._note(
                    f"{self._at(element)}: address {said[:80]!r} is of another protocol, and not dialled"
                )

    # --- rules ------------------------------------------------------------------------------------------

    def _rule(self, name: str, element: etree._Element) -> Rule:
        mapper, version = element.get("type", OWN_MAPPER), element.get("version", VERSION)
        refid = element.get("refid", "") or element.get("refId", "")
        how: dict[str, Any] = {
            "stratum": self._number(element, "stratum", 0, 15),
            "refid": refid,
            "accept_default": self._truth(element, "acceptDefault", True),
            "accept_other_default": self._truth(element, "acceptOtherDefault", False),
            "dirty_read": self._truth(element, "dirtyRead", False),
        }
        if mapper != OWN_MAPPER:
            told = "".join(map(str, element.itertext())).strip()
            self._made(element, Filter(mapper, told, version, MAPPERS))
            return Rule(name, mapper=mapper, version=version, told=told, **how)
        keys, filters = self._keys(element)
        plain = {kind: tuple(k.text for k in keys if k.kind == kind and not k.filters) for kind in KINDS}
        return Rule(
            name,
            keys=plain[EXACT],
            xpaths=plain[XPATH],
            patterns=plain[PATTERN],
            domains=plain[DOMAIN],
            given=tuple(key for key in keys if key.filters),
            filters=filters,
            **how,
        )

    def _keys(self, element: etree._Element) -> tuple[tuple[KeyRule, ...], tuple[Filter, ...]]:
        """The keys and the filters of a rule."""
        keys = tuple(self._key(each) for each in element.findall("key"))
        return keys, tuple(self._filter(each) for each in element.findall("filter"))

    def _key(self, element: etree._Element) -> KeyRule:
        said = element.get("queryType") or element.get("type")
        oid, domain, text = element.get("oid"), element.get("domain"), (element.text or "").strip()
        kind = said or (EXACT if oid is not None else XPATH if text else DOMAIN)
        value = {EXACT: oid, XPATH: text or None, PATTERN: text or None, DOMAIN: domain}.get(kind)
        if kind not in KINDS:
            hint = near_miss(kind, KINDS) or "There are EXACT, XPATH, PATTERN and DOMAIN."
            raise self._bad(element, f"queryType {kind[:40]!r} of <key>", hint)
        if value is None:
            needs = {
                EXACT: "oid='radar.track'",
                XPATH: "an XPath as its text",
                PATTERN: "a pattern as its text",
                DOMAIN: "domain='RUGBY'",
            }
            raise self._bad(
                element, f"<key queryType='{kind}'> lacks what it is about", f"It has {needs[kind]}."
            )
        filters = tuple(self._filter(each) for each in element.findall("filter"))
        rule = KeyRule(kind, value, filters)
        check_key_rule(rule, "<master>", self._at(element))
        return rule

    def _filter(self, element: etree._Element) -> Filter:
        type_ = element.get("type")
        if not type_:
            raise self._bad(
                element, "<filter> has no type", "Such as <filter type='ContentLength'>8000</filter>."
            )
        return self._made(
            element, Filter(type_, (element.text or "").strip(), element.get("version", VERSION))
        )

    def _made(self, element: etree._Element, filter_: Filter) -> Filter:
        from mesh.errors import BadFilter

        try:
            made(filter_)
        except BadFilter as error:
            raise self._bad(element, error.what.rstrip("."), error.hint) from error
        return filter_

    def _truth(self, element: etree._Element, name: str, default: bool) -> bool:
        said = element.get(name)
        if said is None:
            return default
        if said.strip().lower() not in ("true", "false"):
            raise self._bad(element, f"{name}={said[:40]!r} of <{element.tag}>", "Write true or false.")
        return said.strip().lower() == "true"

    def _number(self, element: etree._Element, name: str, lowest: int, highest: int) -> int:
        said = element.get(name, str(lowest)).strip()
        if not (said.isascii() and said.isdigit() and lowest <= int(said[:20]) <= highest):
            hint = f"Write a number from {lowest} to {highest}."
            raise self._bad(element, f"{name}={said[:40]!r} of <{element.tag}>", hint)
        return int(said)

    def _state(self, root: etree._Element, found: Described) -> None:
        idle = [self._number(cpu, "idle", 0, 100) for cpu in root.findall("state/cpu")]
        if idle:
            found.idle = sum(idle) / len(idle)
        for ram in root.findall("state/ram"):
            found.ram_free = self._number(ram, "free", 0, 2**62)


def address_of(element: etree._Element, text: str) -> str | None:
    """An address of ours in place of one of xmlBlaster's: its host and port; None: of another protocol."""
    host, port = element.get("bootstrapHostname", ""), element.get("bootstrapPort", "")
    is_socket = element.get("type", "SOCKET") == "SOCKET" or text.startswith("socket://")
    said = text.removeprefix("socket://") if is_socket else ""
    if not said and port:
        said = f"{host}:{port}"
    if "://" in said or said.count(":") != 1:
        return None
    name, _, number = said.partition(":")
    if not (number.isascii() and number.isdigit()) or "/" in name:
        return None
    return f"tcp://{name or '127.0.0.1'}:{number}"
