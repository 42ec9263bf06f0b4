"""Upper limits for the cost of an XPath, and the names it needs, computed before it runs."""

# Law 1: no XPath costs more than its limit for any document within the limits of `keyxml.py`.
# Law 2: all XPaths of the rules together cost at most MOST_TOGETHER.
# Law 3: a document that lacks a name that an XPath needs does not match it.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mesh.errors import BadXPath
from mesh.mapping.xpath_tree import (
    Compare,
    FunctionCall,
    Junction,
    Literal,
    LocationPath,
    PathStep,
    Union,
    XPathTerm,
)

ELEMENTS = 256  # of one document; as many attributes
LEVELS = 16  # nesting depth of elements
NODES = 4 * ELEMENTS  # elements, attributes, and the texts between them
MERGED = 16  # node pairs compared in the time of one visit
# Letters of a contains() argument that cost as much as reading a text once.
SOUGHT = 2

MOST = 500_000  # visits; the slowest found take 40 ns each
MOST_TOGETHER = 10 * MOST  # of all XPaths evaluated for one message
# Advice for a cheaper XPath.
THAT_LOOK_AT_LESS = "use cheaper ones: // once, and no // and .. within brackets."


@dataclass(frozen=True, slots=True)
class _Crowd:
    """The nodes that `askings` evaluations of a term reach.

    There are `many` nodes in total, at most `most` in one evaluation. No node is in more than `often`
    evaluations.
    """

    askings: int
    many: int
    often: int
    most: int = 1


