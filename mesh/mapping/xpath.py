"""Parser for a subset of XPath 1.0. The cost is computed in `cost.py`."""

# Law 1: each XPath engine parses the accepted subset alike, with the same meaning.
# Law 2: the parsing time is limited by the length of the text.

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

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
from mesh.values import check_text

LONGEST = 256  # characters
DEEPEST = 8  # nesting depth of brackets

_TOKEN = re.compile(
    r"""\s*(?: (?P<literal>"[^"]*"|'[^']*') | (?P<number>\d+(?:\.\d+)?) | (?P<word>[^\W\d][\w.-]*)"""
    r""" | (?P<sign>//|::|\.\.|!=|<=|>=|[/.@*()\[\],|=<>]) )""",
    re.VERBOSE | re.ASCII,
)
_EXAMPLE = "An XPath looks like //STOCK_EXCHANGE or //key[@oid='radar.track']."

# Functions and the kinds of their arguments: a path (P), a text (T), a literal (L), or a truth value (B).
FUNCTIONS = {
    "not": ("B",), "true": (), "false": (), "position": (), "last": (), "count": ("P",),
    "contains": ("T", "L"), "starts-with": ("T", "L"), "string-length": ("T",), "normalize-space": ("T",),
}  # fmt: skip
TESTS = ("text", "node")  # written with (), as in text()


COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


def read(text: str) -> XPathTerm:
    """Return the tree of an XPath. Raises: BadXPath, with the position of the error."""
    check_text(text, "XPath", LONGEST, BadXPath)
    return _Reader(text).whole()


