"""Filters: conditions of a rule on a single message, besides its key and domain."""

# Law 1: a filter returns true or false for any message, in a time bounded by the length of the message.
# Law 2: a filter that fails returns false.

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from mesh.entry_points import entries
from mesh.errors import BadFilter, MeshError

GROUP, MAPPERS = "mesh.filters", "mesh.mappers"  # the entry-point groups
LONGEST = 1024  # characters of a filter's argument
VERSION = "1.0"  # default version


class FilteredMessage(Protocol):
    """A message as a filter sees it."""

    @property
    def key(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def content(self) -> bytes: ...
    def header(self, name: str) -> str | None:
        """Return the first value of a header, or None."""


Test = Callable[[FilteredMessage], bool]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter as configured: a type, its argument, and a version.

    A mapper, which decides in place of a whole rule, is represented in the same way.
    """

    type: str
    text: str
    version: str = VERSION
    group: str = GROUP

    def __str__(self) -> str:
        return f"{self.type} {self.text[:80]}".strip()


def made(filter_: Filter) -> Test:
    """Return the test of a filter.

    Raises: BadFilter, if the filter is too long, is not installed, or rejects its argument.
    """
    if len(filter_.text) > LONGEST:
        what = f"The text of {filter_.type[:80]!r} has {len(filter_.text):,} characters"
        raise BadFilter(f"{what}; the limit is {LONGEST:,}.")
    if filter_.group == MAPPERS:
        return plugged(MAPPERS, "mapper", filter_.type, filter_.version, ("DomainToMaster",))(filter_.text)
    if filter_.type in OURS:
        if filter_.version != VERSION:
            what = f"{filter_.type} {filter_.version} is not installed"
            raise BadFilter(f"{what}. Installed: {VERSION}.", hint="Omit the version.")
        return OURS[filter_.type](filter_.text.strip())
    return plugged(GROUP, "filter", filter_.type, filter_.version, tuple(OURS))(filter_.text)


def plugged(group: str, what: str, name: str, version: str, ours: tuple[str, ...]) -> Callable[..., Test]:
    """Return the factory that another distribution registers as `NAME` or `NAME:VERSION`.

    An exception in a test counts as false. Raises: BadFilter if there is no such factory. The factory raises
    BadFilter if it cannot make the test.
    """
    found = {entry.name: entry for entry in entries(group)}
    entry = found.get(f"{name}:{version}") or (found.get(name) if version == VERSION else None)
    if entry is None:
        known = sorted({*ours, *found})
        near = difflib.get_close_matches(name[:80], known, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        said = name[:80] if version == VERSION else f"{name[:80]} {version[:20]}"
        raise BadFilter(
            f"The {what} {said!r} is not installed.", hint=f"{meant}Installed: {', '.join(known)}."
        )

    def make(*told: Any) -> Test:
        try:
            test = entry.load()(*told)
        except Exception as error:  # foreign code may raise anything
            why = error.what if isinstance(error, MeshError) else f"{type(error).__name__}: {error!s:.200}"
            raise BadFilter(
                f"The {what} {entry.name} ({entry.value}) cannot be created: {why.rstrip('.')}.",
                hint="Correct its argument in the rule, or fix or uninstall its package.",
            ) from error
        return _guarded(test)

    return make


def _guarded(test: Callable[[FilteredMessage], object]) -> Test:
    def guarded(message: FilteredMessage) -> bool:
        try:
            return bool(test(message))
        except Exception:  # Law 2
            return False

    return guarded


# --- built-in filters ---------------------------------------------------------------------------------------


def _length(text: str) -> Test:
    try:
        most = int(text)
    except ValueError:
        most = -1
    if not 0 < most < 2**40:
        raise BadFilter(
            f"ContentLength {text[:40]!r} is not a number of bytes above 0 and below 1 TiB.",
            hint="Write a number such as 8000, which matches shorter contents.",
        )
    return lambda message: len(message.content) < most


def _type(text: str) -> Test:
    if not text:
        raise BadFilter(
            "ContentType needs a content type as its text.",
            hint="Write text/xml, for example, or text/* for all text types.",
        )
    like = _glob(text.lower())
    return lambda message: (said := message.header("content-type")) is not None and like(said.lower())


def _content_glob(text: str) -> Test:
    if not text:
        raise BadFilter("ContentGlob has no pattern.", hint="Write a pattern such as *loose*.")
    like = _glob(text)
    return lambda message: like(message.content.decode("utf-8", "replace"))


def _glob(pattern: str) -> Callable[[str], bool]:
    """Return a matcher of bounded time, where `*` stands for any characters and `?` for one."""
    pieces = pattern.split("*")
    first, last, middle = pieces[0], pieces[-1], [piece for piece in pieces[1:-1] if piece]
    if len(pieces) == 1:
        return lambda text: len(text) == len(pattern) and _is_at(pattern, text, 0)

    def matches(text: str) -> bool:
        end = len(text) - len(last)
        if end < len(first) or not _is_at(first, text, 0) or not _is_at(last, text, end):
            return False
        place = len(first)
        for piece in middle:
            place = _found(piece, text, place, end) + len(piece)
            if place < len(piece):
                return False
        return True

    return matches


def _is_at(piece: str, text: str, place: int) -> bool:
    if "?" not in piece:
        return text.startswith(piece, place)
    return all(want in ("?", have) for want, have in zip(piece, text[place:], strict=False))


def _found(piece: str, text: str, place: int, end: int) -> int:
    """Return the first index of `piece`, or a value that stays negative when its length is added."""
    if "?" not in piece:
        at = text.find(piece, place, end)
    else:
        at = next((i for i in range(place, end - len(piece) + 1) if _is_at(piece, text, i)), -1)
    return at if at >= 0 else -1 - len(piece)


def _regex(text: str) -> Test:
    """Return a test that uses RE2, which runs in linear time; `re` may take exponential time."""
    try:
        re2 = importlib.import_module("re2")
    except ImportError:
        hint = "Run pip install 'heronry[regex]', or use a ContentGlob such as *loose*."
        raise BadFilter("ContentRegex needs google-re2, which is not installed.", hint=hint) from None
    try:
        options = re2.Options()
        options.max_mem, options.log_errors = 1 << 20, False
        found = re2.compile(text.encode(), options)
    except re2.error as error:
        why = error.args[0] if error.args else error
        why = why.decode(errors="replace") if isinstance(why, bytes) else why  # re2 gives bytes
        what = f"ContentRegex {text[:80]!r} is invalid: {why!s:.100}."
        raise BadFilter(what, hint="Write a regular expression of RE2, such as .*loose.*") from error
    return lambda message: found.fullmatch(message.content) is not None


OURS: dict[str, Callable[[str], Test]] = {
    "ContentGlob": _content_glob,
    "ContentLength": _length,
    "ContentRegex": _regex,
    "ContentType": _type,
}
