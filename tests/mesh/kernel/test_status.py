"""The list of nodes has one row for a program that runs again and again."""

import asyncio

from mesh.discovery.member import Member, Node, NodeLife
from mesh.kernel.status import superseded
from tests.mesh.kernel.rows import rows
from tests.mesh.meshes import alive, eventually, mesh_of
from tests.simulation import SimNetwork, SimNode


def member(uuid: int, state: NodeLife, since: float, name: str = "vm") -> Member:
    return Member(Node(bytes([uuid]) * 16, name, 1, ""), "mdns", state, since, since=since)


def left_out(*members: Member) -> set[int]:
    """Return the first bytes of the superseded uuids, in any order of the members."""
    found = {frozenset(superseded(order)) for order in (members, members[::-1])}
    assert len(found) == 1
    return {uuid[0] for uuid in found.pop()}


def test_of_those_that_left_or_were_only_seen_the_last_one_of_a_name_is_listed() -> None:
    left, seen, alive, dead = NodeLife.LEFT, NodeLife.SEEN, NodeLife.ALIVE, NodeLife.DEAD
    assert left_out(member(1, left, 1.0), member(2, left, 3.0), member(3, left, 2.0)) == {1, 3}
    assert left_out(member(1, seen, 1.0), member(2, seen, 2.0)) == {1}
    assert left_out(member(1, left, 1.0), member(2, seen, 2.0)) == {1}
    assert left_out(member(1, seen, 1.0), member(2, left, 2.0)) == {1}
    assert left_out(member(1, left, 5.0), member(2, alive, 2.0)) == {1}
    assert left_out(member(1, left, 5.0), member(2, dead, 2.0)) == {1}
    assert left_out(member(1, seen, 5.0), member(2, alive, 2.0)) == set(), (
        "a newcomer that may not be so called"
    )
    assert left_out(member(1, left, 1.0), member(2, left, 2.0, "other")) == set()


def test_a_program_that_runs_again_and_again_leaves_one_row() -> None:
    net = SimNetwork()
    a = net.node("a")
    for _ in range(3):
        program = SimNode(net, "vm", ("a",), {})
        program.start()
        net.until(lambda: a.alive == {"vm"})
        net.run(1)
        program.close()
        net.until(lambda: a.alive == set())
    assert [(each["name"], each["state"]) for each in rows(a)] == [("a", "alive"), ("vm", "left")]


def test_a_program_that_ends_before_it_is_welcomed_left_on_purpose() -> None:
    net = SimNetwork()
    a = net.node("a")
    program = SimNode(net, "vm", ("a",), {})
    program.start()
    net.until(lambda: a.alive == {"vm"})
    assert program.alive == set()
    program.close()
    net.run(1)
    assert [each["state"] for each in rows(a)] == ["alive", "left"]


def test_a_client_counts_those_that_are_there_unless_it_asks_for_all() -> None:
    async def scenario() -> None:
        async with mesh_of("a", "b") as made, made.connect("a") as joe:
            assert [node.name for node in await joe.nodes()] == ["a", "b"]
            await made.nodes["b"].close()
            await eventually(lambda: alive(made, "a") == 1)
            assert [node.name for node in await joe.nodes()] == ["a"]
            assert [(node.name, node.state) for node in await joe.nodes(all=True)][1:] == [("b", "left")]

    asyncio.run(scenario())
