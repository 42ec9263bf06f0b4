"""Nodes, rumors and memberships for tests of discovery."""

from collections.abc import Iterable
from random import Random

from mesh.discovery.member import (
    Dead,
    Member,
    MemberEvent,
    Node,
    NodeLife,
    Rumour,
    Suspected,
    SuspicionRefuted,
)
from mesh.discovery.membership import DirectProbe, IndirectProbe, Membership, SwimTiming
from mesh.discovery.requests import DiscoveryRequest, Lives

AT, ELSEWHERE = "tcp://127.0.0.1:7001", "tcp://127.0.0.1:7999"
Results = list[MemberEvent | DiscoveryRequest]


def uuid(name: str) -> bytes:
    return name.encode().rjust(16, b".")


def node(name: str, boot: int = 1, address: str = AT, **more: str) -> Node:
    return Node(uuid(name), name, boot, address, **more)  # type: ignore[arg-type]


ME = node("me", boot=3, address="tcp://127.0.0.1:7000")
HERON, IBIS, STORK = uuid("heron"), uuid("ibis"), uuid("stork")


def membership(*alive: str, timing: SwimTiming | None = None, seed: int = 0) -> Membership:
    """Return the membership of `ME`, to which the nodes `alive` introduced themselves with boot 1 at 0 s."""
    members = Membership(ME, Random(seed).random, timing)
    for name in alive:
        members.on_introduction(node(name), 0.0)
    return members


def crowd(*more: str, seed: int = 0) -> Membership:
    """Return a membership of 32 nodes and `more`, enough that rumors of others are believed."""
    return membership(*(f"n{i}" for i in range(32)), *more, seed=seed)


def rumour(
    state: NodeLife, name: str = "heron", boot: int = 1, incarnation: int = 0, by: str = "ibis", at: str = AT
) -> Rumour:
    return Rumour(node(name, boot, at), incarnation, state, uuid(by))


def accusations(members: Membership, name: str = "heron") -> list[Rumour]:
    """Return the rumors about a node in the answer to its probe, later than any node is declared dead."""
    answers = [r for r in members.probe(uuid(name), 1, ME.uuid, ME.boot, (), 11.0) if isinstance(r, Lives)]
    return [said for answer in answers for said in answer.rumours if said.node.uuid == uuid(name)]


def kinds(results: Iterable[object]) -> list[str]:
    """Return the class names of the results."""
    return [type(result).__name__ for result in results]


def state(members: Membership, name: str) -> NodeLife | None:
    found = members.member_of(uuid(name))
    return None if found is None else found.state


def until(members: Membership, end: float) -> list[tuple[float, MemberEvent | DiscoveryRequest]]:
    """Let time pass until `end`, and return the results with their times."""
    found: list[tuple[float, MemberEvent | DiscoveryRequest]] = []
    while (due := members.deadline()) <= end:
        found += [(due, result) for result in members.tick(due)]
    return found


def until_probe(members: Membership, of: str, within: float = 60.0) -> tuple[float, DirectProbe]:
    """Let time pass until a node is probed. All other nodes answer their probes."""
    while (due := members.deadline()) <= within:
        for result in members.tick(due):
            if isinstance(result, DirectProbe) and result.to == uuid(of):
                return due, result
            if isinstance(result, DirectProbe):
                members.answered(result.to, result.number, True, (), due)
    raise AssertionError(f"{of} was not probed within {within} s")


def heron(members: Membership) -> Member:
    found = members.member_of(HERON)
    assert found is not None
    return found


def member(
    which: Node, state: NodeLife, heard: float, via: str = "hello", since: float | None = None
) -> Member:
    return Member(which, via, state, heard, since=heard if since is None else since)


def dead_heron(now: float = 9.0) -> Membership:
    members = membership("heron", "ibis")
    members.rumoured(IBIS, (rumour(NodeLife.DEAD),), now)
    return members


def asks(members: Membership, end: float) -> list[tuple[float, IndirectProbe]]:
    """Return the indirect probes until `end`, with their times."""
    return [(at, result) for at, result in until(members, end) if isinstance(result, IndirectProbe)]


def fates(members: Membership, end: float, of: str = "heron") -> list[tuple[float, str]]:
    """Return the conclusions about a node until `end`, with their times. All other nodes answer."""
    found: list[tuple[float, str]] = []
    while (due := members.deadline()) <= end:
        for result in members.tick(due):
            if isinstance(result, DirectProbe) and result.to != uuid(of):
                members.answered(result.to, result.number, True, (), due)
            if isinstance(result, Suspected | SuspicionRefuted | Dead) and result.member.uuid == uuid(of):
                found.append((due, type(result).__name__))
    return found
