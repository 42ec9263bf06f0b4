"""Topic patterns, and a trie that finds the patterns for a key.

A key consists of levels, separated by `/`. In a pattern `+` matches any one level, and `#`, at the end only,
any number of levels, including none: `sensors/#` matches `sensors` and `sensors/kitchen/temp`. A pattern
without either matches the equal key. Keys of the mesh itself, which begin with `__sys__`, are matched only by
patterns that begin with it too, because a subscriber of `#` does not expect them.
"""

from typing import Generic, TypeVar

from mesh.errors import BadPattern
from mesh.values import LONGEST_KEY, check_text

T = TypeVar("T")
SYSTEM = "__sys__"


def check_pattern(text: str) -> str:
    """Return the pattern if it is valid. Raises: BadPattern."""
    if text == "":
        raise BadPattern("The pattern is empty.", hint="'#' matches everything.")
    check_text(text, "pattern", LONGEST_KEY, BadPattern)
    *before, last = text.split("/")
    if "#" in before:
        raise BadPattern(
            f"The pattern {text[:80]!r} continues after '#'.",
            hint="Use '#' only at the end; '+' stands for one level in between.",
        )
    for level in (*before, last):
        if len(level) > 1 and ("+" in level or "#" in level):
            raise BadPattern(
                f"The pattern {text[:80]!r} has a wildcard within the level {level[:40]!r}.",
                hint="'+' and '#' stand for whole levels, as in sensors/+/temp, never for a part of one.",
            )
    return text


def meant(text: str) -> str:
    """Return the pattern for a text with wildcards of other systems, such as a/*, a/**, a.* and a.>.

    Return "" if the text has none of them as a whole level.
    """
    levels = text.split("." if "/" not in text else "/")
    has_star = "*" in levels
    for place, level in enumerate(levels):
        if level in ("**", ">"):
            return "/".join([*levels[:place], "#"])
        if level == "*":
            levels[place] = "+"
    return "/".join(levels) if has_star else ""


def check_meant(text: str) -> None:
    """Raise BadPattern for a key or pattern with the wildcards of another system."""
    if not text.startswith(SYSTEM) and (pattern := meant(text)):
        raise BadPattern(
            f"{text[:80]!r} has a wildcard of another system.",
            hint=f"Write it as {pattern[:80]!r}, and pass it as a pattern: '+' is one level, '#' at the end "
            "is all that follow.",
        )


def matches(pattern: str, key: str) -> bool:
    if pattern == key:  # the usual case
        return True
    if key.startswith(SYSTEM) and not pattern.startswith(SYSTEM):
        return False
    wanted, levels = pattern.split("/"), key.split("/")
    for place, level in enumerate(wanted):
        if level == "#":
            return True
        if place == len(levels) or level not in ("+", levels[place]):
            return False
    return len(wanted) == len(levels)


def may_share(one: str, other: str) -> bool:
    """Return whether some key matches both patterns."""
    if one.startswith(SYSTEM) != other.startswith(SYSTEM):
        return False
    ones, others = one.split("/"), other.split("/")
    for a, b in zip(ones, others, strict=False):
        if "#" in (a, b):
            return True
        if a != b and "+" not in (a, b):
            return False
    shorter, longer = sorted((ones, others), key=len)
    return len(ones) == len(others) or shorter[-1] == "#" or longer[len(shorter) :] == ["#"]


class Trie(Generic[T]):
    """A set of (pattern, value) pairs, searched by key. The caller checks the patterns."""

    __slots__ = ("_exact", "_root")

    def __init__(self) -> None:
        # Most subscriptions name one key. A dict beside the trie finds these immediately and saves nodes.
        self._exact: dict[str, set[T]] = {}
        self._root: _Level[T] = _Level()

    def add(self, pattern: str, value: T) -> None:
        """Add a pair; adding it again changes nothing."""
        levels = pattern.split("/")
        if "+" not in levels and levels[-1] != "#":
            self._exact.setdefault(pattern, set()).add(value)
            return
        level = self._root
        for name in levels:
            level = level.below.setdefault(name, _Level())
        level.values.add(value)

    def discard(self, pattern: str, value: T) -> None:
        exact = self._exact.get(pattern)
        if exact is not None:
            exact.discard(value)
            if not exact:
                del self._exact[pattern]
            return
        levels = pattern.split("/")
        path = [self._root]
        for name in levels:
            below = path[-1].below.get(name)
            if below is None:
                return
            path.append(below)
        path[-1].values.discard(value)
        while levels and not path[-1].values and not path[-1].below:
            path.pop()
            del path[-1].below[levels.pop()]

    def match(self, key: str) -> set[T]:
        """Return the values of all patterns that match, as a new set."""
        found = set(self._exact.get(key, ()))
        if not self._root.below:
            return found
        # Breadth first, so that no node is visited twice however many `+` there are.
        levels = key.split("/")
        if key.startswith(SYSTEM):
            named = self._root.below.get(levels[0])
            reached, levels = ([named] if named is not None else []), levels[1:]
        else:
            reached = [self._root]
        for name in levels:
            _take_rest(reached, found)
            reached = [
                level.below[wanted] for level in reached for wanted in (name, "+") if wanted in level.below
            ]
            if not reached:
                return found
        _take_rest(reached, found)
        for level in reached:
            found |= level.values
        return found


class _Level(Generic[T]):
    """A node of the trie: its children, and the values of patterns that end here."""

    __slots__ = ("below", "values")

    def __init__(self) -> None:
        self.below: dict[str, _Level[T]] = {}
        self.values: set[T] = set()


def _take_rest(reached: list[_Level[T]], found: set[T]) -> None:
    for level in reached:
        rest = level.below.get("#")
        if rest is not None:
            found |= rest.values
