"""Checks the arguments of a mesh in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mesh.config import Config, load
from mesh.config.source import ConfigFile, parsed, read_file
from mesh.errors import BadArgument, BadConfig, BadName
from mesh.names import node_name
from mesh.printable import count
from mesh.shortening import shown

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MOST = 26  # nodes, which share one loop
CLOCKS = ("real", "virtual")
Rules = str | Path | Mapping[str, Iterable[str]]


def names(nodes: Any) -> tuple[str, ...]:
    """Return the given names, or a, b and so on for a number. Raises: BadArgument."""
    what = f"nodes={shown(nodes)} is invalid."
    if isinstance(nodes, str | bytes) or not isinstance(nodes, Iterable):
        try:
            number = 0 if isinstance(nodes, str | bytes | bool) else index(nodes)
        except TypeError:
            number = 0
        given: list[Any] = list(LETTERS[: max(0, number)]) if number <= MOST else []
    else:
        given = list(nodes)
        what = f"nodes={shown(nodes)} has {count(len(given), 'name')}."
    if not 1 <= len(given) <= MOST:
        hint = f"Use a number from 1 to {MOST}, or a list of as many names."
        raise BadArgument(what, hint=hint)
    for name in given:
        _check_name(name)
        if given.count(name) > 1:
            raise BadArgument(f"nodes={shown(nodes)} has the name {shown(name)} {given.count(name)} times.")
    return tuple(given)


def _check_name(name: Any) -> None:
    try:
        node_name(name)
    except BadName as error:
        raise BadArgument(f"nodes: {error.what}", hint=error.hint) from None


def config(rules: Any) -> Config:
    """Return the configuration from a mesh.toml (text or path), or from {node: its domains as master}.

    Stores of queues and snapshots are left out. Raises: BadArgument.
    """
    try:
        # A node in memory keeps everything in one store, which outlives its process.
        return replace(load(_file(rules), {}, {"snapshots.enabled": False}), queues=())
    except BadConfig as error:
        raise BadArgument(error.what, hint=error.hint) from error


def _file(rules: Any) -> ConfigFile:
    where = Path("rules")
    if isinstance(rules, str):
        return parsed(where, rules)
    if isinstance(rules, Path):
        return read_file(rules)
    texts = [node for node, it in rules.items() if isinstance(it, str)] if isinstance(rules, Mapping) else []
    if not isinstance(rules, Mapping) or texts:
        hint = (
            'Use a dict such as {"a": ["NEWS"]}, of nodes and the domains of which they are '
            "masters, or a mesh.toml."
        )
        why = f": the domains of {shown(texts[0])} are not a list" if texts else ""
        raise BadArgument(f"rules={shown(rules)} is invalid{why}.", hint=hint)
    nodes = {name: {"master": [{"domains": _several(domains)}]} for name, domains in rules.items()}
    return ConfigFile(where, {"nodes": nodes}, {})


def _several(domains: Any) -> Any:
    return list(domains) if isinstance(domains, Iterable) else domains


def clock(kind: Any) -> bool:
    if kind not in CLOCKS:
        raise BadArgument(f"clock={shown(kind)} is invalid.", hint=f"Use one of {', '.join(CLOCKS)}.")
    return bool(kind == "virtual")
