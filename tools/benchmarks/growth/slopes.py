"""The exponent of growth with size, and its name."""

import math
from collections.abc import Iterator, Sequence
from statistics import linear_regression

Points = Sequence[tuple[float, float]]  # (size, value), the smallest size first

TAIL = 100.0  # smaller sizes show fixed costs, not growth
NEWS = 1.5  # times the largest size before
NAMES = (
    (0.15, "constant"),
    (0.85, "less than linear"),
    (1.08, "linear"),
    (1.25, "n log n"),
    (1.75, "superlinear"),
    (2.25, "quadratic"),
)
WORST = "worse than quadratic"


def tail(points: Points) -> list[tuple[float, float]]:
    """Return the points from which growth is computed: sizes from a TAIL-th of the largest size on.

    A value of 0 is left out, because it has no logarithm.
    """
    if not points:
        return []
    least = points[-1][0] / TAIL
    return [(size, value) for size, value in points if size >= least and value > 0]


def slope(points: Points) -> float | None:
    """Return the exponent of a log-log fit over the tail, or None if the tail has fewer than two points."""
    kept = tail(points)
    if len(kept) < 2:
        return None
    sizes, values = zip(*kept, strict=True)
    return linear_regression([math.log(size) for size in sizes], [math.log(v) for v in values]).slope


def named(exponent: float) -> str:
    return next((name for most, name in NAMES if exponent <= most), WORST)


def ladder(least: int, most: int) -> Iterator[int]:
    """Yield 1, 3, 10, 32, 100, 320, 1,000 and so on from `least` to `most`.

    `most` itself follows if it is at least NEWS times the last of them.
    """
    last, step = 0, 0
    while True:
        size = 10 ** (step // 2) if step % 2 == 0 else max(3, 32 * 10 ** (step // 2) // 10)
        if size > most:
            break
        if size >= least:
            yield (last := size)
        step += 1
    if most >= NEWS * last:
        yield most