class _Reader:
    """Parses an XPath from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._cut()
        self._at = 0
        self._depth = 0

    def whole(self) -> XPathTerm:
        if not self._tokens[0][1]:
            raise BadXPath("The XPath is empty.", hint=_EXAMPLE)
        term = self._either()
        if self._sees:
            self._fail(f"{self._sees!r} is invalid here")
        return term

    # --- tokens -----------------------------------------------------------------------------------------

    def _cut(self) -> list[tuple[str, str, int]]:
        """Return (kind, text, position) of each token, with an empty one at the end."""
        found, place, end = [], 0, len(self._text.rstrip())
        while place < end:
            token = _TOKEN.match(self._text, place)
            if token is None:
                raise self._bad(place, f"{self._text[place:].strip()[:1]!r} is invalid here")
            kind = str(token.lastgroup)
            found.append((kind, token[kind], token.start(kind)))
            place = token.end()
        return [*found, ("", "", end)]

    @property
    def _sees(self) -> str:
        return self._tokens[self._at][1]

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    def _next(self, ahead: int = 1) -> str:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)][1]

    def _take(self) -> str:
        text = self._sees
        self._at += 1
        return text

    def _has(self, *signs: str) -> bool:
        """Consume the next token if it is one of `signs`, and return whether it was."""
        if self._kind in ("sign", "word") and self._sees in signs:
            self._at += 1
            return True
        return False

    def _want(self, sign: str) -> None:
        if not self._has(sign):
            self._fail(
                f"{sign!r} is missing" if not self._sees else f"{sign!r} is expected, not {self._sees!r}"
            )

    def _bad(self, place: int, what: str, hint: str = _EXAMPLE) -> BadXPath:
        return BadXPath(f"The XPath {self._text!r} has an error at character {place + 1}: {what}.", hint=hint)

    def _fail(self, what: str, hint: str = _EXAMPLE) -> NoReturn:
        raise self._bad(self._tokens[self._at][2], what, hint)

    # --- terms ------------------------------------------------------------------------------------------

    def _inside(self, read: Callable[[], XPathTerm]) -> XPathTerm:
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(f"it is nested deeper than {DEEPEST} levels", "Simplify it.")
        term = read()
        self._depth -= 1
        return term

    def _either(self) -> XPathTerm:
        return self._joined("or", self._both)

    def _both(self) -> XPathTerm:
        return self._joined("and", self._compared)

    def _joined(self, word: str, part: Callable[[], XPathTerm]) -> XPathTerm:
        terms = [part()]
        while self._has(word):
            terms.append(part())
        return terms[0] if len(terms) == 1 else Junction(word, tuple(terms))

    def _compared(self) -> XPathTerm:
        left = self._single()
        for sign in COMPARISONS:
            if self._has(sign):
                term = Compare(sign, left, self._single())
                if self._sees in COMPARISONS:
                    self._fail("comparisons cannot be chained", "Write a < b and b < c.")
                return term
        return left

    def _single(self) -> XPathTerm:
        match self._kind:
            case "literal":
                return Literal(self._take()[1:-1])
            case "number":
                return Literal(float(self._take()))
            case "word" if self._next() == "(" and self._sees not in TESTS:
                return self._call()
        if self._has("("):
            term = self._inside(self._either)
            self._want(")")
            return term
        paths = [self._path()]
        while self._has("|"):
            paths.append(self._path())
        return paths[0] if len(paths) == 1 else Union(tuple(paths))

    def _call(self) -> XPathTerm:
        name = self._sees
        if name not in FUNCTIONS:
            hint = f"Use {', '.join(f'{each}()' for each in FUNCTIONS)}."
            self._fail(f"the function {name}() is not supported", hint)
        self._at += 2
        given = []
        for place, kind in enumerate(FUNCTIONS[name]):
            if place:
                self._want(",")
            at = self._at
            given.append(self._inside(self._either))
            if not _suits(given[-1], kind):
                self._at = at
                self._fail(f"{name}() requires {_KINDS[kind]} here")
        self._want(")")
        return FunctionCall(name, tuple(given))

    # --- paths ------------------------------------------------------------------------------------------

    def _path(self) -> LocationPath:
        is_absolute, is_deep = self._sees in ("/", "//"), self._sees == "//"
        if is_absolute:
            self._at += 1
            if not (is_deep or self._begins_step()):
                return LocationPath(True, ())
        steps = [self._step(is_deep)]
        while self._sees in ("/", "//"):
            steps.append(self._step(self._take() == "//"))
        return LocationPath(is_absolute, tuple(steps))

    def _begins_step(self) -> bool:
        return self._kind == "word" or self._sees in ("@", "*", ".", "..")

    def _step(self, is_deep: bool) -> PathStep:
        """Parse a step. With `is_deep` it follows `//`, and begins at all descendants."""
        axis, test = self._axis_and_test()
        wheres = []
        while self._has("["):
            wheres.append(self._inside(self._either))
            self._want("]")
        if wheres and test in (".", ".."):
            self._fail(
                f"{test!r} cannot have a condition in brackets",
                "Put the condition after a name or *, or omit it.",
            )
        if is_deep and axis != "child":
            axis = f"descendant {axis}"
        return PathStep("descendant" if is_deep and axis == "child" else axis, test, tuple(wheres))

    def _axis_and_test(self) -> tuple[str, str]:
        if self._has("."):
            return "self", "."
        if self._has(".."):
            return "parent", ".."
        axis = "attribute" if self._has("@") else "child"
        if self._has("*"):
            return axis, "*"
        if self._kind != "word":
            self._fail(f"a name is missing before {self._sees!r}" if self._sees else "a name is missing")
        word = self._take()
        if self._sees == "::":
            self._fail("named axes such as child:: are not supported", "Use /, //, @, . and .. .")
        if self._sees == "(":
            if word not in TESTS or axis == "attribute":
                self._fail(f"{word}() is not supported")
            self._at += 1
            self._want(")")
            word += "()"
        return axis, word


_KINDS = {"P": "a path", "T": "a path or a text", "L": "a text between quotation marks"}


def _suits(term: XPathTerm, kind: str) -> bool:
    match kind:
        case "P":
            return isinstance(term, LocationPath | Union)
        case "T":
            return isinstance(term, LocationPath | Union) or (
                isinstance(term, Literal) and isinstance(term.value, str)
            )
        case "L":
            return isinstance(term, Literal) and isinstance(term.value, str)
    return True
