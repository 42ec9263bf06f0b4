"""Marks a process as a command of the operator, for which nodes reserve some sessions."""

from mesh.wire.limits import OPERATOR

_marks: list[str] = []


def mark(is_operator: bool) -> None:
    """Have the clients of this process say that they are the operator's, or no more."""
    _marks[:] = [OPERATOR] if is_operator else []


def marks() -> tuple[str, ...]:
    """Return what a client adds to the features in its HELLO."""
    return tuple(_marks)
