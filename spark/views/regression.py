"""Linear regression, and the interval in which a line reaches a level."""

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

_Z = 1.959964  # 97.5 % quantile of a normal distribution


def fit(name: str, y: Column, x: Column) -> list[Column]:
    """Return the aggregates for a `Line` of y over x, from the rows with both values."""
    return [
        F.regr_count(y, x).alias(f"{name}_n"),
        F.regr_slope(y, x).alias(f"{name}_slope"),
        F.regr_avgx(y, x).alias(f"{name}_x"),
        F.regr_avgy(y, x).alias(f"{name}_y"),
        F.regr_sxx(y, x).alias(f"{name}_sxx"),
        F.regr_syy(y, x).alias(f"{name}_syy"),
    ]


@dataclass(frozen=True, slots=True)
class Crossing:
    """The x where a line reaches a level, with the 95 % interval.

    All are null unless the line rises. `low` and `high` are null, too, if the slope may be 0.
    """

    x: Column
    low: Column
    high: Column


@dataclass(frozen=True, slots=True)
class Line:
    """A least-squares line from the columns of `fit` with the same name.

    The slope and the values of the line are null if the rows determine no line.
    """

    name: str

    @property
    def n(self) -> Column:
        return self._of("n")

    @property
    def slope(self) -> Column:
        return self._of("slope")

    @property
    def spread(self) -> Column:
        """The sum of squares of x about its mean."""
        return self._of("sxx")

    @property
    def r2(self) -> Column:
        """The share of y's variance that x explains; null if x or y has none."""
        has_spread = (self.spread > 0) & (self._of("syy") > 0)
        return F.when(has_spread, F.least(F.lit(1.0), self._explained / self._of("syy")))

    @property
    def significant(self) -> Column:
        """Whether the slope differs from 0 with 95 % confidence."""
        return F.coalesce((self.n > 2) & (self._explained > 0) & (self._doubt < 1), F.lit(False))

    def at(self, x: Column) -> Column:
        return self._of("y") + self.slope * (x - self._of("x"))

    def crossing(self, level: float) -> Crossing:
        """Return the x where a rising line reaches `level`, with Fieller's interval.

        The interval contains all x whose confidence band includes `level`. It is wider on the side with less
        data.
        """
        ahead = F.try_divide(F.lit(level) - self._of("y"), self.slope)
        sureness = 1 - self._doubt
        root = F.sqrt(sureness / self.n + F.try_divide(ahead * ahead, self.spread))
        middle = F.try_divide(ahead, sureness)
        half = F.try_divide(_student(self.n) * F.sqrt(self._variance) * root, self.slope * sureness)
        sure = self.significant & (self.slope > 0)
        start = self._of("x")
        return Crossing(
            F.when(self.slope > 0, start + ahead),
            F.when(sure, start + middle - half),
            F.when(sure, start + middle + half),
        )

    def _of(self, what: str) -> Column:
        return F.col(f"{self.name}_{what}")

    @property
    def _explained(self) -> Column:
        return self.slope * self.slope * self.spread

    @property
    def _variance(self) -> Column:
        return F.try_divide(F.greatest(F.lit(0.0), self._of("syy") - self._explained), self.n - 2)

    @property
    def _doubt(self) -> Column:
        """The uncertainty of the slope: below 1, the slope differs from 0 with 95 % confidence."""
        return F.try_divide(F.pow(_student(self.n), F.lit(2.0)) * self._variance, self._explained)


def _student(n: Column) -> Column:
    """Return Student's t for 95 % and n - 2 degrees of freedom, to 3 digits from 10 points on."""
    freedom = F.try_divide(F.lit(1.0), n - 2)
    first = (_Z**3 + _Z) / 4
    second = (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96
    third = (3 * _Z**7 + 19 * _Z**5 + 17 * _Z**3 - 15 * _Z) / 384
    return _Z + freedom * (first + freedom * (second + freedom * third))
