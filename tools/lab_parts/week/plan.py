"""The plan of a week, and its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tools.lab_parts.week.count import Weekly
from tools.lab_parts.week.growth import MIB, Growth


@dataclass(frozen=True, slots=True)
class WeekPlan:
    """The plan of a week.

    The run takes `seconds`, after `days` of history that are generated from `seed`. Each publisher sends
    `rate` messages per second.
    """

    seconds: float
    days: float
    rate: int
    seed: int
    kept: int = 256 * MIB  # bytes of segments at each node
    log: int = MIB  # bytes at which a log is rotated
    rows: Sequence[int] = ()  # no further faults


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the week, its duration in s, and its result as text."""

    what: str
    seconds: float
    showed: str


@dataclass(slots=True)
class WeekResult:
    """The result of a run: its steps, message counts, growth, and other errors."""

    steps: list[Step] = field(default_factory=list)
    counts: Mapping[str, Weekly] = field(default_factory=dict)  # by subscriber
    growth: Mapping[str, Mapping[str, Growth]] = field(default_factory=dict)  # by figure and node
    wrong: list[str] = field(default_factory=list)  # other errors, in words
    log: str = ""  # folder of the logs after an error

    @property
    def is_clean(self) -> bool:
        grows = any(each.grows for nodes in self.growth.values() for each in nodes.values())
        return all(each.count.is_clean for each in self.counts.values()) and not grows and not self.wrong
