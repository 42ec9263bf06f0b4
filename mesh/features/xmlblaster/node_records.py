"""Translates the xmlBlaster properties that describe other nodes, or connections to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mesh.config.formats import ReadSettings
from mesh.config.nodes import LINK_TIMES, NodeRecord
from mesh.config.source import Setting
from mesh.errors import BadConfig, BadName
from mesh.features.xmlblaster.clusternode import Described, read_clusternode
from mesh.features.xmlblaster.properties import Property
from mesh.mapping.rules import standing_in
from mesh.names import node_name

NODE, INFO, MASTER = "cluster.node", "cluster.node.info", "cluster.node.master"
PING, PASSWD, DELAY = "pingInterval", "passwd", "delay"
# Properties of a connection, which apply to one node as `name[node]`: the key in [nodes.NAME].
OF_LINK = {PING: "ping", DELAY: "backoff_max", **{f"timing.{name}": name for name in LINK_TIMES}}


class NodeRecords:
    """Reads the properties of other nodes, for the node `me`.

    `read` receives the notes. `refuse` handles a property without an equivalent: property, reason, problem.
    """

    def __init__(
        self,
        me: str,
        properties: Sequence[Property],
        read: ReadSettings,
        refuse: Callable[[Property, str, str], None],
        is_lenient: bool,
    ) -> None:
        self._me = me
        self._properties = properties
        self._read = read
        self._refuse = refuse
        self._is_lenient = is_lenient
        self._backups: dict[str, tuple[str, ...]] = {}  # backups of each node
        self.told: list[tuple[Described, str]] = []  # nodes, and the origins of their texts

    def settings(self, time: Callable[[Property], Iterator[Setting]]) -> list[Setting]:
        """Return each NodeRecord with its Rules; `time` converts the properties of connections."""
        records: dict[str, NodeRecord] = {}
        origins: dict[str, str] = {}
        rules: dict[str, list[Setting]] = {}
        for each in self._properties:
            if each.name in (NODE, INFO, MASTER):
                self._described(each, records, origins, rules)
        self._set_times(records, origins, time)
        self._set_passwords(records, origins)
        self._stand_in(records, origins, rules)
        found: list[Setting] = []
        for name, record in records.items():
            mine = rules.get(name, [])
            record = replace(record, masters=tuple(rule.value for rule in mine))
            found += [Setting(f"nodes.{name}", record, origins[name]), *mine]
        return found

    def _described(
        self,
        property_: Property,
        records: dict[str, NodeRecord],
        origins: dict[str, str],
        rules: dict[str, list[Setting]],
    ) -> None:
        if property_.node is None:
            if self._is_lenient:
                self._refuse(property_, "it has no node name in brackets", "")
                return
            what = f"{property_.origin}: {property_.name} names no node."
            raise BadConfig(what, hint=f"Write {property_.name}[heron] = <clusternode id='heron'>…")
        if not property_.value.strip():
            self._refuse(property_, "its value is empty", "has an empty value")
            return
        told = read_clusternode(property_, self._is_lenient)
        self._read.notes += told.notes
        name = told.name
        record = records.setdefault(name, NodeRecord(name))
        origins.setdefault(name, property_.origin)
        if property_.name != MASTER:
            records[name] = self._addressed(record, told, property_)
        self.told.append((told, property_.origin))
        if told.passwd is not None:
            records[name] = replace(records[name], passwd=told.passwd)
        if property_.name != INFO:
            rules[name] = [Setting(f"nodes.{name}.master", rule, property_.origin) for rule in told.rules]
        self._use_elements(records, told, property_.origin)
        if told.backups:
            self._backups[name] = told.backups
        self._note_ignored(property_, told)

    def _note_ignored(self, property_: Property, told: Described) -> None:
        """Note each part of a description that has no effect at this node."""
        if told.passwd is not None and self._me and told.user not in (None, self._me):
            self._note(property_, f"this node logs in as {self._me}, not as {told.user!r}")
        is_mine = told.name == self._me
        if told.nameservice and not is_mine:
            self._note(property_, f"<nameservice> has an effect only at {told.name}")
        if told.disconnects and is_mine:
            self._note(property_, "<disconnect> has an effect only in the files of other nodes")
        ignored = told.rules if property_.name == INFO else told.addresses if property_.name == MASTER else ()
        if ignored:
            other = MASTER if property_.name == INFO else INFO
            self._note(property_, f"a setting that belongs in {other}[{told.name}] is ignored")

    def _note(self, property_: Property, text: str) -> None:
        self._read.notes.append(f"{property_.origin}: {text}")

    def _use_elements(self, records: dict[str, NodeRecord], told: Described, origin: str) -> None:
        """Apply the elements that have an effect at the described node only, or at other nodes only."""
        is_mine = told.name == self._me
        if told.nameservice and is_mine:
            self._read.settings.append(Setting("node.nameservice", True, origin))
        if told.disconnects and not is_mine:
            records[told.name] = replace(records[told.name], disconnect=True)

    def _stand_in(
        self, records: dict[str, NodeRecord], origins: dict[str, str], rules: dict[str, list[Setting]]
    ) -> None:
        """Give backups the rules of their masters. Backups follow all other nodes, in the file's order."""
        for name, backups in self._backups.items():
            for backup in backups:
                records[backup] = records.pop(backup, NodeRecord(backup))
                origins.setdefault(backup, origins[name])
                title = f"nodes.{backup}.master"
                rules.setdefault(backup, []).extend(
                    Setting(title, rule, each.origin)
                    for each in rules.get(name, ())
                    for rule in standing_in(backup, [each.value])
                )

    @staticmethod
    def _addressed(record: NodeRecord, told: Described, property_: Property) -> NodeRecord:
        first, *others = told.addresses or (None,)
        return replace(record, address=first, others=tuple(filter(None, others)))

    def _set_times(
        self,
        records: dict[str, NodeRecord],
        origins: dict[str, str],
        time: Callable[[Property], Iterator[Setting]],
    ) -> None:
        for each in self._properties:
            if each.name in OF_LINK and each.node not in (None, self._me):
                name = self._named(each, records, origins)
                for setting in time(each):
                    records[name] = replace(records[name], **{OF_LINK[each.name]: setting.value})

    def _set_passwords(self, records: dict[str, NodeRecord], origins: dict[str, str]) -> None:
        """Set each node's password from the property with its name, or else from the one without a name.

        The password in its <connect> takes precedence.
        """
        of_one = [each for each in self._properties if each.name == PASSWD]
        for each in of_one:
            if each.node not in (None, self._me):
                name = self._named(each, records, origins)
                if records[name].passwd is None:
                    records[name] = replace(records[name], passwd=each.value)
        for each in of_one:
            if each.node in (None, self._me):
                for name, record in records.items():
                    if record.passwd is None and name != self._me:
                        records[name] = replace(record, passwd=each.value)

    @staticmethod
    def _named(property_: Property, records: dict[str, NodeRecord], origins: dict[str, str]) -> str:
        """Return the node in the brackets, with a record. Raises: BadConfig if it is not a name."""
        try:
            name = node_name(property_.node or "")
        except BadName as error:
            raise BadConfig(f"{property_.origin}: {property_}: {error.what}", hint=error.hint) from error
        origins.setdefault(name, property_.origin)
        records.setdefault(name, NodeRecord(name))
        return name
