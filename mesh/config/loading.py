"""Loads the configuration from all sources, with the origin of each value.

The sources are the defaults, the file `mesh.toml`, the environment (`MESH_LIMITS__MAX_CONTENT`) and the
command line; later ones override earlier ones. Each value is checked together with its origin, so that an
error names the place.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from mesh.config.balancing import OPTIONS, OwnStrategy, balancing_settings
from mesh.config.nodes import NodeRecord, check_circles, check_costs, check_strata, node_settings
from mesh.config.queues import QueueStore, queue_settings
from mesh.config.sections import (
    CHECKS,
    DAY,
    FIELDS,
    LISTS,
    SECTIONS,
    TABLES,
    TOP_LEVEL,
    Config,
    Counts,
    Metadata,
)
from mesh.config.sites import RemoteSite, check_here, site_settings
from mesh.config.source import ConfigFile, Setting, fitted, read_file
from mesh.errors import BadConfig, BadName
from mesh.mapping.rules import Rule

VARIABLE = "environment MESH_"  # how the origin of a variable begins
IN_PROGRAM = "config="  # the origin of values in a dict of `mesh.node`


def load(
    path: Path | ConfigFile | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, object],
    by: str = "command line",
    properties: Sequence[Setting] = (),
) -> Config:
    """Return the configuration from all sources.

    `overrides` has dotted names (`{"node.id": "heron"}`); a value of `None` means "not given". `by` names the
    source of overrides. `properties` are the settings of xmlBlaster files: they override mesh.toml, but not
    the environment. Raises: BadConfig with the place, the key and a hint.
    """
    tree: dict[str, Any] = {}
    nodes, strategies, queues = list[NodeRecord](), list[OwnStrategy](), list[QueueStore]()
    sites = list[RemoteSite]()
    for setting in settings(path, environ, overrides, by, properties):
        if isinstance(setting.value, NodeRecord):
            nodes.append(setting.value)
        elif isinstance(setting.value, OwnStrategy):
            strategies.append(setting.value)
        elif isinstance(setting.value, QueueStore):
            queues.append(setting.value)
        elif isinstance(setting.value, RemoteSite):
            sites.append(setting.value)
        elif setting.name in FIELDS:
            section, _, key = setting.name.rpartition(".")
            (tree.setdefault(section, {}) if section else tree)[key] = setting.value
    config = msgspec.convert(tree, Config)
    return msgspec.structs.replace(
        config, nodes=tuple(nodes), strategies=tuple(strategies), queues=tuple(queues), sites=tuple(sites)
    )


def rules(config: Config) -> tuple[Rule, ...]:
    """Return the rules of all nodes, by node, in the order of the file."""
    return tuple(rule for node in config.nodes for rule in node.masters)


def addresses(config: Config, me: str) -> tuple[str, ...]:
    """Return the addresses of all nodes in the file except `me`, as they are written there."""
    named = (node for node in config.nodes if node.address is not None and node.name != me)
    return tuple(address for node in named for address in (str(node.address), *node.others))


def settings(
    path: Path | ConfigFile | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, object],
    by: str = "command line",
    properties: Sequence[Setting] = (),
) -> tuple[Setting, ...]:
    """Return every setting with its value and origin. Arguments and errors as for `load`.

    The order is: FIELDS; `nodes.NAME` (NodeRecord) for each node, followed by its `nodes.NAME.master` (Rule);
    `balancing.address` and `balancing.domain` (OwnStrategy); `queues` (QueueStore); `sites.NAME`
    (RemoteSite).
    """
    found = {name: Setting(name, field.default, "default") for name, field in FIELDS.items()}
    nodes, strategies = tuple[Setting, ...](), tuple[Setting, ...]()
    queues, sites = tuple[Setting, ...](), tuple[Setting, ...]()
    if path is not None:
        file = path if isinstance(path, ConfigFile) else read_file(path)
        found.update((setting.name, setting) for setting in _from_file(file))
        nodes, strategies = node_settings(file), balancing_settings(file)
        queues, sites = queue_settings(file), site_settings(file)
    for setting in properties:
        if setting.name in FIELDS:
            found[setting.name] = _checked(setting.name, setting.value, setting.origin)
    if properties:
        found.update((setting.name, setting) for setting in _fitting(found))
    nodes = _with_nodes(nodes, [setting for setting in properties if setting.name not in FIELDS])
    found.update((setting.name, setting) for setting in _from_environment(environ))
    found.update((setting.name, setting) for setting in _from_overrides(overrides, by))
    _check_order(found["timing.ping"], found["timing.silence"])
    _check_order(found["timing.backoff_min"], found["timing.backoff_max"])
    nodes = tuple(_node_timed(setting, found, is_fitted=bool(properties)) for setting in nodes)
    if not properties:  # a property file's node may only be dialed
        _check_links(found["links"], nodes)
    check_here(found["site.name"], sites)
    return (*found.values(), *nodes, *strategies, *queues, *sites)


def _fitting(found: Mapping[str, Setting]) -> Iterator[Setting]:
    """Yield settings that replace defaults which conflict with values of a property file."""
    ping, most = found["timing.ping"], found["timing.backoff_max"]
    silence, least = found["timing.silence"], found["timing.backoff_min"]
    if silence.origin == "default" and silence.value < 3 * ping.value:
        yield Setting(silence.name, min(3 * ping.value, DAY), ping.origin)
    if least.origin == "default" and least.value >= most.value:
        yield Setting(least.name, most.value / 2, most.origin)


def _node_timed(setting: Setting, found: Mapping[str, Setting], is_fitted: bool) -> Setting:
    """Check the order of a node's delays between dials, and return the node.

    With `is_fitted`, a delay of a property file lowers the shortest one. Raises: BadConfig.
    """
    record = setting.value
    if not isinstance(record, NodeRecord) or (record.backoff_min or record.backoff_max) is None:
        return setting
    of_node = {
        name: Setting(f"{setting.name}.{name}", value, setting.origin) for name, value in record.times.items()
    }
    least, most = (of_node.get(name) or found[f"timing.{name}"] for name in ("backoff_min", "backoff_max"))
    if is_fitted and record.backoff_min is None and least.value >= most.value:
        return Setting(setting.name, replace(record, backoff_min=most.value / 2), setting.origin)
    _check_order(least, most)
    return setting


def _with_nodes(nodes: Sequence[Setting], more: Sequence[Setting]) -> tuple[Setting, ...]:
    """Return nodes and rules; a node in `more` replaces the same node in `nodes`. Raises: BadConfig."""
    names = {setting.value.name for setting in more if isinstance(setting.value, NodeRecord)}
    kept = [
        s for s in nodes if (s.value.name if isinstance(s.value, NodeRecord) else s.value.node) not in names
    ]
    if more:
        check_strata(more)
        check_circles((*kept, *more))
        check_costs((*kept, *more))
    return (*kept, *more)


def balancing_options(config: Config) -> dict[str, object]:
    given = {name: getattr(config.balancing, name) for name in OPTIONS}
    return {name: value for name, value in given.items() if value is not None}


def _from_file(file: ConfigFile) -> Iterator[Setting]:
    for keys, value in _flat(file.table):
        yield _checked(".".join(keys), value, file.origin(*keys))


def _from_environment(environ: Mapping[str, str]) -> Iterator[Setting]:
    for variable, text in environ.items():
        name = variable.removeprefix("MESH_").lower().replace("__", ".")
        # A name without a section may belong to another program, or to the command line, such as MESH_URL.
        if variable.startswith("MESH_") and ("." in name or name in FIELDS):
            value = _split(text, FIELDS[name].type) if name in FIELDS else text
            yield _checked(name, value, f"environment {variable}", strict=False)


def _split(text: str, type_: Any) -> object:
    """Return the list or the table of NAME=TEXT pairs that commas separate, or else the text itself."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if type_ in (Metadata | None, Counts | None) and all("=" in part for part in parts):
        return {name.strip(): said.strip() for name, _, said in (part.partition("=") for part in parts)}
    return parts if type_ == tuple[str, ...] else text


