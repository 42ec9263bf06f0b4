"""Says in words why a value has the wrong type, size or fields, in place of the texts of msgspec."""

from __future__ import annotations

import re

TYPES = {
    "array": "a list",
    "bool": "true or false",
    "bytes": "bytes",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "a table",
    "str": "a text",
}
GIVEN = {**TYPES, "float": "a decimal number"}
BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
UNITS = {"array": "entries", "str": "characters", "object": "entries", "bytes": "bytes"}

_WHERE = re.compile(r" - at `\$?([^`]*)`$")
_TYPE = re.compile(r"Expected `([a-z |]+)`(?:, got `([a-z]+)`)?$")
_BOUND = re.compile(r"Expected `([a-z]+)` (of length )?([<>]=?) (\S+)$")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `([^`]*)`$")


def why_invalid(error: Exception) -> str:
    """Return why msgspec has refused a value, such as "it must be a list, not a whole number".

    The place within a larger value is named. An unknown text of msgspec is returned as it is.
    """
    text = str(error)
    where = _WHERE.search(text)
    text = text[: where.start()] if where else text
    subject = (where[1].lstrip(".") if where else "") or "it"
    subject = f"entry {subject}" if subject[0] == "[" else subject
    if found := _TYPE.match(text):
        got = f", not {GIVEN.get(found[2], found[2])}" if found[2] else ""
        return f"{subject} must be {_types(found[1])}{got}"
    if found := _BOUND.match(text):
        kind, is_length, bound, number = found.groups()
        unit = f" {UNITS.get(kind, '')}" if is_length else ""
        return f"{subject} must be {TYPES.get(kind, kind)} of {BOUNDS[bound]} {number}{unit}"
    if found := _FIELD.match(text):
        return f"{subject} {'lacks' if 'missing' in found[1] else 'has the unknown field'} {found[2]!r}"
    return str(error)


def _types(names: str) -> str:
    kinds = [kind for kind in names.split(" | ") if kind != "null"]
    return " or ".join(TYPES.get(kind, kind) for kind in kinds)
