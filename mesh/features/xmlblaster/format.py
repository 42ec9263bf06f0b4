"""xmlBlaster's configuration format: property files, and `<clusternode>` texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mesh.config.formats import ConfigFormat, ReadSettings, Rules
from mesh.errors import BadConfig
from mesh.features.xmlblaster.clusternode import read_clusternode
from mesh.features.xmlblaster.properties import Property, from_words, merged, read_properties
from mesh.features.xmlblaster.translation import settings_of
from mesh.mapping.rules import standing_in
from mesh.reserved import INFO, MASTER


class XmlBlaster(ConfigFormat):
    """xmlBlaster's configuration format: the entry point `xmlblaster` of the group `mesh.config_formats`."""

    def settings(self, file: Path | None, words: Sequence[str], is_lenient: bool) -> ReadSettings:
        doubts: list[str] | None = [] if is_lenient else None
        found = read_properties(file, doubts) if file is not None else ()
        read = settings_of(merged(found, from_words(words)), is_lenient)
        return ReadSettings(read.settings, [*(doubts or ()), *read.notes])

    def rules(self, text: str, file: Path | None = None, node: str | None = None) -> tuple[Rules, list[str]]:
        lines = tuple(range(1, text.count("\n") + 2)) if file is not None else ()
        place = f"{file}:1" if file is not None else "content"
        name = "clusternode" if file is not None else MASTER
        found = read_clusternode(Property(name, node, text, place, lines), is_lenient=None)
        rules = {found.name: found.rules, **{each: standing_in(each, found.rules) for each in found.backups}}
        notes = list(found.notes)
        for name, is_on in (("disconnect", found.disconnects), ("nameservice", found.nameservice)):
            notes += [f"{place}: <{name}> has an effect only in a file"] if is_on else []
        return rules, notes

    def addresses(self, text: str, node: str) -> tuple[str, ...]:
        found = read_clusternode(Property(INFO, node, text, "content"), is_lenient=None)
        if found.rules or found.backups:
            what = f"The <clusternode> has rules, which {INFO}[{node}] does not set."
            raise BadConfig(what, hint=f"Publish them under {MASTER}[{node}].")
        if not found.addresses:
            what = f"The <clusternode> has no address of {node}."
            hint = "Write <connect><qos><address type='SOCKET'>HOST:PORT</address></qos></connect>."
            raise BadConfig(what, hint=hint)
        return found.addresses


xmlblaster = XmlBlaster()
