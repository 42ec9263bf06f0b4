"""Differences between a configuration and a reloaded one, and when each of them takes effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from mesh.config import Config, load, rules
from mesh.config.difference import adopted, difference
from mesh.errors import BadConfig
from mesh.mapping.agreed import RuleSet
from mesh.shell.reloading import Reloading

HERON = '[nodes.heron]\n[[nodes.heron.master]]\ndomains = ["NEWS"]\n'
AVALON = '[nodes.avalon]\n[[nodes.avalon.master]]\ndomains = ["NEWS"]\nstratum = 1\n'


def config(tmp_path: Path, text: str) -> Config:
    (tmp_path / "mesh.toml").write_text(text)
    return load(tmp_path / "mesh.toml", {}, {})


@pytest.mark.parametrize(
    ("old", "new", "now", "later"),
    [
        ("", "", [], []),
        (HERON, HERON, [], []),
        ("", HERON, ["node heron is configured", "new rule: heron: domains 'NEWS'"], []),
        (HERON, "", ["node heron is no longer configured", "removed rule: heron: domains 'NEWS'"], []),
        (
            HERON,
            AVALON,
            [
                "node avalon is configured", "node heron is no longer configured",
                "new rule: avalon: stratum 1, domains 'NEWS'", "removed rule: heron: domains 'NEWS'",
            ],
            [],
        ),
        (HERON + AVALON, AVALON + HERON, ["changed order of rules"], []),
        ("", "[limits]\nsessions = 5\n", ["limits.sessions: 16384 -> 5"], []),
        ("", "[limits]\nlinger = 5.0\n", [], ["limits.linger"]),
        ('[log]\nlevel = "debug"\n', "", ["log.level: 'debug' -> 'info'"], []),
        ('[node]\nstore = "memory"\n', "", [], ["node.store"]),
        (
            "",
            '[nodes.heron]\naddress = "tcp://127.0.0.1:7710"\n',
            ["node heron is configured"],
            ["nodes.heron.address"],
        ),
        (
            '[nodes.heron]\naddress = "tcp://127.0.0.1:7710"\n',
            '[nodes.heron]\naddress = "tcp://127.0.0.1:7711"\n',
            [],
            ["nodes.heron.address"],
        ),
        (HERON, 'links = "configured"\n' + HERON, [], ["links"]),
    ],
)  # fmt: skip
def test_rules_count_now_and_all_else_later(
    tmp_path: Path, old: str, new: str, now: list[str], later: list[str]
) -> None:
    before, after = config(tmp_path, old), config(tmp_path, new)
    found = difference(before, after)
    assert (list(found.now), list(found.later)) == (now, later)
    again = difference(adopted(before, after), after)
    assert (list(again.now), list(again.later)) == ([], later), "what counts is told once, what waits again"


def test_two_rules_that_are_alike_are_two(tmp_path: Path) -> None:
    twice = HERON + '[[nodes.heron.master]]\ndomains = ["NEWS"]\n'
    found = difference(config(tmp_path, HERON), config(tmp_path, twice))
    assert found.now == ("new rule: heron: domains 'NEWS'",)


def test_what_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    old = config(tmp_path, HERON)
    reload = Reloading(old, lambda: load(tmp_path / "mesh.toml", {}, {}))
    (tmp_path / "mesh.toml").write_text("[nodes.heron]\nmaster = 5\n")
    for _ in range(2):
        with pytest.raises(BadConfig):
            reload()
    (tmp_path / "mesh.toml").unlink()
    with pytest.raises(BadConfig):
        reload()
    (tmp_path / "mesh.toml").write_text(AVALON)
    assert reload().now == reload().now, "until it is kept"
    found = reload()
    found.keep()
    assert len(found.now) == 4
    assert found.ruleset == RuleSet(rules(config(tmp_path, AVALON)), ("avalon",))
    again = reload()
    assert (again.now, again.ruleset) == ((), None)
