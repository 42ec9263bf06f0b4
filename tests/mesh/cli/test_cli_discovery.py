"""Verbs that report other nodes: `ls`, `peer` and `events`, beside real nodes."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.mesh.running import RunningNode, running, until

pytestmark = pytest.mark.slow


def rows(node: RunningNode) -> dict[str, dict[str, Any]]:
    """Return the rows of `mesh ls` at a node, by name."""
    result = node.mesh("ls", "--json", "--url", node.name)
    assert result.returncode == 0, result.stderr
    return {row["name"]: row for row in json.loads(result.stdout)["nodes"]}


def events(node: RunningNode, *options: str) -> list[dict[str, Any]]:
    result = node.mesh("events", "--json", "--url", node.name, *options)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_nodes_find_each_other_without_being_told() -> None:
    with running("a", options=("--mdns",)) as a:
        with running("b", options=("--mdns", "--cluster", a.cluster)) as stranger:
            # A mesh of the same name, of another user as far as a node can see: there is no common cookie.
            with RunningBeside(a, "c", "--mdns") as c:
                until(lambda: rows(a).get("c", {}).get("via") == "mdns")
                until(lambda: rows(c).get("a", {}).get("via") == "mdns")
                until(lambda: rows(a)["c"]["load"] is not None)
                assert rows(a)["c"]["state"] == "alive"
                assert "b" not in rows(a) and list(rows(stranger)) == ["b"]
                table = a.mesh("top", "--once", "--url", "a").stdout
                assert "as a sees it: 2 alive" in table and ["c", "alive"] in [
                    r.split()[:2] for r in table.splitlines()
                ]


def test_a_seed_is_added_kept_over_a_restart_and_taken_back() -> None:
    with running("a") as a, RunningBeside(a, "b") as b:
        assert list(rows(b)) == ["b"]
        assert b.mesh("peer", "add", a.tcp, "--url", "b").returncode == 0
        until(lambda: rows(b).get("a", {}).get("via") == "seed")
        [peer] = json.loads(b.mesh("peer", "ls", "--url", "b", "--json").stdout)["peers"]
        assert (peer["address"], peer["kind"], peer["node"], peer["state"]) == (a.tcp, "added", "a", "alive")
        b.kill()
        b.start()
        until(lambda: rows(b).get("a", {}).get("state") == "alive")
        assert b.mesh("peer", "rm", "a", "--url", "b").returncode == 0
        assert json.loads(b.mesh("peer", "ls", "--url", "b", "--json").stdout)["peers"] == []
        assert b.mesh("peer", "rm", "a", "--url", "b").returncode == 1


def sees_all(node: RunningNode, count: int) -> bool:
    return [row["state"] for row in rows(node).values()] == ["alive"] * count


def test_without_multicast_nobody_is_found_and_one_seed_each_finds_all() -> None:
    with running("a") as a, RunningBeside(a, "b") as b:
        with RunningBeside(a, "c") as c, RunningBeside(a, "d") as d:
            nodes = (a, b, c, d)
            assert all(list(rows(node)) == [node.name] for node in nodes)
            for newcomer, seed in ((b, a), (c, b), (d, c)):
                assert newcomer.mesh("peer", "add", seed.tcp, "--url", newcomer.name).returncode == 0
            until(lambda: all(sees_all(node, 4) for node in nodes))
            ways = {name: row["via"] for name, row in rows(d).items()}
            assert ways.pop("c") == "seed"
            assert ways.keys() == {"a", "b", "d"} and not {*ways.values()} & {"mdns", "seed"}


def test_what_is_configured_is_not_taken_back() -> None:
    with running("a") as a, running("b", beside=a) as b:
        result = b.mesh("peer", "rm", a.tcp, "--url", "b")
        assert result.returncode == 1 and "configuration" in result.stderr


def test_events_tell_who_came_and_went() -> None:
    with running("a") as a:
        with running("b", beside=a) as b:
            until(lambda: events(a, "--kind", "joined"))
            assert b.mesh("down", "--url", "b").returncode == 0
            b.wait()
        until(lambda: events(a, "--kind", "left"))
        joined, left = events(a, "--kind", "joined", "--kind", "left")
        assert [(e["kind"], e["node"], e["boot"]) for e in (joined, left)] == [
            ("joined", "b", 1),
            ("left", "b", 1),
        ]
        assert joined["wall"] < left["wall"] and joined["number"] < left["number"]
        text = a.mesh("events", "--url", "a", "--count", "1").stdout
        assert text.count("\n") == 1 and "  left        b  " in text


def test_following_events_goes_on_over_a_restart_of_the_node() -> None:
    with running("a") as a:
        with subprocess.Popen(
            [sys.executable, "-m", "mesh", "events", "-f", "--json", "--kind", "joined", "--count", "2"],
            env={**a.environ, "MESH_URL": "a"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as following:
            assert following.stdout is not None
            with running("b", beside=a):
                assert json.loads(following.stdout.readline())["node"] == "b"
            a.kill()
            a.start()
            with running("c", beside=a):
                names = [json.loads(following.stdout.readline())["node"]]
                _, err = following.communicate()
            assert (names, following.returncode) == (["c"], 0)
            assert "node is reachable again" in err


class RunningBeside:
    """A node of the same user and cluster that has no address of another node."""

    def __init__(self, other: RunningNode, name: str, *options: str) -> None:
        self.node = RunningNode(name, other.state, other.cluster, options)

    def __enter__(self) -> RunningNode:
        self.node.start()
        return self.node

    def __exit__(self, *_: object) -> None:
        if self.node.is_running:
            self.node.stop()
        assert "Traceback" not in self.node.log, self.node.log
