"""Parses property files as xmlBlaster does: names, values and lines."""

# Law 1: a file is read in one pass, and the expansion of ${names} is bounded.
# Law 2: each value keeps the line of its name.

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mesh.config.source import is_secret, read_text
from mesh.errors import BadConfig

LONGEST = 64 * 1024  # characters of an expanded value
DEEPEST = 16  # nested ${names}
MOST = 10_000  # properties

_NAME = re.compile(r"((?:\\.|[^\\\s:=])+)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{([^${}]*)\}")
_OF_NODE = re.compile(r"(?P<name>[^\[\]]+)\[(?P<node>[^\[\]]*)\]")
_MEANS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Property:
    """A name and its value. `node` is the text in brackets after the name, or `None`."""

    name: str
    node: str | None
    value: str = field(repr=False)  # may be a password
    origin: str  # FILE:LINE, or "command line"
    lines: tuple[int, ...] = ()  # line in the file of each line of the value
    missing: str | None = None  # an undefined name in ${} in the value
    is_variable: bool = False  # another value refers to it in ${}

    def __str__(self) -> str:
        return self.name if self.node is None else f"{self.name}[{self.node}]"

    def place(self, line: int, column: int = 0) -> str:
        """Return the place of a line of the value, counted from 1: FILE:LINE or FILE:LINE:COLUMN.

        A property of the command line has no lines.
        """
        if not self.lines:
            return self.origin
        file, at = self.origin.rpartition(":")[0], self.lines[min(line, len(self.lines)) - 1]
        return f"{file}:{at}" + (f":{column}" if column else "")


def read_properties(path: Path, notes: list[str] | None = None) -> tuple[Property, ...]:
    """Return the properties of a file; `notes` as for `parsed`. Raises: BadConfig."""
    return parsed(path, read_text(path, "iso-8859-1"), notes)


def parsed(path: Path, text: str, notes: list[str] | None = None) -> tuple[Property, ...]:
    """Return the properties in `text`, the content of the file `path`.

    `notes` receives duplicate names, of which the last counts, and values without a name. With `None` both
    are refused. Raises: BadConfig.
    """
    found: dict[str, Property] = {}
    for lines, entry in _entries(text):
        origin = f"{path}:{lines[0]}"
        named = _NAME.match(entry)
        if named is None:  # the value may be a secret
            _doubt(
                notes,
                f"{origin}: the line has a value without a name",
                "Write name=value; a comment begins with #.",
            )
            continue
        name = _unescaped(named[1])
        if name in found:
            what = f"{origin}: {name[:80]!r} is already set in {found[name].origin}"
            _doubt(notes, what, "Keep one of them.")
        if len(found) >= MOST:
            raise BadConfig(
                f"{origin}: the file has more than {MOST:,} properties.", hint="Check the file's name."
            )
        found[name] = _property(name, _unescaped(entry[named.end() :]), origin, lines)
    values = {name: each.value for name, each in found.items()}
    used = {name for value in values.values() for name in _VARIABLE.findall(value)}
    return tuple(replace(_filled(each, values), is_variable=name in used) for name, each in found.items())


def _doubt(notes: list[str] | None, what: str, hint: str) -> None:
    if notes is None:
        raise BadConfig(f"{what}.", hint=hint)
    notes.append(what)


def from_words(words: Iterable[str]) -> tuple[Property, ...]:
    """Return the `-name value` properties of a command line; the last of a name counts. Raises: BadConfig."""
    found: dict[str, Property] = {}
    rest, before = iter(words), ""
    for word in rest:
        if len(word) < 2 or word[0] != "-":
            hint = "Write properties as -name value, such as -pingInterval 2000."
            place = f"after the value of {before[:80]}" if before else "before the first property"
            raise BadConfig(f"command line: the word {place} is not the name of a property.", hint=hint)
        before = word
        if is_secret(word):
            name = word.partition("=")[0]
            what = f"command line: every user could see the value of {name[:80]} in the list of processes."
            hint = "Choose another password, and put it into the --properties file, which only you can read."
            raise BadConfig(what, hint=hint, code="SECRET_SHOWN")
        value = next(rest, None)
        if value is None:
            hint = "Write the name and the value as two words, such as -pingInterval 2000."
            raise BadConfig(f"command line: {word[:80]} has no value.", hint=hint)
        if len(value) > LONGEST:
            what = f"command line: the value of {word[:80]} has more than {LONGEST:,} characters."
            raise BadConfig(what, hint="Shorten the value.")
        name = word[1:]
        found[name] = _property(name, value, "command line", ())
    return tuple(found.values())


def merged(*layers: Iterable[Property]) -> tuple[Property, ...]:
    """Return the properties of all layers; a later one replaces an earlier one of the same name."""
    return tuple({str(each): each for layer in layers for each in layer}.values())


def _property(name: str, value: str, origin: str, lines: tuple[int, ...]) -> Property:
    """Return a property, with the node in `name[node]` split off. Other brackets stay in the name."""
    if of_node := _OF_NODE.fullmatch(name):
        return Property(of_node["name"], of_node["node"], value, origin, lines)
    return Property(name, None, value, origin, lines)


def _entries(text: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield entries with their line numbers: continued lines joined, comments and empty lines dropped."""
    numbers: list[int] = []
    parts: list[str] = []
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        said = line.lstrip(" \t\f") if not parts else line
        if not parts and (not said or said[0] in "#!"):
            continue
        numbers.append(number)
        is_continued = (len(said) - len(said.rstrip("\\"))) % 2 == 1
        parts.append(said[:-1] if is_continued else said)
        if not is_continued:
            yield tuple(numbers), "\n".join(parts).rstrip("\n")
            numbers, parts = [], []
    if parts:
        yield tuple(numbers), "\n".join(parts).rstrip("\n")


def _unescaped(text: str) -> str:
    def means(found: re.Match[str]) -> str:
        said = found[1]
        return chr(int(said[1:], 16)) if len(said) == 5 else _MEANS.get(said, said)

    return _ESCAPE.sub(means, text) if "\\" in text else text


def _filled(property_: Property, values: Mapping[str, str]) -> Property:
    """Return the property with ${names} expanded; `missing` is an undefined name. Raises: BadConfig."""
    value = property_.value
    for _ in range(DEEPEST):
        names = _VARIABLE.findall(value)
        known = [name for name in names if name in values]
        if not known:
            return replace(property_, value=value, missing=names[0] if names else None)
        if len(value) + sum(len(values[name]) - len(f"${{{name}}}") for name in known) > LONGEST:
            what = f"{property_} with its ${{names}} replaced has more than {LONGEST:,} characters"
            raise BadConfig(f"{property_.origin}: {what}.", hint="Shorten these values.")
        value = _VARIABLE.sub(lambda found: values.get(found[1], found[0]), value)
    hint = "No property may refer to itself, not even through others; otherwise use fewer levels."
    what = f"its ${{names}} form a loop, or have {DEEPEST} or more levels"
    raise BadConfig(f"{property_.origin}: {property_}: {what}.", hint=hint)


def refuse_missing(property_: Property) -> None:
    if property_.missing is not None:
        missing = "" if is_secret(property_.name) else property_.missing[:80]
        named = f"${{{missing}}}, which is not defined" if missing else "an undefined property in ${}"
        what = f"{property_.origin}: {property_} refers to {named}."
        raise BadConfig(what, hint="Define that property in the same file.")
