"""Turns the arguments of `mesh.node` into a node's configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mesh.config import Config, load, settings
from mesh.config.loading import IN_PROGRAM
from mesh.config.source import ConfigFile
from mesh.config_store import MEMORY
from mesh.errors import BadArgument, BadType
from mesh.shortening import shown
from mesh.values import check_path

BY = "mesh.node()"
DEEPEST = 7  # nested tables and lists, as in nodes.NAME.master


def configured(
    name: str | None,
    data: str | os.PathLike[str] | None,
    cluster: str | None,
    bind: str | Iterable[str],
    seeds: str | Iterable[str],
    mdns: bool | None,
    config: str | os.PathLike[str] | Mapping[str, Any] | None,
    environ: Mapping[str, str],
) -> Config:
    """Return the configuration as `mesh up` would read it, but without looking for a default file.

    Without a data directory or store, messages are in memory only. Raises: BadConfig, BadArgument.
    """
    given: dict[str, object] = {
        "node.id": _bare(name),
        "node.data": None if data is None else _path("data", data),
        "node.cluster": _bare(cluster),
        "node.bind": _texts("bind", bind) or None,
        "node.peers": _texts("seeds", seeds) or None,
        "discovery.mdns": mdns,
    }
    source = None if config is None else _source(config)
    origins = {setting.name: setting.origin for setting in settings(source, environ, given, BY)}
    if origins["node.data"] == origins["node.store"] == "default":
        given["node.store"] = MEMORY
        if origins["snapshots.enabled"] == "default":
            given["snapshots.enabled"] = False
    return load(source, environ, given, BY)


def _source(config: str | os.PathLike[str] | Mapping[str, Any]) -> Path | ConfigFile:
    if isinstance(config, Mapping):
        return ConfigFile(Path(IN_PROGRAM), _copied(config), {})
    path = Path(_path("config", config))
    try:
        return path.expanduser()
    except RuntimeError as error:
        what = f"config={str(path)!r}: the home directory {path.parts[0]} cannot be determined."
        raise BadArgument(what, hint="Pass an absolute path.") from error


def _copied(value: Any, depth: int = DEEPEST) -> Any:
    """Return a copy with the containers of TOML: dicts with str keys, and lists.

    Raises: BadType for keys that are not str, or containers nested more deeply than `depth`.
    """
    if isinstance(value, Mapping | list | tuple) and not depth:
        raise BadType("config= is nested more deeply than any mesh.toml.")
    if isinstance(value, Mapping):
        if odd := [key for key in value if not isinstance(key, str)]:
            raise BadType(f"config= has a key that is not a str: {shown(odd[0])}.")
        return {_bare(key): _copied(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(inner, depth - 1) for inner in value]
    return _bare(value)


def _bare(value: Any) -> Any:
    """Return a text as a plain str, since a node cannot store subclasses such as numpy's."""
    return str.__str__(value) if isinstance(value, str) else value


def _path(what: str, value: object) -> str:
    if isinstance(value, str | os.PathLike) and isinstance(path := os.fspath(value), str):
        if not path:
            raise BadArgument(f"{what}= is empty.", hint="Omit it, or give a path.")
        check_path(f"{what}={shown(path)}", path, BadArgument)
        return _bare(path)  # type: ignore[no-any-return]
    dict_too = ", or a dict with the contents of such a file" if what == "config" else ""
    raise BadType(f"{what}= must be a path as a str or Path{dict_too}, not {shown(value)}.")


def _texts(what: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (_bare(value),)
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple(map(_bare, value))
    raise BadType(f"{what}= must be an address or a list of addresses, not {shown(value)}.")
