"""The base of all questions, and limits of their arguments."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import Meta, Struct

from mesh.errors import BadQuery
from mesh.names import LONGEST_QUEUE
from mesh.wrong_values import why_invalid

LONGEST = 64  # characters of a node's name


TERMS = 64  # terms of a declaration, more than exist


MOVED = 10_000  # messages of one move


PEEKED = 100  # messages of one peek


Name = Annotated[str, Meta(max_length=LONGEST)]


QueueName = Annotated[str, Meta(max_length=LONGEST_QUEUE)]


class Ask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The arguments of a question."""

    verb: ClassVar[str]


class Carried(Ask, frozen=True, kw_only=True):
    """The arguments of a question that nodes forward.

    Attributes:
        visited: From a node: names of the nodes that the question has visited.
        within: Seconds that the sender waits for the reply.
    """

    visited: list[Name] = []
    within: float = float("inf")


class AskPage(Ask, frozen=True, kw_only=True):
    """The arguments of a question whose reply is divided into pages.

    Attributes:
        after: Place after which the page begins. Empty: the first page.
        limit: Maximum number of rows in a page. 0: 1,000.
    """

    after: str = ""
    limit: int = 0


A = TypeVar("A", bound=Ask)


def arguments(ask: Ask) -> dict[str, Any]:
    """Return the arguments of the Call for this question."""
    said: dict[str, Any] = msgspec.to_builtins(ask, builtin_types=(bytes,))
    return said


def read_ask(shape: type[A], said: object) -> A:
    """Return the question of type `shape` with the arguments `said`. Raises: BadQuery if they are invalid."""
    try:
        return msgspec.convert(said, shape, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        text = f"The arguments of {shape.verb!r} are invalid: {why_invalid(error)}."
        raise BadQuery(text, hint="See docs/wire.md.") from error
