"""A property file as xmlBlaster reads it: which names it sets, to what, and on which line."""

# Law 1: it is read in one pass, and what it may grow to by ${names} is bounded.
# Law 2: each value keeps the line where its name stands.

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mesh.config.source import is_secret, read_text
from mesh.errors import BadConfig

LONGEST = 64 * 1024  # characters of a value, with what its ${names} stand for
DEEPEST = 16  # ${names} within what others stand for
MOST = 10_000  # properties

_NAME = re.compile(r"((?:\\.|[^\\\s:=])+)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{([^${}]*)\}")
_OF_NODE = re.compile(r"(?P<name>[^\[\]]+)\[(?P<node>[^\[\]]*)\]")
_MEANS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Property:
    """One name and its value. `node`: that in the brackets behind the name; None: there are none."""

    name: str
    node: str | None
    value: str = field(repr=False)  # perhaps a password
    origin: str  # FILE:LINE, or "command line"
    lines: tuple[int, ...] = ()  # of the file, for each line of the value
    missing: str | None = None  # a name in ${} in the value that nothing has
    is_variable: bool = False  # another value names it in ${}

    def __str__(self) -> str:
        return self.name if self.node is None else f"{self.name}[{self.node}]"

    def place(self, line: int, column: int = 0) -> str:
        """The origin of a line of its value, counted from 1."""
        if not self.lines:
            return self.origin
        file, at = self.origin.rpartition(":")[0], self.lines[min(line, len(self.lines)) - 1]
        return f"{file}:{at}" + (f":{column}" if column else "")


def read_properties(path: Path, notes: list[str] | None = None) -> tuple[Property, ...]:
    """All that a file sets; `notes` as for `parsed`. Raises: BadConfig."""
    return parsed(path, read_text(path, "iso-8859-1"), notes)


def parsed(path: Path, text: str, notes: list[str] | None = None) -> tuple[Property, ...]:
    """Return the properties in `text`, as if it stood in that file.

    `notes` receives what the file sets twice, where the last counts, and values without a name; `None`: they
    are refused. Raises: BadConfig.
    """
    found: dict[str, Property] = {}
    for lines, entry in _entries(text):
        origin = f"{path}:{lines[0]}"
        named = _NAME.match(entry)
        if named is None:  # the value may be a secret
            _doubt(notes, f"{origin}: a value without a name", "Write name=value; a comment begins with #.")
            continue
        name = _unescaped(named[1])
        if name in found:
            what = f"{origin}: {name[:80]!r} was set in {found[name].origin}"
            _doubt(notes, what, "Take one of them out.")
        if len(found) >= MOST:
            raise BadConfig(f"{origin}: more than {MOST:,} properties.", hint="Check the file's name.")
        found[name] = _property(name, _unescaped(entry[named.end() :]), origin, lines)
    values = {name: each.value for name, each in found.items()}
    used = {name for value in values.values() for name in _VARIABLE.findall(value)}
    return tuple(replace(_filled(each, values), is_variable=name in used) for name, each in found.items())


def _doubt(notes: list[str] | None, what: str, hint: str) -> None:
    if notes is None:
        raise BadConfig(f"{what}.", hint=hint)
    notes.append(what)


def from_words(words: Iterable[str]) -> tuple[Property, ...]:
    """What a command line sets: `-name value`, for each name. BadConfig."""
    found: dict[str, Property] = {}
    rest, before = iter(words), ""
    for word in rest:
        if len(word) < 2 or word[0] != "-":
            hint = "Properties are given as -name value, such as -pingInterval 2000."
            place = f"behind the value of {before[:80]}" if before else "first"
            raise BadConfig(f"command line: the word {place} is no name of a property.", hint=hint)
        before = word
        if is_secret(word):
            what = f"command line: {word[:80]} stands in the list of processes, where every user reads it."
            hint = "Choose another one, and write it into the file of --properties, which only you can read."
            raise BadConfig(what, hint=hint, code="SECRET_SHOWN")
        value = next(rest, None)
        if value is None:
            raise BadConfig(f"command line: {word[:80]} has no value.", hint=f"Such as {word[:80]} 1000.")
        if len(value) > LONGEST:
            raise BadConfig(f"command line: {word[:80]} is too long.", hint="Write it into a file.")
        name = word[1:]
        found[name] = _property(name, value, "command line", ())
    return tuple(found.values())


def merged(*layers: Iterable[Property]) -> tuple[Property, ...]:
    """All of them; of those with one name the last counts."""
    return tuple({str(each): each for layer in layers for each in layer}.values())


def _property(name: str, value: str, origin: str, lines: tuple[int, ...]) -> Property:
    """Names with other brackets, such as those of xmlBlaster's plug-ins, stay whole."""
    if of_node := _OF_NODE.fullmatch(name):
        return Property(of_node["name"], of_node["node"], value, origin, lines)
    return Property(name, None, value, origin, lines)


def _entries(text: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """Lines, joined where one ends with a backslash; without comments and empty ones."""
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
    """The property with what the ${names} in its value stand for; `missing` where one stands for nothing."""
    value = property_.value
    for _ in range(DEEPEST):
        names = _VARIABLE.findall(value)
        known = [name for name in names if name in values]
        if not known:
            return replace(property_, value=value, missing=names[0] if names else None)
        if sum(len(values[name]) for name in known) + len(value) > LONGEST:
            raise BadConfig(f"{property_.origin}: {property_} has more than {LONGEST:,} characters.")
        value = _VARIABLE.sub(lambda found: values.get(found[1], found[0]), value)
    hint = "No ${name} may stand for itself."
    raise BadConfig(f"{property_.origin}: {property_}: its ${{names}} run in a circle.", hint=hint)


def refuse_missing(property_: Property) -> None:
    """Raise BadConfig if its value names something in ${} that the file does not set."""
    if property_.missing is not None:
        named = "what it names in ${}" if is_secret(property_.name) else repr(property_.missing[:80])
        what = f"{property_.origin}: {property_}: nothing is called {named}."
        raise BadConfig(what, hint="Set it in the same file.")
