"""The work of a function on any machine, counted in bytecodes instead of seconds."""

from collections.abc import Callable

from tools.costing.meter import Meter


def steps(work: Callable[[], object]) -> int:
    """Return how many bytecodes `work` takes, without those of our tools. A call of C code counts as one."""
    meter = Meter()
    meter.run(work)
    return meter.take().total()["instructions"]
