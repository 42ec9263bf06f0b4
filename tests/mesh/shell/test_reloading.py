"""The settings that a running node applies, and the report about the other ones."""

from pathlib import Path
from typing import Any

import pytest

from mesh.config import Config, load
from mesh.config.difference import LIVE, LOG, SITE, difference, setting
from mesh.config.source import parsed
from mesh.errors import KeysRefused
from mesh.security.joining import join_site, new_mesh
from mesh.security.keyfiles import site_path
from mesh.security.keyring import MeshKeys, keyring
from mesh.shell import reloading
from mesh.shell.reloading import LIMITS, Reloading
from mesh.shell.settings import settings_of
from mesh.wire.commands import Introduction
from tests.mesh.security.keyed import another_site

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
    assert Reloading(config(), lambda: given)().settings[LIMITS[name]] == 7


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


LON = '[site]\nname = "LON"\n'
NYC = '[sites.NYC]\ndomains = ["STOCK"]\n'


def test_other_sites_are_told_of_by_what_is_otherwise_and_taken_on() -> None:
    more = f'{LON}relay = true\n[sites.NYC]\ntopics = ["a"]\none_way = true\n[sites.SFO]\n'
    found = Reloading(config(LON + NYC), lambda: config(more))()
    assert found.now == (
        "site.relay: False -> True",
        "site SFO is configured",
        "site NYC has changed domains, topics, one_way",
    )
    assert found.later == ()
    site = found.settings["site"]
    assert (site.is_relay, [*site.addresses]) == (True, ["NYC", "SFO"])
    assert site.selection.sites_for("", "a") == ("NYC",)
    assert Reloading(config(LON + NYC), lambda: config(LON))().now == ("site NYC is no longer configured",)


def test_while_the_site_itself_has_another_name_nothing_of_sites_is_taken_on() -> None:
    found = Reloading(config(), lambda: config(f"{LON}relay = true\n{NYC}"))()
    assert (found.now, found.later) == ((), ("site.name", "site.relay", "sites"))
    site = found.settings["site"]
    assert (site.is_relay, site.addresses, site.outboxes) == (False, {}, {})


def test_the_keys_of_sites_are_read_again_and_no_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    new_mesh(tmp_path, "default")

    def keys(new: Config) -> MeshKeys | None:
        return keyring(tmp_path, tmp_path, "default", sites=[site.name for site in new.sites])

    before = keys(config(LON))
    assert before is not None
    dialled: list[Any] = []
    reload = Reloading(config(LON), lambda: config(LON + NYC), before.ring, keys, dialled.append)
    found = reload().settings["keyring"]
    assert ([*found.relays], [*found.sites]) == (["NYC"], [])
    join_site(tmp_path, "NYC", another_site(tmp_path / "nyc"))
    again = reload()
    found = again.settings["keyring"]
    assert ([*found.sites], dialled) == (["NYC"], []), "only the node knows whether it goes by them"
    assert (found.secrets, found.server) == (before.ring.secrets, before.ring.server)
    again.keep()
    assert [[*sites] for sites in dialled] == [["NYC"]]
    site_path(tmp_path, "NYC").write_text("{")
    with pytest.raises(KeysRefused):
        reload()


def test_the_page_names_each_setting_that_is_taken_on() -> None:
    table = PAGE[PAGE.index("| setting |") :].partition("\n\n")[0].splitlines()[2:]
    assert [row.split("`")[1] for row in table if row.startswith("| `")] == [*LIVE, *SITE]
