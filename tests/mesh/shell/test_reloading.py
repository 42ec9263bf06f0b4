"""What does a node take on while it runs, and what does it say of the rest?"""

from pathlib import Path
from typing import Any

import pytest

from mesh.config import Config, load
from mesh.config.difference import LIVE, LOG, difference, setting
from mesh.config.source import parsed
from mesh.shell import reloading
from mesh.shell.reloading import LIMITS, Reloading
from mesh.shell.settings import settings_of
from mesh.wire.commands import Introduction

PAGE = (Path(__file__).parents[3] / "docs" / "service.md").read_text()
ME = Introduction(b"h" * 16, "heron", 3, "")
SEVERAL = "".join(f'[nodes.{name}]\n[[nodes.{name}.master]]\ndomains = ["NEWS"]\n' for name in ("a", "b"))


def config(text: str = "") -> Config:
    return load(parsed(Path("mesh.toml"), text), {}, {})


def test_no_secret_is_told() -> None:
    found = difference(config(), config('[node]\nstore = "postgresql://joe@db.example/x"'))
    assert found == ((), ("node.store",))


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_that_is_taken_on_is_that_of_the_core(name: str) -> None:
    section, _, key = name.rpartition(".")
    given: Any = config(f"[{section}]\n{key} = 7")
    settings = settings_of(given, ME, (), b"", None, lambda: 0.5, lambda text: None)
    assert getattr(settings, LIMITS[name]) == setting(given, name) == 7
    assert Reloading(config(), lambda: given)().limits[LIMITS[name]] == 7


def test_what_is_live_are_the_levels_and_these_limits() -> None:
    assert {*LOG, *LIMITS} == set(LIVE)


def test_levels_of_the_log_are_set_when_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr(reloading, "set_levels", lambda *levels: said.append(levels))
    reload = Reloading(
        config(), lambda: config('[log]\nlevel = "error"\nlevels = { "mesh.routes" = "debug" }')
    )
    reload()
    assert said == [], "only the node knows whether it goes by them"
    reload().keep()
    reload().keep()
    assert said == [("error", {"mesh.routes": "debug"})]


def test_where_a_message_has_several_masters_all_but_rules_is_taken_on() -> None:
    found = Reloading(config(SEVERAL), lambda: config(SEVERAL + "[limits]\nsessions = 7"))()
    assert (found.ruleset, found.now) == (None, ("limits.sessions: 16384 -> 7",))


def test_the_page_names_each_setting_that_is_taken_on() -> None:
    table = PAGE[PAGE.index("| setting |") :].partition("\n\n")[0].splitlines()[2:]
    assert [row.split("`")[1] for row in table if row.startswith("| `")] == list(LIVE)
