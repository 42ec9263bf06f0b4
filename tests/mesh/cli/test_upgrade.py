"""`mesh upgrade --check` orders the restarts of the nodes, and names what would be refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given as example
from hypothesis import strategies as st
from msgspec import to_builtins

from mesh.cli import upgrade
from mesh.cli.main import main
from mesh.cli.upgrade import is_too_old, plan, release_of
from mesh.wire.replies import Depth, NodeRow
from tests.mesh.cli.fake import Given

Capture = pytest.CaptureFixture[str]


def node(name: str, release: str = "1.4.0", **more: Any) -> NodeRow:
    known = {"published": 0.0, "queued": 0, "sessions": 0, "moves": True, "state": "alive", **more}
    return NodeRow(
        name=name, uuid="", boot=1, address="", via="self", link="", data=True, rtt=0.0, age=0.0,
        tailback=Depth(messages=0, bytes=0, age=0.0), software=f"heronry {release}", **known,
    )  # fmt: skip


RELAY, MASTER, QUEUES = node("stork"), node("heron", published=12.5), node("ibis", queued=3)
DOWN = node("egret", state="dead")


def test_nodes_that_only_forward_come_first_then_masters_then_queues() -> None:
    found = plan([QUEUES, DOWN, MASTER, RELAY], "1.4.0")
    assert [(each.order, each.node) for each in found] == [
        (1, "stork"),
        (2, "heron"),
        (3, "ibis"),
        (0, "egret"),
    ]
    assert [each.refused for each in found] == [""] * 4
    whys = " / ".join(each.why for each in found)
    assert all(
        text in whys for text in ("only forwards", "12.5 messages a second", "hold 3 messages", "down (dead)")
    )


def test_of_equal_nodes_the_one_with_least_work_comes_first() -> None:
    many, few = node("a", sessions=9), node("b", sessions=2)
    assert [each.node for each in plan([many, few], "1.4.0")] == ["b", "a"]


def test_nodes_that_have_the_newest_release_are_not_restarted_while_others_lack_it() -> None:
    found = plan([node("a", "1.5.0"), node("b", "1.4.2")], "1.4.2")
    assert [(each.node, each.order) for each in found] == [("b", 1), ("a", 0)]
    assert [each.order for each in plan([node("a"), node("b")], "1.4.0")] == [1, 2]


@pytest.mark.parametrize(
    ("row", "target", "text"),
    [
        (node("a", "1.2.9"), "1.4.0", "more than one release older than 1.4"),
        (node("a", "1.3.0", moves=False), "1.4.0", "lacks the feature `sessions`"),
    ],
)
def test_what_would_be_refused_is_named(row: NodeRow, target: str, text: str) -> None:
    found = {each.node: each.refused for each in plan([row, node("b", "1.3.0")], target)}
    assert text in found["a"] and found["b"] == ""


def test_the_only_node_has_nowhere_to_send_its_clients() -> None:
    found = plan([MASTER, DOWN], "1.4.0")
    assert "the only node" in found[0].refused and found[1].refused == ""


@pytest.mark.parametrize(
    ("release", "newest", "expected"),
    [
        ((1, 3), (1, 4), False), ((1, 2), (1, 4), True), ((1, 9), (2, 0), False), ((1, 9), (2, 1), True),
        ((0, 9), (2, 0), True), ((), (2, 0), False), ((1, 4), (1, 4), False),
    ],
)  # fmt: skip
def test_a_release_works_with_the_one_before_it(
    release: tuple[int, ...], newest: tuple[int, ...], expected: bool
) -> None:
    assert is_too_old(release, newest) is expected


@example(st.one_of(st.none(), st.text(max_size=30)))
def test_no_text_of_a_node_breaks_the_plan(software: str | None) -> None:
    assert len(release_of(software)) <= upgrade.PARTS


def test_releases_are_read_from_the_text_of_a_node() -> None:
    assert [release_of(text) for text in ("heronry 1.4.2", "heronry 2.0", "", None)] == [
        (1, 4),
        (2, 0),
        (),
        (),
    ]


def test_the_plan_is_printed_and_its_exit_code_says_whether_all_goes(
    given: Given, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade, "__version__", "1.4.0")
    given(call={"nodes": [to_builtins(MASTER), to_builtins(RELAY)]})
    assert main(["upgrade", "--check"]) == 0
    first, second = capsys.readouterr().out.splitlines()[1:]
    assert first.split()[:2] == ["1", "stork"] and second.split()[:2] == ["2", "heron"]
    given(call={"nodes": [to_builtins(node("old", "1.1.0")), to_builtins(RELAY)]})
    assert main(["upgrade", "--check", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert {row["node"]: bool(row["refused"]) for row in rows} == {"old": True, "stork": False}
    assert main(["upgrade"]) == 2
