"""Groups nodes by machine, so that a machine with several nodes makes only one finding.

A node of an unknown machine is a group of its own.
"""

from collections.abc import Iterable

from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, listed

Group = list[str]  # names of nodes


def by_machine(facts: Facts, names: Iterable[str]) -> list[Group]:
    """Return the nodes, each once, grouped by machine, in the order of the first node of each group."""
    machines = {node.name: node.machine for node in facts.nodes}
    groups: dict[tuple[str, bool], Group] = {}
    for name in dict.fromkeys(names):
        machine = machines.get(name)
        groups.setdefault((machine or name, machine is not None), []).append(name)
    return list(groups.values())


def beside(group: Group) -> str:
    """Return a description of a machine by its nodes: "heron (beside it wren and ibis)"."""
    first, *others = group
    return f"{first} (beside it {listed(others)})" if others else first


def labels(facts: Facts, names: Iterable[str]) -> list[str]:
    """Return a description of each machine of the nodes `names`, in the order of these nodes."""
    return [beside(group) for group in by_machine(facts, names)]


def among(facts: Facts) -> str:
    """Return the number of nodes, and that of machines if the machine of each node is known."""
    nodes = counted(len(facts.nodes), "node")
    known = {node.machine for node in facts.nodes}
    return f"{nodes} on {counted(len(known), 'machine')}" if None not in known and facts.nodes else nodes
