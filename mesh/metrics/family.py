"""Metrics of Prometheus as values: a family has a name, and a sample for each of its labels."""

from collections.abc import Mapping
from dataclasses import dataclass, field

COUNTER, GAUGE = "counter", "gauge"
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Family:
    """All samples of one metric. A counter's name has no `_total` here: it is written behind it."""

    name: str
    kind: str
    help: str
    samples: list[tuple[Labels, float]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The name as it is asked for."""
        return f"{self.name}_total" if self.kind == COUNTER else self.name
