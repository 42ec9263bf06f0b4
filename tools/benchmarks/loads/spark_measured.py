"""The measured figures of Spark for one history."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures for one history.

    Times are in s. `memory` is the peak of MB resident in JVM and Python together.
    """

    lines: int  # all lines in the segments
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
