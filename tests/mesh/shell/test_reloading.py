"""What does a node take on while it runs, and what does it say of the rest?"""

from pathlib import Path
from typing import Any

import pytest

from mesh.config import Config, load
from mesh.config.source import parsed
from mesh.core.desk.settings import Settings
from mesh.core.node import NodeCore
from mesh.core.parts import Parts
from mesh.shell.reloading import LIMITS, LIVE, differences, setting, told, with_live
from mesh.shell.settings import settings_of
from mesh.wire.commands import Introduction

PAGE = (Path(__file__).parents[3] / "docs" / "service.md").read_text()
ME = Introduction(b"h" * 16, "heron", 3, "")


def config(text: str = "") -> Config:
    return load(parsed(Path("mesh.toml"), text), {}, {})


def told_of(old: str, new: str) -> str:
    return told(differences(config(old), config(new)))


def test_what_can_be_taken_on_is_told_apart_from_what_cannot() -> None:
    assert told_of("", "") == "the settings are as they were"
    assert told_of("", "[limits]\nsessions = 7") == "taken on: limits.sessions: 16384 -> 7"
    found = told_of('[log]\nlevel = "debug"', "[limits]\nlinger = 5.0")
    taken = "taken on: log.level: 'debug' -> 'info'"
    assert found == f"{taken}. wants a restart, and is as before: limits.linger: 60.0 -> 5.0"
    assert told_of("", '[nodes.swift]\naddress = "tcp://127.0.0.1:1"').endswith("as before: nodes changed")


def test_no_secret_is_told() -> None:
    assert "db.example" not in told_of("", '[node]\nstore = "postgresql://joe@db.example/x"')


def test_what_wants_a_restart_is_told_again_the_next_time_and_what_was_taken_on_is_not() -> None:
    old, new = config(), config("[limits]\nsessions = 7\nlinger = 5.0")
    now = with_live(old, new)
    assert (now.limits.sessions, now.limits.linger) == (7, 60.0)
    assert [each.name for each in differences(now, new)] == ["limits.linger"]


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_that_is_taken_on_is_that_of_the_core(name: str) -> None:
    section, _, key = name.rpartition(".")
    given: Any = config(f"[{section}]\n{key} = 7")
    settings = settings_of(given, ME, (), b"", None, lambda: 0.5, lambda text: None)
    assert getattr(settings, LIMITS[name]) == setting(given, name) == 7


def test_a_core_has_other_limits_from_then_on() -> None:
    core = NodeCore(Parts(Settings(me=ME), bytes, lambda: 0.5))
    core.limit({"max_sessions": 1})
    assert core.parts.desk.settings.max_sessions == 1


def test_the_page_names_each_setting_that_is_taken_on() -> None:
    table = PAGE[PAGE.index("| setting |") :].partition("\n\n")[0].splitlines()[2:]
    assert [row.split("`")[1] for row in table] == list(LIVE)
