"""What did Spark need for one history?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """One history. Times in s; `memory`: MB resident of JVM and Python together, at most."""

    lines: int  # all that are in the segments
    segments: int
    bytes: int
    ingest: float
    views: float
    cpu: float  # of all cores
    by_view: dict[str, float]
    memory: float
    wrong: list[str]

    @property
    def seconds(self) -> float:
        return self.ingest + self.views
