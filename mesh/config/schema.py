"""Builds the JSON Schema of mesh.toml for editors, from the tables of the parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mesh.config.balancing import ADDRESS_KEYS, DOMAIN_KEYS
from mesh.config.nodes import NODE_KEYS
from mesh.config.queues import QUEUE_KEYS
from mesh.config.rule import FILTER_KEYS, GIVEN_KEYS, GIVEN_KINDS, MATTERS, RULE_KEYS
from mesh.config.sections import FIELDS, SECTIONS, TOP_LEVEL
from mesh.config.sites import ACCEPT_KEYS, REMOTE_KEYS
from mesh.names import NAME

Schema = dict[str, Any]
KeyTypes = Mapping[str, tuple[Any, str]]  # type and hint of each key

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAMES = ("node.id", "node.cluster", "site.name")  # settings that are names


def schema() -> Schema:
    """Return the schema of a whole file.

    The parser rejects every file that the schema rejects, and also, for example, contradictory settings.
    """
    properties = {name: _typed(FIELDS[name].type, FIELDS[name].default) for name in TOP_LEVEL}
    properties |= {section: _section(section, struct) for section, struct in SECTIONS.items()}
    balancing = properties["balancing"]["properties"]
    balancing["address"] = _list(_table(ADDRESS_KEYS, required=("pattern", "strategy")))
    balancing["domain"] = _list(_table(DOMAIN_KEYS, required=("name", "strategy")))
    properties["nodes"] = {
        "description": "[nodes.NAME]: addresses and rules of other nodes.",
        "type": "object",
        "propertyNames": {"pattern": _whole(NAME)},
        "additionalProperties": _table(NODE_KEYS, {"master": _list(_rule())}),
    }
    properties["sites"] = {
        "description": "[sites.NAME]: other sites, the messages sent to them, and those accepted from them.",
        "type": "object",
        "propertyNames": {"pattern": _whole(NAME)},
        "additionalProperties": _table(REMOTE_KEYS, {"accepts": _table(ACCEPT_KEYS)}),
    }
    properties["queues"] = _list(_table(QUEUE_KEYS, required=tuple(QUEUE_KEYS)))
    return {
        "$schema": DIALECT,
        "title": "mesh.toml",
        "description": "The configuration of a Heronry node.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _section(section: str, struct: type[msgspec.Struct]) -> Schema:
    _, components = msgspec.json.schema_components([struct])
    found: Schema = dict(components[struct.__name__], properties={})
    for field in msgspec.structs.fields(struct):
        found["properties"][field.name] = _typed(field.type, field.default)
        if f"{section}.{field.name}" in NAMES:
            found["properties"][field.name]["pattern"] = _whole(NAME)
    return found


def _rule() -> Schema:
    """Return the schema of a rule, which has a key of MATTERS, or both stratum and refid."""
    filters = _list(_table(FILTER_KEYS, required=("type",)))
    terms = _table(GIVEN_KEYS, {"filters": filters}) | {"oneOf": [{"required": [key]} for key in GIVEN_KINDS]}
    rule = _table(RULE_KEYS, {"filters": filters, "given": _list(terms)})
    full: Schema = {"not": {"enum": [[], ""]}}
    given = [{"required": [key], "properties": {key: full}} for key in MATTERS]
    rest = {"required": ["stratum", "refid"], "properties": {"stratum": {"minimum": 1}, "refid": full}}
    return rule | {"anyOf": [*given, rest]}


def _table(
    known: KeyTypes, inner: Mapping[str, Schema] | None = None, required: Sequence[str] = ()
) -> Schema:
    plain = {key: _typed(type_) | {"description": hint} for key, (type_, hint) in known.items()}
    return {
        "type": "object",
        "properties": plain | dict(inner or {}),
        "additionalProperties": False,
        **({"required": list(required)} if required else {}),
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _typed(type_: Any, default: Any = None) -> Schema:
    """Return the schema of a type without null, which TOML does not have."""
    found: Schema = msgspec.json.schema(type_)
    others = [each for each in found.get("anyOf", ()) if each != {"type": "null"}]
    if len(others) == 1:
        found = others[0]
    return found if default is None else found | {"default": default}


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"
