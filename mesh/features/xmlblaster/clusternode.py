"""Reads a node from xmlBlaster's `<clusternode>`: its addresses, and its rules as a master."""

# Law: a text is read completely, or refused with file, line and a hint. Only parts without meaning here are
# ignored, each with one note.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mesh.config.rule import check_key_rule
from mesh.config.source import Setting, near_miss
from mesh.errors import BadFilter, BadName
from mesh.features.xmlblaster.clustergrammar import ClusterText
from mesh.features.xmlblaster.clusterxml import texts, tree
from mesh.features.xmlblaster.misprints import mended
from mesh.features.xmlblaster.properties import Property
from mesh.mapping.filters import MAPPERS, OURS, VERSION, Filter, made
from mesh.mapping.rules import (
    DOMAIN,
    EXACT,
    LONGEST_CACHED,
    MOST_NODES,
    OWN_MAPPER,
    PATTERN,
    XPATH,
    KeyRule,
    Rule,
)
from mesh.names import node_name
from mesh.wire.limits import HISTORY_MESSAGES

if TYPE_CHECKING:
    from lxml import etree

LONGEST = int(1000 * LONGEST_CACHED)  # ms
KINDS = (EXACT, XPATH, PATTERN, DOMAIN)  # kinds of keys; PATTERN is not xmlBlaster's
MOST, COUNTS = "maxConnections", 1_000_000
SAME = {"GnuRegexFilter": "ContentRegex"}  # filters with another name here


@dataclass(slots=True)
class Described:
    """A node as its `<clusternode>` describes it. `notes` lists ignored and reinterpreted parts."""

    name: str
    addresses: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    backups: tuple[str, ...] = ()  # its backups, in order
    max_connections: int | None = None  # of clients
    address_max_connections: dict[str, int] = field(default_factory=dict)  # by address
    notes: list[str] = field(default_factory=list)
    idle: float | None = None  # idle CPU in %, from its <state>
    ram_free: int | None = None  # in kB, from its <state>
    user: str | None = None  # user to log in as
    passwd: str | None = field(default=None, repr=False)
    disconnects: bool = False  # drops what it holds for a node that stops
    nameservice: bool = False  # answers for nodes that do not know a name


def read_clusternode(property_: Property, is_lenient: bool | None = False) -> Described:
    """Return the node that a property describes. Raises: BadConfig. `is_lenient` as for ClusterText."""
    return _Reader(property_, is_lenient).node()


def set_limits(told: Described, me: str, origin: str, settings: dict[str, Setting]) -> list[str]:
    """Add the limits of connections of the node `me` that `settings` lacks; return notes on ignored ones."""
    most, addresses = told.max_connections, told.address_max_connections
    if told.name != me:
        note = f"{origin}: maxConnections has an effect only in the file of {told.name}"
        return [note] if most or addresses else []
    bound = settings["node.bind"].value if "node.bind" in settings else ()
    here = {address: limit for address, limit in addresses.items() if address in bound}
    for name, limit in (("node.max_connections", most), ("node.address_max_connections", here)):
        if limit:
            settings.setdefault(name, Setting(name, limit, origin))
    elsewhere = [address for address in addresses if address not in here]
    return [f"{origin}: maxConnections of {it}: this node does not listen there" for it in elsewhere]


