"""Planted bugs whose own patch fails are reported as broken, not as missed."""

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mesh.kernel.context.disk import Disk
from tests.each import each
from tools.simulator import planted_search
from tools.simulator.planted import BUGS, Bug, planted
from tools.simulator.planted_search import BrokenBug, find_planted, is_found

ROOT = Path(__file__).parents[3]
PRODUCT = ("mesh", "discovery", "balancers")
OTHERS = {"fget", "patches", "planted"}  # attributes of properties, of `Bug`, and of a bug itself


def outdated() -> Bug:
    """Return a bug whose patch uses a name that does not exist."""

    def commit(self: Any, ops: Any, then: Any) -> None:
        self._name_of_an_earlier_release(ops, then)

    return Bug("short", 1, "S-final", lambda: [(Disk, "commit", commit)])


@each("name", BUGS)
def test_each_bug_is_planted_into_names_that_exist(name: str) -> None:
    assert all(hasattr(owner, attribute) for owner, attribute, _ in BUGS[name].patches())


def test_each_attribute_that_a_planted_bug_uses_occurs_in_the_product() -> None:
    files = [file for top in PRODUCT for file in (ROOT / top).rglob("*.py")]
    words = {word for file in files for word in re.findall(r"\w+", file.read_text("utf-8"))} | OTHERS
    used = {
        f"{file.name}:{node.lineno}: {node.attr}"
        for file in (ROOT / "tools/simulator").glob("planted*.py")
        if file.name != "planted_search.py"
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr not in words
    }
    assert used == set()


def test_a_patch_that_raises_an_exception_of_its_own_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted_search, "ITS_OWN", re.compile(rf"\({Path(__file__).name}:\d+\)\Z"))
    with pytest.raises(BrokenBug, match="_name_of_an_earlier_release"):
        is_found(outdated(), 1)
    monkeypatch.setattr(planted_search, "BUGS", {"outdated": outdated()})
    console = Console(record=True, width=200)
    assert not find_planted(console, reduce=False)
    assert "broken outdated: its patch failed: AttributeError" in console.export_text()


def test_a_seed_that_breaks_a_promise_without_the_bug_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another planted bug stands for a bug of the product."""
    name = "a client shows a message twice"
    harmless = replace(BUGS[name], patches=list)
    monkeypatch.setattr(planted_search, "BUGS", {"harmless": harmless})
    console = Console(record=True, width=200)
    with planted(BUGS[name]):
        assert not find_planted(console, reduce=False)
    assert f"broken harmless: seed {harmless.seed} breaks this without it, too: C1.1" in console.export_text()


def test_the_place_of_an_exception_tells_a_patch_from_the_product() -> None:
    assert planted_search.ITS_OWN.search("AttributeError: x (planted_rules.py:12)")
    assert not planted_search.ITS_OWN.search("AttributeError: x (planted_rules.py:12) (feed.py:3)")
    assert not planted_search.ITS_OWN.search("AssertionError: x (feed.py:3)")
