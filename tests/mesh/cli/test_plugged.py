"""Commands of other distributions run as verbs, and those that cannot be loaded are named."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from mesh import entry_points
from mesh.cli import plugged
from mesh.cli.main import main

PLUGIN = """
import click


@click.command("paint")
@click.argument("color")
def paint(color):
    print(f"painted {color}")


text = "paint"
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """The installed entry points: a list to which tests append."""
    (tmp_path / "heronry_painting.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    found: list[EntryPoint] = []
    monkeypatch.setattr(entry_points, "entries", lambda group: found)
    return found


def entry(value: str, name: str = "paint") -> EntryPoint:
    return EntryPoint(name, value, plugged.GROUP)


def test_a_command_of_another_distribution_is_a_verb(
    install: list[EntryPoint], capsys: pytest.CaptureFixture[str]
) -> None:
    install.append(entry("heronry_painting:paint"))
    assert main(["paint", "red"]) == 0
    assert capsys.readouterr().out == "painted red\n"
    assert main(["paint", "--help"]) == 0
    assert "Usage: mesh paint" in capsys.readouterr().out


def test_it_does_not_replace_a_verb_of_ours(
    install: list[EntryPoint], capsys: pytest.CaptureFixture[str]
) -> None:
    install.append(entry("heronry_painting:paint", "completion"))
    assert main(["completion", "--help"]) == 0
    assert "painted" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "No such command 'paint'"),
        (["heronry_painting:text"], "is of type str, not Command"),
        (["heronry_painting:nothing"], "cannot be loaded: AttributeError"),
        (["heronry_missing:paint"], "cannot be loaded: ModuleNotFoundError"),
        (
            ["heronry_painting:paint", "heronry_missing:paint"],
            "is provided by heronry_missing:paint of .* and heronry_pa",
        ),
    ],
)
def test_a_command_that_cannot_run_is_named(
    install: list[EntryPoint], capsys: pytest.CaptureFixture[str], values: list[str], text: str
) -> None:
    install.extend(map(entry, values))
    assert main(["paint", "red"]) == 2
    assert_matches(text, capsys.readouterr().err)


def assert_matches(pattern: str, text: str) -> None:
    assert re.search(pattern, " ".join(text.split())), text
