"""Invalid meshes, rules, clocks, nodes and times in tests, which are refused at once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from mesh.errors import BadArgument, NodeNotFound
from mesh.testing import Mesh
from tests.mesh.testing.scenarios import scenario

NODES = [
    0,
    -1,
    "a",
    "",
    b"ab",
    None,
    1.0,
    math.nan,
    True,
    27,
    2**63,
    [],
    ["a", "a"],
    [1],
    ["a b"],
    [""],
    ["\ud800"],
]

RULES: list[Any] = [
    "[nodes.a", "limits = 3", "[limits]\nlinger = nan", None, 3, {"a": "NEWS"}, {"a": 3}, {"a": []},
    {"": ["NEWS"]}, {3: ["NEWS"]}, {"a": [None]}, {"a": ["\ud800"]}, Path("/nowhere"), "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("nodes", NODES, ids=repr)
def test_nodes_that_cannot_be(nodes: Any) -> None:
    with pytest.raises(BadArgument):
        Mesh(nodes)


@pytest.mark.parametrize("rules", RULES, ids=repr)
def test_rules_that_cannot_be(rules: Any) -> None:
    with pytest.raises(BadArgument):
        Mesh(rules=rules)


@pytest.mark.parametrize("clock", ["", "Real", None, 0, math.nan, [], "fast"], ids=repr)
def test_a_clock_that_cannot_be(clock: Any) -> None:
    with pytest.raises(BadArgument):
        Mesh(clock=clock)


@scenario(2)
async def test_nodes_and_times_that_are_none(m: Mesh) -> None:
    names: list[Any] = ["c", "", None, 3, [], "\ud800", b"a", math.nan]
    for name in names:
        for ask in (m.kill, m.start, lambda name: m.cut("a", name), lambda name: m.cut(name, "a")):
            with pytest.raises(BadArgument):
                ask(name)
        if name and isinstance(name, str):
            with pytest.raises((NodeNotFound, BadArgument)):
                await m.connect(name).__aenter__()
    with pytest.raises(BadArgument, match="must differ"):
        m.cut("a", "a")
    for duration in (-1, math.nan, math.inf, "1", None, True, 2**63, -0.1):
        worse: Any = duration
        with pytest.raises(BadArgument):
            await m.pass_time(worse)
        with pytest.raises(BadArgument):
            await m.joined(worse)
    with pytest.raises(BadArgument):
        m.connect(timeout=math.nan)
