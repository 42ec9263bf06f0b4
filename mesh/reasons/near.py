"""Which of many names may somebody have meant who wrote this one? Bounded work, whatever the names are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

LOOKED_AT = 10_000  # names,
COMPARED = 1000  # and those of them that are as long, and begin or end alike: some 30 ms for all that
LEVELS = 32  # of a pattern
SLIP = 2  # letters that differ, side by side
SPELT = str.maketrans("", "", " _-./")


def near(text: str, names: Iterable[str], most: int = 3) -> list[str]:
    """Up to so many of them that look like it, each once, in the order of the alphabet."""
    return _alike(((name, text) for name in names), most)


def near_patterns(key: str, patterns: Iterable[str], most: int = 3) -> list[str]:
    """Up to so many patterns that match a key which looks like this one, and not this one."""
    return _alike(_wanted(key, patterns), most)


def _wanted(key: str, patterns: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each pattern, with the key in its form."""
    wild = 0
    for pattern in islice(patterns, LOOKED_AT):
        if "+" not in pattern and pattern[-1:] != "#":
            yield pattern, key
        elif pattern.count("/") < LEVELS and wild < COMPARED:
            wild += 1
            yield pattern, as_pattern(pattern, key)


def _alike(pairs: Iterable[tuple[str, str]], most: int) -> list[str]:
    """The names of pairs (name, text) where one looks like the other."""
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
    """Is one a slip of the other: a letter or two, the case, the separators, or the topic above?"""
    return bool(_alike([(name, text)], 1))


def as_pattern(pattern: str, key: str) -> str:
    """The key, with the wildcards of the pattern in their places: what is left differs as names do."""
    levels = key.split("/")
    for place, level in enumerate(pattern.split("/")):
        if level == "#":
            return "/".join([*levels[:place], "#"])
        if level == "+" and place < len(levels):
            levels[place] = "+"
    return "/".join(levels)


def _may_slip(text: str, name: str) -> bool:
    """Are they about as long, longer than a slip, and do they begin or end alike?"""
    longest = max(len(text), len(name))
    if not longest > SLIP or not text or not name or abs(len(text) - len(name)) > SLIP:
        return False
    return text[0] == name[0] or text[-1] == name[-1]


def _slip(text: str, name: str) -> int:
    """How many letters stand between what both begin with and what both end with?"""
    front = _common(text, name)
    back = _common(text[front:][::-1], name[front:][::-1])
    return max(len(text), len(name)) - front - back


def _common(text: str, name: str) -> int:
    """With how many letters do both begin? Found by halves: names may be long, and alike for long."""
    low, high = 0, min(len(text), len(name))
    while low < high:
        middle = (low + high + 1) // 2
        if text[low:middle] == name[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _is_same(text: str, name: str) -> bool:
    """Is it spelt otherwise, or is one the topic above the other?"""
    if abs(len(text) - len(name)) <= 2 * SLIP and _spelt(text) == _spelt(name) != "":
        return True
    return bool(text and name) and (text.startswith(f"{name}/") or name.startswith(f"{text}/"))


def _spelt(text: str) -> str:
    return text.casefold().translate(SPELT)
