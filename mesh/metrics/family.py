"""Prometheus metrics as values: a family has a name, and a sample for each set of labels."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mesh.printable import harmless

COUNTER, GAUGE = "counter", "gauge"
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Family:
    """The samples of one metric.

    The name of a counter is stored without `_total`, which is added on output.
    """

    name: str
    kind: str
    help: str
    samples: list[tuple[Labels, float]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The name in queries: that of a counter ends with `_total`."""
        return f"{self.name}_total" if self.kind == COUNTER else self.name


def harmless_labels(family: Family) -> Family:
    """Return the family with unsafe characters in its labels escaped.

    If escaped labels equal the labels of another sample, only one sample is kept, preferably the unchanged
    one: duplicate labels would make the whole text invalid.
    """
    samples = sorted(family.samples, key=lambda sample: _shown(sample[0]) != sample[0])
    found = dict[tuple[str, ...], tuple[Labels, float]]()
    for labels, value in samples:
        shown = _shown(labels)
        found.setdefault(tuple(shown.values()), (shown, value))
    return replace(family, samples=list(found.values()))


def _shown(labels: Labels) -> Labels:
    return {name: harmless(text) for name, text in labels.items()}
