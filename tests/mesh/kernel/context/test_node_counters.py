"""The counters of a node, and their report."""

from mesh.kernel.context.node_clock import NodeClock
from mesh.kernel.context.node_counters import COUNTERS, NodeCounters
from tests.mesh.envelopes import envelope


def test_a_counter_is_reported_as_0_until_something_was_counted() -> None:
    counters = NodeCounters(NodeClock(lambda leapt: None))
    assert {counters.figures([])[name] for name in COUNTERS} == {0}
    counters.add_count("refused")
    counters.add_count("refused", 2)
    figures = counters.figures([])
    assert (figures["refused"], figures["published"]) == (3, 0)


def test_undelivered_messages_are_counted_for_their_receiver_at_the_time_of_the_event() -> None:
    clock = NodeClock(lambda leapt: None)
    counters = NodeCounters(clock)
    lost = counters.loss_counter("joe")
    clock.set_time(7.0, 0)
    lost(envelope(), "slow", 3)
    assert counters.figures([])["undelivered"] == counters.undelivered.total == 3
