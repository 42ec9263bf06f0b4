"""Translates xmlBlaster properties into settings, nodes and rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from mesh.config.formats import ReadSettings
from mesh.config.sections import FIELDS
from mesh.config.source import Setting, fitted, near_miss
from mesh.errors import BadConfig
from mesh.features.xmlblaster.clusternode import set_limits
from mesh.features.xmlblaster.node_records import (
    DELAY,
    INFO,
    MASTER,
    NODE,
    OF_LINK,
    PASSWD,
    PING,
    NodeRecords,
)
from mesh.features.xmlblaster.properties import Property, refuse_missing
from mesh.features.xmlblaster.without_equivalent import reason_without_equivalent

RETRIES = "retries"
VERSIONS = {"cluster.loadBalancer.version": "1.0"}
# Properties of this node: the setting, and the conversion of the text.
PLAIN: dict[str, tuple[str, Callable[[str], Any]]] = {
    "cluster.node.id": ("node.id", str),
    "cluster.loadBalancer.type": ("balancing.strategy", str),
    PING: ("timing.ping", lambda text: int(text) / 1000),
    DELAY: ("timing.backoff_max", lambda text: int(text) / 1000),
}
# Properties that are accepted without effect.
IDLE = {RETRIES: "a node retries forever", "cluster": "each node is a member of a mesh"}
CONNECTION = "dispatch/connection/"  # longer, stronger names of three properties
LONGER = {f"{CONNECTION}{name}": name for name in (PING, DELAY, RETRIES)}
_AT_NODE = re.compile(r"/node/(?P<node>[^/]+)/(?P<name>.+)")
SOCKET_PORT, SOCKET_HOST = "plugin/socket/port", "plugin/socket/hostname"
PORT, HOST = "bootstrapPort", "bootstrapHostname"
KNOWN = (*PLAIN, *VERSIONS, NODE, INFO, MASTER, PASSWD, *IDLE, SOCKET_PORT, SOCKET_HOST, PORT, HOST)
UNLESS_SAID = {"links": "configured", "default_scope": "local"}  # defaults of xmlBlaster


def settings_of(properties: Iterable[Property], is_lenient: bool = False) -> ReadSettings:
    """Return the settings of `properties`: those in FIELDS, then each NodeRecord with its Rules.

    The defaults of xmlBlaster for `links` and `default_scope` are set if `properties` do not set them.
    Raises: BadConfig.
    """
    return _Reader(tuple(properties), is_lenient).read_all()


class _Reader:
    """Reads properties. The name of this node decides which properties `name[node]` apply to it."""

    def __init__(self, properties: tuple[Property, ...], is_lenient: bool) -> None:
        self._is_lenient = is_lenient
        self._read = ReadSettings()
        named = [each for each in properties if str(each) == "cluster.node.id"]
        self.me = named[0].value.strip() if named else ""
        self._properties = tuple(self._by_plain_names(properties))

    def read_all(self) -> ReadSettings:
        where = self._properties[0].origin.rpartition(":")[0] if self._properties else "properties"
        found = [Setting(name, value, f"{where}: --properties") for name, value in UNLESS_SAID.items()]
        found += self._fields()
        records = NodeRecords(
            self.me, self._properties, self._read, self._without_equivalent, self._is_lenient
        )
        nodes = records.settings(self._of_link)
        known = {setting.name: setting for setting in found}
        for told, origin in records.told:
            self._read.notes += set_limits(told, self.me, origin, known)
        self._read.settings = [*known.values(), *self._read.settings, *nodes]
        if not nodes and self._properties:
            self._note(f"{where}: no other node is named, so this one links only nodes that dial it")
        return self._read

    def _by_plain_names(self, properties: tuple[Property, ...]) -> Iterable[Property]:
        """Return the properties under their plain names.

        Of several names for one setting, the last in the order of `_strength` counts. Properties of other
        nodes are left out with a note.
        """
        found: dict[str, Property] = {}
        for each in sorted(properties, key=_strength):
            at_node = _AT_NODE.fullmatch(each.name)
            if at_node is not None and at_node["node"] != self.me:
                self._note(f"{each.origin}: {each} has an effect only at the node {at_node['node'][:80]!r}")
                continue
            name = at_node["name"] if at_node is not None else each.name
            plain = replace(each, name=LONGER.get(name, name))
            found[str(plain)] = plain
        for each in found.values():
            if each.name in KNOWN or each.name in FIELDS:
                refuse_missing(each)
        return found.values()

    def _note(self, text: str) -> None:
        self._read.notes.append(text)

    def _without_equivalent(self, property_: Property, reason: str, problem: str = "") -> None:
        """Note that a property is ignored, and why. Raises: BadConfig, with `problem`, unless lenient."""
        what = f"{property_.origin}: {str(property_)[:80]!r}"
        if self._is_lenient:
            return self._note(f"{what} is ignored: {reason}")
        hint = "Correct or omit the property, or use --lenient, which ignores it."
        raise BadConfig(f"{what} {problem or f'has no equivalent here: {reason}'}.", hint=hint)

    # --- settings of this node --------------------------------------------------------------------------

    def _fields(self) -> Iterator[Setting]:
        said = {str(each): each for each in self._properties}
        for each in self._properties:
            is_mine = each.node in (None, self.me)
            is_stronger = each.node is not None or f"{each.name}[{self.me}]" not in said
            if each.name in PLAIN:
                if is_mine and is_stronger:
                    yield from self._plain(each)
                elif not is_mine and each.name not in OF_LINK:
                    setting, _ = PLAIN[each.name]
                    reason = f"{setting} is a setting of this node only; write {each.name} without a node"
                    self._without_equivalent(each, reason)
            elif each.name in FIELDS:
                if each.node == "":
                    self._without_equivalent(each, "the brackets name no node", "names no node")
                elif is_mine and is_stronger:
                    yield self._own(each)
            elif each.name in VERSIONS:
                self._version(each)
            elif each.name in IDLE:
                self._note(f"{each.origin}: {each}: {IDLE[each.name]}")
            elif each.name not in KNOWN and not each.is_variable:
                self._unknown(each)
        yield from self._listening(said)

    def _plain(self, property_: Property) -> Iterator[Setting]:
        name, made = PLAIN[property_.name]
        try:
            value = made(property_.value.strip())
        except (ValueError, OverflowError):
            what = f"{property_.origin}: {property_} = {property_.value[:40]!r} is not a valid whole number."
            raise BadConfig(what, hint="Write milliseconds, such as 2000.") from None
        if not isinstance(value, str) and value <= 0:
            reason = f"{name} replaces the property, and cannot be 0 or less"
            problem = f"is 0 or less, but {name}, which replaces it, must be above 0"
            self._without_equivalent(property_, reason, problem)
            return
        hint = f"The setting is {name} here; see docs/configuration.md."
        fit = fitted(value, FIELDS[name].type, str(property_), property_.origin, hint)
        yield Setting(name, fit, property_.origin)

    def _of_link(self, property_: Property) -> Iterator[Setting]:
        """Yield the setting of a connection, unless it has no equivalent."""
        if property_.name in PLAIN:
            yield from self._plain(property_)
        else:
            yield self._own(property_)

    def _own(self, property_: Property) -> Setting:
        type_, text = FIELDS[property_.name].type, property_.value.strip()
        value: object = [part.strip() for part in text.split(",")] if type_ == tuple[str, ...] else text
        fit = fitted(
            value, type_, str(property_), property_.origin, "See docs/configuration.md.", strict=False
        )
        return Setting(property_.name, fit, property_.origin)

    def _version(self, property_: Property) -> None:
        wanted = VERSIONS[property_.name]
        if property_.value.strip() != wanted:
            what = f"{property_.origin}: {property_} = {property_.value[:40]!r} is not installed"
            raise BadConfig(f"{what}. Installed: {wanted}.", hint="Omit this property.")

    def _unknown(self, property_: Property) -> None:
        if (reason := reason_without_equivalent(property_.name)) is not None:
            self._without_equivalent(property_, reason)
        elif self._is_lenient:
            self._note(f"{property_.origin}: unknown {str(property_)[:80]!r} is ignored")
        elif property_.node is None and ("[" in property_.name or "]" in property_.name):
            hint = "The name of a node follows in brackets, such as pingInterval[heron]."
            what = f"{property_.origin}: {property_.name[:80]!r} is not the name of a property."
            raise BadConfig(what, hint=hint)
        else:
            near = near_miss(property_.name, (*KNOWN, *FIELDS))
            hint = f"{near} --lenient ignores unknown properties.".strip()
            raise BadConfig(f"{property_.origin}: unknown property {str(property_)[:80]!r}.", hint=hint)

    def _listening(self, said: dict[str, Property]) -> Iterator[Setting]:
        bound: Property | None = None
        for port, host in ((SOCKET_PORT, SOCKET_HOST), (PORT, HOST)):
            if (given := self._mine(said, port)) is None:
                continue
            number, at = given.value.strip(), self._mine(said, host)
            if number.startswith("-") and number[1:].isascii() and number[1:].isdigit():
                self._note(f"{given.origin}: {given} is turned off")
            elif not (number.isascii() and number.isdigit()) or not 0 <= int(number[:9]) <= 65535:
                what = f"{given.origin}: {given} = {number[:40]!r} is not a port."
                raise BadConfig(what, hint="Write a number from 0 to 65535.")
            elif bound is not None:
                self._note(f"{given.origin}: {given}: this node listens only on {bound}")
            else:
                bound, name = given, at.value.strip() if at is not None else ""
                yield Setting("node.bind", (f"tcp://{name or '127.0.0.1'}:{number}",), given.origin)

    def _mine(self, said: dict[str, Property], name: str) -> Property | None:
        return said.get(f"{name}[{self.me}]") or said.get(name)


def _strength(property_: Property) -> tuple[bool, bool, bool]:
    """Return a sort key: of several properties that set the same value, the last in this order counts."""
    name = property_.name
    return property_.origin == "command line", CONNECTION in name, name.startswith("/node/")
