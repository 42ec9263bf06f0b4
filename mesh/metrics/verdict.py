"""Health verdict of a node: figures compared with thresholds, graded as by Nagios plug-ins."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from mesh.errors import BadArgument

CheckedFigures = Mapping[str, int | float]


class Grade(IntEnum):
    """Exit code of a check."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class Check:
    """A figure with its thresholds, which are lower limits if `is_least` is set, else upper limits."""

    name: str
    figure: str
    unit: str
    warning: float
    critical: float
    what: str
    is_least: bool = False

    def grade(self, value: float) -> Grade:
        """Return the grade of a value. NaN is unknown."""
        if value != value:
            return Grade.UNKNOWN
        if self._is_bad(value, self.critical):
            return Grade.CRITICAL
        return Grade.WARNING if self._is_bad(value, self.warning) else Grade.OK

    def _is_bad(self, value: float, limit: float) -> bool:
        return value < limit if self.is_least else value >= limit


GB = 1e9
CHECKS = (
    Check("tailback-age", "tailback_age", "s", 60, 600, "age of the oldest message that waits for a master"),
    Check("disk", "disk_free", "B", 1 * GB, 0.2 * GB, "bytes free on the disk of the store", is_least=True),
    Check(
        "disk-short", "disk_short", "", 1, 1, "persistent publishes refused so far because of low disk space"
    ),
    Check("lag", "lag_p99", "s", 0.25, 1, "delay of the event loop, 99th percentile"),
    Check("suspects", "nodes_suspect", "", 1, 3, "suspected nodes, which do not answer"),
    Check("nodes", "nodes_alive", "", 0, 0, "live nodes, including this one", is_least=True),
    Check(
        "queue-age", "queue_age", "s", 600, 3600, "age of the oldest waiting message in queues of this node"
    ),
    Check("queue-messages", "queue_messages", "", 100_000, 1_000_000, "messages in queues of this node"),
    Check("clock", "clock_apart", "s", 5, 60, "difference between the clocks of this node and another one"),
    Check("sites-away", "sites_away", "", 1, 2, "unreachable sites to which this node is a gateway"),
    Check(
        "prepared-age",
        "transactions_prepared_age",
        "s",
        3600,
        86_400,
        "age of the oldest prepared transaction",
    ),
    Check("finishing", "transactions_finishing", "", 1, 1, "decided transactions that wait for disk space"),
)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The grade of one check, with the value."""

    check: Check
    value: float
    grade: Grade

    @property
    def text(self) -> str:
        return f"{self.check.name} {_number(self.value)}{self.check.unit}"

    @property
    def data(self) -> str:
        """The result as performance data, in the format of Nagios plug-ins."""
        check = self.check
        colon = ":" if check.is_least else ""
        limits = f"{_number(check.warning)}{colon};{_number(check.critical)}{colon}"
        return f"'{check.name}'={_number(self.value)}{check.unit};{limits}"


def findings(figures: CheckedFigures, checks: Mapping[str, Check]) -> list[CheckResult]:
    """Return the results of the checks whose figures the node reports; older releases report fewer."""
    return [
        CheckResult(check, float(figures[check.figure]), check.grade(float(figures[check.figure])))
        for check in checks.values()
        if check.figure in figures
    ]


def verdict(found: list[CheckResult]) -> Grade:
    """Return the worst grade, or UNKNOWN without results; UNKNOWN ranks between OK and WARNING."""
    return max((each.grade for each in found), key=_RANK.index, default=Grade.UNKNOWN)


_RANK = (Grade.OK, Grade.UNKNOWN, Grade.WARNING, Grade.CRITICAL)


def line(who: str, found: list[CheckResult]) -> str:
    """Return the output line of a plug-in: verdict, reason, and all figures after a bar."""
    grade = verdict(found)
    bad = [each for each in found if each.grade is not Grade.OK] or found
    why = ", ".join(each.text for each in bad)
    return f"MESH {grade.name} - {who}: {why} | {' '.join(each.data for each in found)}"


def checks_of(limits: Mapping[str, str]) -> dict[str, Check]:
    """Return all checks by name, with the thresholds in `limits` replaced. Raises: BadArgument.

    A value of `limits` is "WARNING,CRITICAL", or one number for both.
    """
    found = {check.name: check for check in CHECKS}
    for name, text in limits.items():
        check = found[name]
        warning, critical = _limits(check, text)
        if (warning < critical) if check.is_least else (warning > critical):
            order = "less" if check.is_least else "more"
            hint = f"Write --{name} WARNING,CRITICAL: the second is {order} than the first, or the same."
            raise BadArgument(f"--{name} {text!r} would be critical before it is a warning.", hint=hint)
        found[name] = Check(name, check.figure, check.unit, warning, critical, check.what, check.is_least)
    return found


def _limits(check: Check, text: str) -> tuple[float, float]:
    name = check.name
    parts = text.split(",")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or not all(0 <= number < float("inf") for number in numbers):
        example = f"{check.warning:.15g},{check.critical:.15g}"
        raise BadArgument(
            f"--{name} {text!r:.40} is not a threshold.",
            hint=f"Write one or two numbers of at least 0, such as {example}.",
        )
    return numbers[0], numbers[-1]


def _number(value: float) -> str:
    return f"{value:.15g}" if value % 1 == 0 else f"{value:.4g}"
