"""How much work is something, on any machine? Counted in steps of Python's, not in seconds."""

from collections.abc import Callable

from tools.costing.meter import Meter


def steps(work: Callable[[], object]) -> int:
    """Bytecodes that it takes, in Python code that is not our tools'; what is done in C counts as one."""
    meter = Meter()
    meter.run(work)
    return meter.take().total()["instructions"]