@dataclass(slots=True)
class _Bill:
    visits: int = 0

    def path(self, path: LocationPath, at: _Crowd) -> _Crowd:
        """Return the nodes that a path leads to, and count their cost."""
        if path.is_absolute:
            at = _Crowd(at.askings, at.askings, at.askings)
        for i, step in enumerate(path.steps):
            is_root = not i and path.is_absolute and step.axis == "child"
            at = self._step(step, at, 1 if is_root else NODES)  # a document has one root
        return at

    def _step(self, step: PathStep, at: _Crowd, below: int) -> _Crowd:
        axis = step.axis.removeprefix("descendant ")
        if axis != step.axis or axis == "descendant":
            at = self._down(at, min(at.often * LEVELS, at.many))
        if axis == "parent":
            self.visits += at.many
            at = _Crowd(at.askings, at.many, min(at.askings, at.many), at.most)
        elif axis in ("child", "attribute"):
            at = self._down(at, at.often, below)
        for where in step.wheres:
            self.term(where, _Crowd(at.many, at.many, at.often))
        return at

    def _down(self, at: _Crowd, often: int, below: int = NODES) -> _Crowd:
        """Count the cost of a step to the nodes below, each of which is reached `often` times."""
        self.visits += often * below
        often = min(often, at.askings)
        many = often * below
        if at.most > 1:  # results of several are merged
            self.visits += many * NODES // MERGED
        return _Crowd(at.askings, many, often, below)

    def term(self, term: XPathTerm, at: _Crowd) -> None:
        """Count the cost of a term at the nodes `at`."""
        self.visits += at.askings
        match term:
            case LocationPath():
                self.path(term, at)
            case Union(paths):
                for path in paths:
                    found = self.path(path, at)
                    self.visits += found.many * NODES // MERGED
            case Junction(terms=terms):
                for each in terms:
                    self.term(each, at)
            case Compare(left=left, right=right):
                sides = [self._texts(left, at), self._texts(right, at)]
                if all(sides):  # each of one side with each of the other
                    self.visits += min(sides) * NODES // MERGED
            case FunctionCall("contains", (text, Literal(str(sought)))):
                letters = self._read(text, at)
                self.visits += letters * (1 + len(sought) // SOUGHT)
            case FunctionCall("contains" | "starts-with" | "string-length" | "normalize-space", given):
                letters = self._read(given[0], at)
                self.visits += letters
            case FunctionCall(given=given):
                for each in given:
                    self.term(each, at)

    def _texts(self, term: XPathTerm, at: _Crowd) -> int:
        """Count the cost of one side of a comparison, and return its number of texts; 0 if it is no path."""
        match term:
            case LocationPath():
                crowd = self.path(term, at)
                self.visits += _reading(crowd, term)
                return crowd.many
            case Union(paths):
                return sum(self._texts(path, at) for path in paths)
        self.term(term, at)
        return 0

    def _read(self, term: XPathTerm, at: _Crowd) -> int:
        """Count the cost of the path in an argument, and return the visits that read its text, at least 1."""
        match term:
            case LocationPath():
                return max(1, _reading(self.path(term, at), term))
            case Union(paths):
                return sum(self._read(path, at) for path in paths)
        return at.askings


def _reading(crowd: _Crowd, path: LocationPath) -> int:
    """Return the visits needed to read the texts of the nodes, including nested elements."""
    is_flat = bool(path.steps) and (
        path.steps[-1].axis.endswith("attribute") or path.steps[-1].test == "text()"
    )
    levels = 1 if is_flat else LEVELS
    return min(crowd.often * levels, crowd.many) * NODES + crowd.many


def price(term: XPathTerm) -> int:
    """Return the maximum number of visits of a term."""
    bill = _Bill()
    bill.term(term, _Crowd(1, 1, 1))
    return bill.visits


def checked_price(term: XPathTerm, text: str) -> int:
    """Return the maximum number of visits. Raises: BadXPath, if it is too high."""
    visits = price(term)
    if visits > MOST:
        hint = "Use // at most once, and no //, .. or long path within brackets."
        what = f"The XPath {text!r} may have to read {visits:,} XML nodes; the limit is {MOST:,}"
        raise BadXPath(f"{what}.", hint=hint)
    return visits


def check_together(prices: Iterable[int]) -> None:
    """Check the total of XPaths evaluated for one message. Raises: BadXPath."""
    visits = sum(prices)
    if visits > MOST_TOGETHER:
        what = too_many_visits("The XPaths of all rules", visits, MOST_TOGETHER)
        raise BadXPath(what, hint=f"Write fewer, or {THAT_LOOK_AT_LESS}")


def too_many_visits(whose: str, visits: int, most: int) -> str:
    return f"{whose} may have to read {visits:,} XML nodes for one message; the limit is {most:,}."


# --- names --------------------------------------------------------------------------------------------------


def needed(term: XPathTerm) -> frozenset[str]:
    """Return the names that a document must contain for the term to match."""
    match term:
        case LocationPath(steps=steps):
            return frozenset().union(*map(_of_step, steps))
        case Junction("and", terms):
            return frozenset().union(*map(needed, terms))
        case Junction("or", terms):
            return frozenset.intersection(*map(needed, terms))
        case Union(paths):
            return frozenset.intersection(*map(needed, paths))
        case Compare(left=left, right=right) if _is_of_texts(left) and _is_of_texts(right):
            return needed(left) | needed(right)
    return frozenset()


def _of_step(step: PathStep) -> frozenset[str]:
    named = step.test if step.axis.split()[-1] in ("child", "descendant", "attribute") else "*"
    own = frozenset() if named == "*" or named.endswith("()") else frozenset({named})
    return own.union(*map(needed, step.wheres))


def _is_of_texts(term: XPathTerm) -> bool:
    """Return whether a comparison with the term is false if the term finds nothing."""
    return isinstance(term, LocationPath | Union | Literal)


def reads_key(term: XPathTerm) -> bool:
    """Return whether the term may depend on a message's key or domain, which are attributes."""
    match term:
        case LocationPath(steps=steps):
            own = any(s.axis.endswith("attribute") and s.test in ("oid", "domain", "*") for s in steps)
            return own or any(reads_key(where) for step in steps for where in step.wheres)
        case Junction(terms=inner) | Union(paths=inner) | FunctionCall(given=inner):
            return any(map(reads_key, inner))
        case Compare(left=left, right=right):
            return reads_key(left) or reads_key(right)
    return False
