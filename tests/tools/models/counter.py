"""A model of one number, for tests of the search and of its command."""

from collections.abc import Iterator

from tools.models.search import Violation


class Counter:
    """A number below 10 that grows by 1 or 3; `bad` numbers violate an invariant, at once or at rest."""

    first = 0

    def __init__(self, bad: int = -1, bad_at_rest: int = -1, broken_step: int = -1) -> None:
        self.bad, self.bad_at_rest, self.broken_step = bad, bad_at_rest, broken_step

    def steps(self, state: int) -> Iterator[tuple[str, int | Violation]]:
        for more in (1, 3):
            if state == self.broken_step:
                yield "break", Violation("C2", f"{state} breaks")
            elif state + more < limit():
                yield f"+{more}", state + more

    def violation(self, state: int) -> Violation | None:
        return Violation("C1", f"{state} is bad") if state == self.bad else None

    def violation_at_rest(self, state: int) -> Violation | None:
        return Violation("C3", f"{state} is bad at rest") if state == self.bad_at_rest else None


def limit() -> int:
    """Return the number that is not reached: a place for a planted mistake."""
    return 10
