"""Finds names that a user may have meant by a misspelled one, with bounded work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

LOOKED_AT = 10_000  # names examined
COMPARED = 1000  # names compared by characters, in about 30 ms
LEVELS = 32  # levels of a pattern
SLIP = 2  # adjacent characters that may differ
SPELT = str.maketrans("", "", " _-./")


def near(text: str, names: Iterable[str], most: int = 3) -> list[str]:
    """Return up to `most` names that resemble the text, without the text itself, in alphabetical order."""
    return _alike(((name, text) for name in names), most)


def near_patterns(key: str, patterns: Iterable[str], most: int = 3) -> list[str]:
    """Return up to `most` patterns that match a key similar to `key`, but do not match `key`."""
    return _alike(_wanted(key, patterns), most)


def _wanted(key: str, patterns: Iterable[str]) -> Iterator[tuple[str, str]]:
    wild = 0
    for pattern in islice(patterns, LOOKED_AT):
        if "+" not in pattern and pattern[-1:] != "#":
            yield pattern, key
        elif pattern.count("/") < LEVELS and wild < COMPARED:
            wild += 1
            yield pattern, as_pattern(pattern, key)


def _alike(pairs: Iterable[tuple[str, str]], most: int) -> list[str]:
    """Return up to `most` names, sorted, from the (name, text) pairs whose name and text are similar."""
    found: set[str] = set()
    compared = 0
    for name, text in islice(pairs, LOOKED_AT):
        if name == text or name in found:
            continue
        may_slip = _may_slip(text, name) and compared < COMPARED
        compared += may_slip
        if (may_slip and _slip(text, name) <= SLIP) or _is_same(text, name):
            found.add(name)
            if len(found) == most:
                break
    return sorted(found)


def is_near(text: str, name: str) -> bool:
    """Return whether one text may be a misspelling of the other, or names a topic above the other.

    Equal texts are not near.
    """
    return bool(_alike([(name, text)], 1))


def as_pattern(pattern: str, key: str) -> str:
    """Return `key` with the wildcards of `pattern` at the same levels, for comparison with `pattern`."""
    levels = key.split("/")
    for place, level in enumerate(pattern.split("/")):
        if level == "#":
            return "/".join([*levels[:place], "#"])
        if level == "+" and place < len(levels):
            levels[place] = "+"
    return "/".join(levels)


def _may_slip(text: str, name: str) -> bool:
    """Return whether the lengths differ by at most SLIP, and the first or last characters are equal.

    The longer text must have more than SLIP characters.
    """
    longest = max(len(text), len(name))
    if not longest > SLIP or not text or not name or abs(len(text) - len(name)) > SLIP:
        return False
    return text[0] == name[0] or text[-1] == name[-1]


def _slip(text: str, name: str) -> int:
    """Return how many characters of the longer text are between the common prefix and the common suffix."""
    front = _common(text, name)
    back = _common(text[front:][::-1], name[front:][::-1])
    return max(len(text), len(name)) - front - back


def _common(text: str, name: str) -> int:
    """Return the length of the common prefix, found by binary search because names may be long."""
    low, high = 0, min(len(text), len(name))
    while low < high:
        middle = (low + high + 1) // 2
        if text[low:middle] == name[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _is_same(text: str, name: str) -> bool:
    """Return whether the texts differ at most in case and separators, or one is a topic above the other."""
    if abs(len(text) - len(name)) <= 2 * SLIP and _spelt(text) == _spelt(name) != "":
        return True
    return bool(text and name) and (text.startswith(f"{name}/") or name.startswith(f"{text}/"))


def _spelt(text: str) -> str:
    return text.casefold().translate(SPELT)