def _from_overrides(overrides: Mapping[str, object], by: str) -> Iterator[Setting]:
    for name, value in overrides.items():
        if value is not None:
            yield _checked(name, value, by)


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in table.items():
        if key in SECTIONS and isinstance(value, dict):
            for inner, inner_value in value.items():
                if (key, inner) not in TABLES:
                    yield (key, inner), inner_value
        elif key not in LISTS:
            yield (key,), value


def _checked(name: str, value: object, origin: str, strict: bool = True) -> Setting:
    if name in SECTIONS:
        hint = f"Write [{name}], and its keys in the lines below it."
        raise BadConfig(f"{origin}: '{name}' must be a section.", hint=hint)
    if name.partition(".")[0] in LISTS:
        raise _needs_section(name, origin)
    if name not in FIELDS:
        raise _unknown(name, "section" if isinstance(value, dict) else "key", origin)
    field = FIELDS[name]
    hint = "Omit the setting to use the default" + (f", {field.default!r}." if field.default else ".")
    converted = fitted(value, field.type, name, origin, hint, strict)
    try:
        if name in CHECKS and converted is not None:
            CHECKS[name](converted)
    except (BadConfig, BadName) as error:
        raise BadConfig(f"{origin}: {name}: {error.what}", hint=error.hint) from error
    return Setting(name, converted, origin)


