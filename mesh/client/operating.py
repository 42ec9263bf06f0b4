"""Marks this process as a command of the operator. Nodes reserve some sessions for such commands."""

from mesh.wire.limits import OPERATOR

_marks: list[str] = []


def mark(is_operator: bool) -> None:
    _marks[:] = [OPERATOR] if is_operator else []


def marks() -> tuple[str, ...]:
    return tuple(_marks)
