"""The clients of a node that dies are served at another one, and the work of the nodes takes time."""

from tools.benchmarks.measures.herd import Herd, measured


def test_all_clients_are_served_and_the_nodes_have_worked() -> None:
    steps = list[None]()
    report = measured(lambda: steps.append(None), lambda: Herd(3, 2, 200))
    (row,) = report.rows
    assert (len(steps), row.flaw) == (1, "")
    assert 1.0 < row.measured < 5.0, "a client waits for its own node for a second"
    assert 0.0 < report.details["herd"]["master"] < report.details["herd"]["visited"]
