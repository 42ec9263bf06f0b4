"""Reads a mesh.toml with the line of each key, and converts its values."""

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from mesh.errors import BadConfig
from mesh.regular import open_regular
from mesh.wrong_values import why_invalid

LARGEST_FILE = 1024 * 1024  # bytes
DEEPEST = 7  # parts of the longest path of a key

_WORD = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_PATH = rf"\s*{_WORD}(?:\s*\.\s*{_WORD})*\s*"
_HEADER = re.compile(rf"\s*(\[\[?)({_PATH})\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(rf"({_PATH})=")


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and its origin: "default", "mesh.toml:7", "environment MESH_…", "command line"."""

    name: str
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A parsed file, with the line of each key and section."""

    path: Path
    table: Mapping[str, Any]
    lines: Mapping[tuple[str, ...], int]

    def origin(self, *keys: str) -> str:
        """Return the place of a key, such as `mesh.toml:7`, or else of the nearest enclosing section."""
        around = (self.lines.get(keys[:length]) for length in range(len(keys), 0, -1))
        line = next(filter(None, around), None)
        return f"{self.path}:{line}" if line else str(self.path)


def read_file(path: Path) -> ConfigFile:
    """Return the parsed file. Raises: BadConfig if it is missing, too large, or not TOML in UTF-8."""
    return parsed(path, read_text(path))


def parsed(path: Path, text: str) -> ConfigFile:
    """Parse `text` as the content of the file `path`. Raises: BadConfig if it is not TOML."""
    try:
        return ConfigFile(path, tomllib.loads(text), _lines(text))
    except (ValueError, RecursionError) as error:  # ValueError: an integer of 5,000 digits
        is_syntax = isinstance(error, tomllib.TOMLDecodeError)
        why = error if is_syntax else "a number is too long, or lists are nested too deeply"
        raise BadConfig(f"{path}: the text cannot be read as TOML: {why}.") from error


def fitted(value: object, type_: Any, name: str, origin: str, hint: str, strict: bool = True) -> Any:
    """Return `value` converted to `type_`; unless `strict`, "5" is a number too. Raises: BadConfig."""
    try:
        return msgspec.convert(value, type_, strict=strict)
    except msgspec.ValidationError as error:
        shown = "(hidden)" if is_secret(name) else _shown(value)
        raise BadConfig(f"{origin}: {name} = {shown} is invalid: {why_invalid(error)}.", hint=hint) from error


def is_secret(name: str) -> bool:
    """Return whether the value of the setting `name` must not appear in any output."""
    return "passw" in name.lower()


def values(
    file: ConfigFile,
    at: tuple[str, ...],
    title: str,
    table: Mapping[str, Any],
    known: Mapping[str, tuple[Any, str]],
) -> dict[str, Any]:
    """Return the values of a table, each converted to its type. Raises: BadConfig.

    `known` has for each key the type, and a hint for wrong values.
    """
    found = {}
    for key, value in table.items():
        origin = file.origin(*at, key)
        if key not in known:
            kind = "section" if isinstance(value, dict) else "key"
            near = near_miss(key.lower(), known)  # old files have refId and acceptDefault
            hint = near or f"Known there: {', '.join(known)}."
            if not near and kind == "section" and at[0] == "nodes" and len(at) == 2:
                hint = f'A name with a dot in it is quoted, such as [nodes."heron.example"]. {hint}'
            place = f"section {title}" if title[0] == "[" and title[-1] == "]" else title
            raise BadConfig(f"{origin}: unknown {kind} {key[:80]!r} in {place}.", hint=hint)
        type_, hint = known[key]
        found[key] = fitted(value, type_, f"{title} {key}", origin, hint)
    return found


def near_miss(word: str, known: Iterable[str]) -> str:
    """Return a question that suggests the most similar known word; "" if none is similar."""
    near = difflib.get_close_matches(word[:80], known, n=1)
    return f"Did you mean '{near[0]}'?" if near else ""


def read_text(path: Path, otherwise: str | None = None) -> str:
    """Return the text of a file in UTF-8, or else in the encoding `otherwise`.

    `otherwise` must be able to decode every byte. Raises: BadConfig if the file is missing, too large or not
    UTF-8.
    """
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise BadConfig(f"{path}: the file does not exist.", hint="Check its name.") from None
    except IsADirectoryError:
        raise BadConfig(f"{path}: the path is a directory.", hint="Name a file in that directory.") from None
    except OSError as error:
        hint = "Check the name and the permissions of the file."
        raise BadConfig(f"{path}: the file cannot be read: {error.strerror}.", hint=hint) from error
    if len(content) > LARGEST_FILE:
        raise BadConfig(
            f"{path}: the file is larger than 1 MiB, so it is probably not a configuration.",
            hint="Check its name.",
        )
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if otherwise is not None:
            return content.decode(otherwise)
        line = content.count(b"\n", 0, error.start) + 1
        raise BadConfig(f"{path}:{line}: the text is not UTF-8.", hint="Save the file as UTF-8.") from error


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the number of the first line of each key and section; the first [[a.b]] is ("a", "b", "0")."""
    # tomllib has no positions. This scans lines, so a multi-line string that looks like a key may mislead it.
    found: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    elements: Counter[tuple[str, ...]] = Counter()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _HEADER.match(line):
            section = _words(header[2])
            if header[1] == "[[":
                elements[section] += 1
                section = (*section, str(elements[section] - 1))
            path = section
        elif assignment := _ASSIGNMENT.match(line):
            path = (*section, *_words(assignment[1]))
        else:
            continue
        for length in range(1, min(len(path), DEEPEST) + 1):
            found.setdefault(path[:length], number)
    return found


def _words(path: str) -> tuple[str, ...]:
    return tuple(word[0].strip("\"'") for word in islice(re.finditer(_WORD, path), DEEPEST))


def _shown(value: object) -> str:
    try:
        return f"{value!r:.80}"
    except ValueError:  # Python refuses to print huge integers
        return "a huge number"
