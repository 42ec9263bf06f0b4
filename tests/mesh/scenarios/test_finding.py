"""Real nodes find each other by mDNS, by an address or by memory, and notice arrivals and departures."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mesh import sync
from tests.mesh.running import RunningNode, state_directory, until

ALONE = 3.0  # s within which a visible node would have been found

Row = dict[str, Any]


@contextmanager
def nodes_of(state: Path, cluster: str, *options: str) -> Iterator[list[RunningNode]]:
    """Three nodes with these options, which are stopped at the end. None may have written a traceback."""
    nodes = [RunningNode(name, state, cluster, options) for name in ("a", "b", "c")]
    try:
        for node in nodes:
            node.start()
        yield nodes
    finally:
        for node in nodes:
            if node.is_running:
                node.stop()
    for node in nodes:
        assert "Traceback" not in node.log, node.log


@contextmanager
def strangers(*options: str) -> Iterator[list[RunningNode]]:
    """Three nodes in a mesh of their own that know nothing of each other."""
    with state_directory() as state, nodes_of(state, some_cluster(), *options) as nodes:
        yield nodes


@contextmanager
def company() -> Iterator[list[RunningNode]]:
    """Three nodes that see each other."""
    with strangers("--mdns") as nodes:
        until(lambda: all_see(nodes))
        yield nodes


def some_cluster() -> str:
    return f"test-{secrets.token_hex(4)}"


def ask(node: RunningNode, verb: str, **arguments: Any) -> Row:
    with sync.connect(node.name, environ=node.environ) as m:
        answer: Row = m.call(verb, **arguments)
        return answer


def rows(node: RunningNode) -> dict[str, Row]:
    """Return the rows of `mesh ls` about other nodes, by name."""
    return {row["name"]: row for row in ask(node, "ls")["nodes"] if row["via"] != "self"}


def see(nodes: list[RunningNode], of: RunningNode, **columns: Any) -> bool:
    """Return whether all nodes show these values for `of`."""
    shown = [rows(node).get(of.name, {}) for node in nodes]
    return all(row.get(column) == value for row in shown for column, value in columns.items())


def all_see(nodes: list[RunningNode]) -> bool:
    return all(see([n for n in nodes if n is not of], of, state="alive", boot=of.it["boot"]) for of in nodes)


def events(node: RunningNode, of: RunningNode) -> list[tuple[str, int]]:
    """Return the events of `of` that a node remembers, each with its boot."""
    found = ask(node, "events", after=0)["events"]
    return [(e["kind"], e["boot"]) for e in found if e["uuid"] == of.it["uuid"]]


# --- meeting ----------------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_nodes_without_any_seed_find_each_other_by_mdns_and_ls_says_so() -> None:
    with strangers("--mdns") as nodes:
        until(lambda: all_see(nodes))
        for of in nodes:
            others = [node for node in nodes if node is not of]
            until(lambda others=others, of=of: see(others, of, via="mdns"))  # type: ignore[misc]
        lines = nodes[0].mesh("ls", "--url", "a").stdout.splitlines()
        assert [line.split()[2] for line in lines if line.startswith(("b ", "c "))] == ["mdns", "mdns"]


def test_without_mdns_and_seeds_nobody_is_found_and_one_address_finds_all() -> None:
    with strangers("--no-mdns") as nodes:
        a, b, c = nodes
        until(lambda: all(lived(node) > ALONE for node in nodes))
        assert [rows(node) for node in nodes] == [{}, {}, {}]

        assert b.mesh("peer", "add", a.tcp, "--url", "b").returncode == 0
        until(lambda: see([b], a, state="alive", via="seed") and see([a], b, state="alive"))
        assert rows(c) == {}

        assert c.mesh("peer", "add", a.tcp, "--url", "c").returncode == 0
        until(lambda: all_see(nodes))
        assert {name: row["via"] for name, row in rows(c).items()} == {"a": "seed", "b": "gossip"}


def lived(node: RunningNode) -> float:
    """Return the seconds since a node's start, as it reports them."""
    [me] = [row for row in ask(node, "ls")["nodes"] if row["via"] == "self"]
    return me["up"] or 0.0


def test_nodes_that_met_find_each_other_after_a_restart_without_seeds() -> None:
    with state_directory() as state:
        cluster = some_cluster()
        with nodes_of(state, cluster, "--mdns") as nodes:
            until(lambda: all_see(nodes))
        with nodes_of(state, cluster, "--no-mdns") as nodes:
            until(lambda: all_see(nodes))
            ways = {row["via"] for node in nodes for row in rows(node).values()}
            assert "remembered" in ways
            assert ways <= {"remembered", "gossip", "hello"}


# --- leaving and returning --------------------------------------------------------------------------------


@pytest.mark.smoke
def test_kill_9_is_a_death_for_all_others() -> None:
    with company() as nodes:
        *others, c = nodes
        c.kill()
        until(lambda: see(others, c, state="dead"))
        for other in others:
            assert events(other, c)[-1] == ("dead", c.it["boot"])
        assert see(others[:1], others[1], state="alive") and see(others[1:], others[0], state="alive")


def test_a_node_that_was_killed_and_started_again_at_once_is_another_boot_everywhere() -> None:
    with company() as nodes:
        *others, c = nodes
        before = c.it
        c.kill()
        c.start()
        assert (c.it["uuid"], c.it["boot"]) == (before["uuid"], before["boot"] + 1)
        until(lambda: all_see(nodes))
        for other in others:
            told = events(other, c)
            assert told[-1] in {("joined", c.it["boot"]), ("restarted", c.it["boot"])}
            assert ("left", before["boot"]) not in told


def test_a_node_that_is_stopped_says_goodbye_to_all() -> None:
    with company() as nodes:
        *others, c = nodes
        assert c.stop() == 0
        until(lambda: see(others, c, state="left"))
        for other in others:
            assert not {kind for kind, _ in events(other, c)} & {"suspect", "dead"}


def test_events_tell_who_came_and_went_and_how() -> None:
    with company() as nodes:
        a, b, c = nodes
        c.stop()
        until(lambda: see([a, b], c, state="left"))
        c.start()
        until(lambda: all_see(nodes))
        c.kill()
        until(lambda: see([a, b], c, state="dead"))

        out = a.mesh("events", "--json", "--url", "a").stdout
        told = [json.loads(line) for line in out.splitlines()]
        wanted = [("joined", 1), ("left", 1), ("joined", 2), ("dead", 2)]
        assert [(e["kind"], e["boot"]) for e in told if e["node"] == "c" and e["kind"] in KINDS] == wanted
        assert [e["number"] for e in told] == sorted(e["number"] for e in told)

        lines = a.mesh("events", "--kind", "dead", "--url", "a").stdout.splitlines()
        assert len(lines) == 1
        assert "c (boot 2) is dead: no answer" in lines[0]


KINDS = ("joined", "left", "restarted", "dead")