class _Reader(ClusterText):
    def node(self) -> Described:
        text, misprints = mended(self.property.value)
        for misprint in misprints:
            self.add_note(f"{self.property.place(misprint.line)}: {misprint.what}")
        root, self.lead = tree(self.property, text)
        if root.tag != "clusternode":
            raise self.bad(root, f"the text has <{root.tag}> in place of <clusternode>")
        self.check_element(root)
        name = self._id(root, "id")
        if self.property.node not in (None, name):
            what = f"the text describes the node {name!r}, but {self.property} names {self.property.node!r}"
            if not self.is_lenient:
                raise self.bad(root, what, "Use the same name in both.")
            self.add_note(f"{self.place_of(root)}: {what}; the id in the text is used")
        rules = tuple(filter(None, (self._rule(name, each) for each in root.findall("master"))))
        found = Described(name, tuple(self._addresses(root)), rules, self._backups(root, name))
        self._connections(root, found)
        self._state(root, found)
        self._login(root, found)
        for element in root.iterfind("connect//nameservice"):
            found.nameservice |= self._is_on(element)
        found.disconnects = root.find("disconnect") is not None
        found.notes = self.notes
        return found

    def _id(self, element: etree._Element, title: str) -> str:
        given = element.get("id")
        if given is None:
            raise self.bad(element, "<clusternode> has no id", "Write <clusternode id='heron'>.")
        try:
            return node_name(given)
        except BadName as error:
            raise self.bad(element, f"{title}: {error.what}", error.hint) from error

    @staticmethod
    def _login(root: etree._Element, found: Described) -> None:
        for service in root.iterfind("connect//securityService"):
            found.user = (service.findtext("user") or "").strip() or None
            found.passwd = (service.findtext("passwd") or "").strip() or None

    def _is_on(self, element: etree._Element) -> bool:
        said = (element.text or "").strip().lower()
        if said not in ("true", "false", ""):
            raise self.bad(element, f"<nameservice> has {said[:40]!r}", "Write true or false.")
        return said == "true"

    def _backups(self, root: etree._Element, name: str) -> tuple[str, ...]:
        found = dict[str, None]()
        for path in ("backupnode/clusternode", "connect//backupnode/clusternode"):
            for element in root.findall(path):
                backup = self._id(element, "id of a backup")
                if backup == name:
                    raise self.bad(element, f"{name} is its own backup", "Name another node, or none.")
                found[backup] = None
        return tuple(found)

    # --- addresses --------------------------------------------------------------------------------------

    def _addresses(self, root: etree._Element) -> Iterator[str]:
        for element in root.iterfind("connect//address"):
            text = " ".join(part.strip() for _, part in texts(element))
            self.truth(element, "useRemoteLoginAsTunnel", False)
            if address := address_of(element, text):
                yield address
            elif not text and element.get("type", "SOCKET").upper().startswith("SOCKET"):
                self.add_note(
                    f"{self.place_of(element)}: <address> without a host and port: the other node dials"
                )
            else:
                said = f"{element.get('type', '')} {text}".strip()
                self.add_note(
                    f"{self.place_of(element)}: address {said[:80]!r} has another protocol and is not dialed"
                )

    def _connections(self, root: etree._Element, found: Described) -> None:
        if root.get(MOST) is not None:
            found.max_connections = self.number(root, MOST, 1, COUNTS)
        for element in root.iterfind("connect//address"):
            text = " ".join(part.strip() for _, part in texts(element))
            address = address_of(element, text)
            if address and element.get(MOST) is not None:
                found.address_max_connections[address] = self.number(element, MOST, 1, COUNTS)

    # --- rules ------------------------------------------------------------------------------------------

    def _rule(self, name: str, element: etree._Element) -> Rule | None:
        mapper, version = element.get("type", OWN_MAPPER), element.get("version", VERSION)
        refid = element.get("refid", "") or element.get("refId", "")
        how: dict[str, Any] = {
            "stratum": self.number(element, "stratum", 0, 15),
            "refid": refid,
            "accept_default": self.truth(element, "acceptDefault", True),
            "accept_other_default": self.truth(element, "acceptOtherDefault", False),
            "dirty_read": self.truth(element, "dirtyRead", False),
            "history": self.number(element, "history", 1, HISTORY_MESSAGES),
            "min_nodes": self.number(element, "minNodes", 1, MOST_NODES),
            "cache_ttl": self.number(element, "cacheTtl", 0, LONGEST) / 1000,
            "cache_linger": self.number(element, "cacheLinger", 0, LONGEST) / 1000,
        }
        if mapper != OWN_MAPPER:
            told = "".join(map(str, element.itertext())).strip()
            if self._made(element, Filter(mapper, told, version, MAPPERS)) is None:
                return None
            return Rule(name, mapper=mapper, version=version, told=told, **how)
        keys = [key for each in element.findall("key") if (key := self._key(each)) is not None]
        filters = [found for each in element.findall("filter") if (found := self._filter(each)) is not None]
        plain = {kind: tuple(k.text for k in keys if k.kind == kind and not k.filters) for kind in KINDS}
        return Rule(
            name,
            keys=plain[EXACT],
            xpaths=plain[XPATH],
            patterns=plain[PATTERN],
            domains=plain[DOMAIN],
            given=tuple(key for key in keys if key.filters),
            filters=tuple(filters),
            **how,
        )

    def _key(self, element: etree._Element) -> KeyRule | None:
        """Return a key, or `None` if a part of it is unknown here, so that it could never match."""
        said = element.get("queryType") or element.get("type")
        oid, domain, text = element.get("oid"), element.get("domain"), (element.text or "").strip()
        kind = said or (EXACT if oid is not None else XPATH if text else DOMAIN)
        value = {EXACT: oid, XPATH: text or None, PATTERN: text or None, DOMAIN: domain}.get(kind)
        if kind not in KINDS:
            what = f"{'queryType' if element.get('queryType') else 'type'} {kind[:40]!r} of <key>"
            if self.is_lenient:
                self.add_note(f"{self.place_of(element)}: unknown {what}: the key is ignored")
                return None
            hint = near_miss(kind, KINDS) or "Use EXACT, XPATH, PATTERN or DOMAIN."
            raise self.bad(element, f"unknown {what}", hint)
        if value is None:
            needs = {
                EXACT: "oid='radar.track'",
                XPATH: "an XPath as its text",
                PATTERN: "a pattern as its text",
                DOMAIN: "domain='RUGBY'",
            }
            what = f"<key queryType='{kind}'> is incomplete" if said else "<key> names no topics"
            raise self.bad(element, what, f"It needs {needs[kind]}{'' if said else ', for example'}.")
        filters = [self._filter(each) for each in element.findall("filter")]
        rule = KeyRule(kind, value, tuple(filter(None, filters)))
        check_key_rule(rule, "<master>", self.place_of(element))
        return rule if None not in filters else None

    def _filter(self, element: etree._Element) -> Filter | None:
        type_ = element.get("type")
        if not type_:
            raise self.bad(
                element,
                "<filter> has no type",
                "Write, for example, <filter type='ContentLength'>8000</filter>.",
            )
        found = Filter(SAME.get(type_, type_), (element.text or "").strip(), element.get("version", VERSION))
        if type_ in SAME:
            self.add_note(f"{self.place_of(element)}: filter {type_} is read as {found.type}")
        return self._made(element, found, is_ours=type_ in OURS)

    def _made(self, element: etree._Element, filter_: Filter, is_ours: bool = False) -> Filter | None:
        """Return the filter or mapper if it is installed and valid; `None` if it is ignored with a note."""
        try:
            made(filter_)
        except BadFilter as error:
            if not self.is_lenient or is_ours:
                raise self.bad(element, error.what.rstrip("."), error.hint) from error
            self.add_note(
                f"{self.place_of(element)}: {filter_.type[:80]} never matches: {error.what} {error.hint}"
            )
            return None
        return filter_

    def _state(self, root: etree._Element, found: Described) -> None:
        idle = [self.number(cpu, "idle", 0, 100) for cpu in root.findall("state/cpu")]
        if idle:
            found.idle = sum(idle) / len(idle)
        for ram in root.findall("state/ram"):
            found.ram_free = self.number(ram, "free", 0, 2**62)


def address_of(element: etree._Element, text: str) -> str | None:
    """Return an xmlBlaster address as tcp://HOST:PORT.

    Return `None` for another protocol, or an incomplete address.
    """
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
