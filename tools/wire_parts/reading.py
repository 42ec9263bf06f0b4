"""Reads the meaning of fields from docstrings, and of constants from their comments."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, get_type_hints

import msgspec

from tools.wire_parts.words import default_in_words, type_in_words

ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)


class Field(NamedTuple):
    """A field of a struct: its name on the wire, and the cells of its row."""

    name: str
    type: str
    default: str
    meaning: str


class Constant(NamedTuple):
    """A constant of a module, with its comment."""

    name: str
    value: Any
    meaning: str


def one_line(text: str) -> str:
    return " ".join(text.split())


def sentence(shape: type) -> str:
    """Return the first paragraph of a docstring on one line."""
    return one_line(inspect.cleandoc(shape.__doc__ or "").partition("\n\n")[0])


def description(shape: type) -> Iterator[str]:
    """Yield the paragraphs of a docstring before its attributes."""
    text, _, _ = inspect.cleandoc(shape.__doc__ or "").partition("Attributes:\n")
    for paragraph in text.split("\n\n"):
        yield one_line(paragraph)


def meanings(shape: type) -> Mapping[str, str]:
    """Return the meaning of each field, from the docstrings of a struct and its bases."""
    found: dict[str, str] = {}
    for each in reversed(shape.__mro__):
        _, _, attributes = inspect.cleandoc(each.__doc__ or "").partition("\nAttributes:\n")
        found |= {name: one_line(text) for name, text in ATTRIBUTE.findall(attributes)}
    return found


def fields(shape: type[msgspec.Struct]) -> Iterator[Field]:
    """Yield the fields of a struct. Raises: KeyError, for a field without a meaning."""
    hints, said = get_type_hints(shape, include_extras=True), meanings(shape)
    for field in msgspec.structs.fields(shape):
        kind = type_in_words(hints[field.name])
        yield Field(field.encode_name, kind, default_in_words(field), said[field.name])


def constants(module: ModuleType) -> Iterator[Constant]:
    """Yield the constants of a module that have a comment, behind them or in the line above."""
    lines = Path(module.__file__ or "").read_text(encoding="utf-8").splitlines()
    for node in ast.parse("\n".join(lines)).body:
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        name, end = node.targets[0].id, node.end_lineno or node.lineno
        behind, above = lines[end - 1][node.end_col_offset :].strip(), lines[node.lineno - 2]
        comment = behind or (above if above.startswith("# ") else "")
        if comment:
            yield Constant(name, getattr(module, name), comment.removeprefix("# "))
