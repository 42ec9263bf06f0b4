"""The tree of a parsed XPath."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step of a path.

    `axis` is child, attribute, self or parent. After `//`, child becomes descendant, and the others begin
    with "descendant ". `test` is a name, *, text(), node(), or for self and parent the sign itself.
    """

    axis: str
    test: str
    wheres: tuple[XPathTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class LocationPath:
    """Steps from the root of the document, or from the current node."""

    is_absolute: bool
    steps: tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """The union of the results of several paths."""

    paths: tuple[LocationPath, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, without its quotation marks, or a number."""

    value: str | float


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function with its arguments."""

    name: str
    given: tuple[XPathTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two terms: =, !=, <, <=, > or >=."""

    sign: str
    left: XPathTerm
    right: XPathTerm


@dataclass(frozen=True, slots=True)
class Junction:
    """Terms joined by `and` or by `or`."""

    word: str
    terms: tuple[XPathTerm, ...]


XPathTerm = LocationPath | Union | Literal | FunctionCall | Compare | Junction
