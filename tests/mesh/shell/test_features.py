"""A feature of another distribution works, or the node names it and does not start."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from mesh.cli.main import main
from mesh.errors import FeatureFailed
from mesh.features.all import FEATURES
from mesh.kernel.context.component import Component
from mesh.kernel.context.dispatch_tables import room_of
from mesh.shell import features
from mesh.shell.features import installed

PLUGIN = """
from mesh.kernel.context.component import Component, on_command
from mesh.kernel.context.incoming_call import answer
from mesh.kernel.feature import Feature, FeatureParts
from mesh.wire.calls import AskInfo
from mesh.wire.commands import Publish


class Commands(Component):
    def from_clients(self):
        return (on_command(Publish, print),)


class Verbs(Component):
    def client_verbs(self):
        return (answer(AskInfo, print),)


fine = Feature("paint", lambda parts: FeatureParts(Component()))
same_name = Feature("queues", lambda parts: FeatureParts())
same_command = Feature("paint", lambda parts: FeatureParts(Commands()))
same_verb = Feature("paint", lambda parts: FeatureParts(Verbs()))
missing = Feature("paint", lambda parts: FeatureParts(), ("brushes",))
circle = Feature("paint", lambda parts: FeatureParts(), ("paint",))
broken = Feature("paint", lambda parts: parts.no_such_component)
text = "paint"
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Install the feature `request.param`, a value of an entry point."""
    (tmp_path / "heronry_paint.py").write_text(PLUGIN)
    (tmp_path / "heronry_raising.py").write_text("raise RuntimeError('no brushes')")
    monkeypatch.syspath_prepend(tmp_path)
    found = [EntryPoint("paint", request.param, features.GROUP)]
    monkeypatch.setattr(features, "entries", lambda group: found)
    yield


@pytest.mark.parametrize("plugin", ["heronry_paint:fine"], indirect=True)
def test_a_feature_of_another_distribution_comes_behind_ours(plugin: None) -> None:
    assert [each.name for each in installed()] == [*(each.name for each in FEATURES), "paint"]


def test_without_plug_ins_the_features_are_ours() -> None:
    assert installed() == FEATURES


REFUSED = {
    "heronry_paint:same_name": "Two features have the name 'queues'",
    "heronry_paint:same_command": "Two components handle the command Publish of a client: .* and Commands of",
    "heronry_paint:same_verb": "Two components handle the verb of clients 'info': .* and Verbs of",
    "heronry_paint:missing": "'paint' needs the feature 'brushes', which is not installed",
    "heronry_paint:circle": "cycle: paint -> paint",
    "heronry_paint:broken": "feature 'paint' cannot be built: AttributeError: .*no_such_component",
    "heronry_paint:text": "feature 'paint' .* is of type str, not Feature",
    "heronry_paint:nothing": "feature 'paint' .* cannot be loaded: AttributeError",
    "heronry_missing:fine": "feature 'paint' .* cannot be loaded: ModuleNotFoundError: .*heronry_missing",
    "heronry_raising:fine": "feature 'paint' .* cannot be loaded: RuntimeError: no brushes",
}


@pytest.mark.parametrize(("plugin", "text"), REFUSED.items(), ids=REFUSED, indirect=["plugin"])
def test_a_feature_that_cannot_work_is_named(plugin: None, text: str) -> None:
    with pytest.raises(FeatureFailed, match=text) as failed:
        installed()
    assert (failed.value.code, bool(failed.value.hint)) == ("FEATURE", True)


@pytest.mark.parametrize("plugin", ["heronry_paint:broken"], indirect=True)
def test_a_node_names_the_feature_before_it_opens_its_store(
    plugin: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path / "state"))
    data = tmp_path / "data"
    assert main(["up", "--id", "heron", "--data", str(data)]) == 2
    assert "feature 'paint' cannot be built" in capsys.readouterr().err
    assert not data.exists()
    assert main(["check", "--url", "heron"]) == 2
    assert "feature 'paint' cannot be built" in capsys.readouterr().out


def test_a_component_of_a_plug_in_has_the_name_of_its_package_in_reasons() -> None:
    class Painting(Component):
        pass

    assert room_of(Painting()) == "tests"