def _needs_section(name: str, origin: str) -> BadConfig:
    what, sections = {
        "nodes": ("other nodes and their rules", "[nodes.NAME] and [[nodes.NAME.master]]"),
        "queues": ("the stores of queues", "[[queues]]"),
        "sites": ("other sites", "[sites.NAME]"),
    }[name.partition(".")[0]]
    dotted = f"{origin}: {name[:80]!r} is a single key with a dot in its name."
    if origin == IN_PROGRAM:
        return BadConfig(dotted, hint=f"Write nested dicts, as a TOML reader returns them for {sections}.")
    if ":" not in origin:  # no place in a file; a variable would lose capitals and commas
        hint = f"Write {sections} into mesh.toml."
        return BadConfig(f"{origin}: {what} can be set only in a file.", hint=hint)
    return BadConfig(dotted, hint=f"Write {sections}, without quotes around the dot.")


def _unknown(name: str, kind: str, origin: str) -> BadConfig:
    section, key = name.split(".", 1) if "." in name else ("", name)
    is_variable = origin.startswith(VARIABLE)
    sections = () if is_variable or (section and kind == "key") else (*SECTIONS, *LISTS)
    here = [name for name in FIELDS if name.startswith(f"{section}.")]  # of two names, the one here counts
    known = {name.rpartition(".")[2]: name for name in (*FIELDS, *here, *sections)}
    if near := difflib.get_close_matches(key, known, n=1):
        meant = known[near[0]]
        if is_variable:
            meant = "MESH_" + meant.upper().replace(".", "__")
        hint = f"Did you mean '{meant.removeprefix(f'{section}.')}'?"
        if meant in TOP_LEVEL and section:
            hint = f"'{meant}' belongs at the top of the file, above all sections."
    elif section == "node" and kind == "section":
        hint = f"The section of another node is [nodes.{key}]."
    elif section in SECTIONS:
        hint = f"Known there: {', '.join(SECTIONS[section].__struct_fields__)}."
    else:
        hint = f"Known: {', '.join((*TOP_LEVEL, *SECTIONS, *(() if is_variable else LISTS)))}."
    place = f" in section [{section}]" if section else ""
    what = f"unknown {kind} {key[:80]!r}{place}"
    if section and section not in SECTIONS:
        what = f"{section[:80]!r} is not a section"
    return BadConfig(f"{origin}: {what}.", hint=hint)


def _check_order(shorter: Setting, longer: Setting) -> None:
    if longer.value <= shorter.value:
        raise BadConfig(
            f"{longer.name} = {longer.value} ({longer.origin}) must be longer than "
            f"{shorter.name} = {shorter.value} ({shorter.origin}).",
            hint=f"Raise {longer.name}, or lower {shorter.name}.",
        )


def _check_links(links: Setting, nodes: tuple[Setting, ...]) -> None:
    if links.value == "configured" and not nodes:
        raise BadConfig(
            f'{links.origin}: links = "configured", but no node is configured, so no node would be linked.',
            hint='Write a section [nodes.NAME] for each node to link, or links = "any".',
        )
