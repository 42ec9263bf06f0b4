"""Writes metrics in the Prometheus text format, with the library prometheus-client."""

from collections.abc import Iterator, Sequence

from mesh.errors import NotAvailable
from mesh.metrics.family import COUNTER, Family, harmless_labels

try:
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
    from prometheus_client.registry import Collector
except ImportError as error:
    raise NotAvailable(
        f"Metrics need the package prometheus-client, which cannot be imported: {error}.",
        hint="Run:  pip install 'heronry[metrics]'",
    ) from None

CONTENT_TYPE = CONTENT_TYPE_LATEST


class _Given(Collector):
    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        for family in self._families:
            names = list(family.samples[0][0]) if family.samples else []
            kind = CounterMetricFamily if family.kind == COUNTER else GaugeMetricFamily
            metric = kind(family.name, family.help, labels=names)
            for labels, value in family.samples:
                metric.add_metric([labels[name] for name in names], value)
            yield metric


def exposed(families: Sequence[Family], with_process: bool = False) -> bytes:
    """Return the text of all metrics that have samples, with unsafe characters in labels escaped.

    If `with_process` is set, the library adds metrics of this process, such as its memory.
    """
    registry = CollectorRegistry()
    if with_process:
        ProcessCollector(registry=registry)
    registry.register(_Given([harmless_labels(family) for family in families if family.samples]))
    return generate_latest(registry)
