"""Which nodes share a machine, and how is that said, so that one machine is one finding?

A node of which nobody knows the machine stands alone.
"""

from collections.abc import Iterable

from spark.report.facts import Facts
from spark.report.figures import counted, listed

Group = list[str]  # names of nodes


def by_machine(facts: Facts, names: Iterable[str]) -> list[Group]:
    """These nodes, those of one machine together: each group where its first one stands."""
    machines = {node.name: node.machine for node in facts.nodes}
    groups: dict[tuple[str, bool], Group] = {}
    for name in dict.fromkeys(names):
        machine = machines.get(name)
        groups.setdefault((machine or name, machine is not None), []).append(name)
    return list(groups.values())


def beside(group: Group) -> str:
    """ "heron (beside it wren and ibis)": a machine, by the first of its nodes."""
    first, *others = group
    return f"{first} (beside it {listed(others)})" if others else first


def labels(facts: Facts, names: Iterable[str]) -> list[str]:
    """Each machine of these nodes in words, in their order."""
    return [beside(group) for group in by_machine(facts, names)]


def among(facts: Facts) -> str:
    """How many nodes there are, and on how many machines, if that is known and less."""
    nodes = counted(len(facts.nodes), "node")
    known = {node.machine for node in facts.nodes}
    return f"{nodes} on {counted(len(known), 'machine')}" if None not in known and facts.nodes else nodes
