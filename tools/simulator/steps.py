"""The steps of a script."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """A step of a script, with its time in s, its kind and its arguments."""

    at: float
    kind: str
    args: tuple[str | float | int, ...]

    def __str__(self) -> str:
        words = " ".join(f"{arg:g}" if isinstance(arg, float) else str(arg) or '""' for arg in self.args)
        return f"{self.at:9.3f}  {self.kind} {words}"
