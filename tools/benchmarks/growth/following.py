"""Follows one curve, size by size, until a size takes too long."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tools.benchmarks.growth import processes, sockets
from tools.benchmarks.growth.curves import Experiment, Figure
from tools.benchmarks.growth.slopes import Points, ladder
from tools.running.processes import Failed, Processes

LIMIT = 180.0  # s that one size may take
STEEPEST = 2.0  # highest expected power, as small sizes mislead
REAL = {"real connections": sockets.measured, "nodes, real": processes.measured}  # start their own processes


@dataclass(slots=True)
class Followed:
    """The values along a curve.

    `ended` is the reason for an early end, and `wrong` an error; both are empty otherwise.
    """

    experiment: Experiment
    values: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    ended: str = ""
    wrong: str = ""

    def points(self, figure: Figure) -> Points:
        return [(size, values[figure.key]) for size, values in self.values]


class TooLong(Exception):
    """Raised when a size takes longer than the limit."""


def sizes(experiment: Experiment, most: int | None) -> list[int]:
    """Return the sizes to measure, at least one, up to `most`; None means the default.

    `experiment.most` is an upper bound.
    """
    upto = experiment.usual if most is None else min(most, experiment.most)
    return list(ladder(experiment.least, max(upto, experiment.least)))


def follow(
    experiment: Experiment, most: int | None, advance: Callable[[], None], limit: float = LIMIT
) -> Followed:
    """Measure the sizes until one fails, or takes or is expected to take longer than `limit` seconds.

    `advance` is called for every size, measured or not.
    """
    found, took = Followed(experiment), list[tuple[int, float]]()
    for size in sizes(experiment, most):
        if not found.ended and not found.wrong and expected(took, size) > limit:
            found.ended = f"{size:,} would take longer than {limit:g} s"
        if not found.ended and not found.wrong:
            start = time.monotonic()
            _measure(found, size, limit)
            took.append((size, time.monotonic() - start))
        advance()
    return found


def expected(took: Points, size: int) -> float:
    """Return the expected seconds for `size`, or 0 without an earlier size.

    The exponent of the growth comes from the last two sizes, and is between 1 and STEEPEST.
    """
    if not took:
        return 0.0
    (*_, (before, seconds)) = took
    power = 1.0
    if len(took) > 1:
        smaller, fewer = took[-2]
        power = math.log(seconds / fewer) / math.log(before / smaller)
    return float(seconds * (size / before) ** min(max(1.0, power), STEEPEST))


def _measure(found: Followed, size: int, limit: float) -> None:
    name = found.experiment.name
    try:
        values = REAL[name](size) if name in REAL else _elsewhere(name, size, limit)
        found.values.append((size, values))
    except TooLong:
        found.ended = f"{size:,} took longer than {limit:g} s"
    except Failed as error:
        found.wrong = f"with {size:,}: {error}"


def _elsewhere(name: str, size: int, limit: float) -> dict[str, float]:
    """Measure a size in a process of its own. Raises TooLong after `limit` seconds."""
    with Processes() as programs:
        point = programs.start("point", "tools.benchmarks.growth.point", name, str(size))
        end = time.monotonic() + limit
        programs.until(lambda: point.ended() or time.monotonic() > end, 2 * limit, "the point did not end")
        if not point.ended():
            raise TooLong
        if point.code:
            raise Failed(point.words())
        values: dict[str, float] = json.loads(point.out.read_text())
        return values
