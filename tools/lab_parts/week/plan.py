"""What is wanted of a week, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tools.lab_parts.week.count import Weekly
from tools.lab_parts.week.growth import MIB, Growth


@dataclass(frozen=True, slots=True)
class WeekPlan:
    """`seconds` of it, behind `days` made up from `seed`; `rate`: messages a second of each publisher."""

    seconds: float
    days: float
    rate: int
    seed: int
    kept: int = 256 * MIB  # bytes of segments at each node
    log: int = MIB  # bytes at which a log is rotated
    rows: Sequence[int] = ()  # nothing fails here but what the story says


@dataclass(frozen=True, slots=True)
class Step:
    """What was done, the seconds it took, and what it showed."""

    what: str
    seconds: float
    showed: str


@dataclass(slots=True)
class WeekResult:
    """The result of a run."""

    steps: list[Step] = field(default_factory=list)
    counts: Mapping[str, Weekly] = field(default_factory=dict)  # by subscriber
    growth: Mapping[str, Mapping[str, Growth]] = field(default_factory=dict)  # by figure and node
    wrong: list[str] = field(default_factory=list)  # what else is not as it should be, in words
    log: str = ""  # where what was written is kept, when something is wrong

    @property
    def is_clean(self) -> bool:
        grows = any(each.grows for nodes in self.growth.values() for each in nodes.values())
        return all(each.count.is_clean for each in self.counts.values()) and not grows and not self.wrong
