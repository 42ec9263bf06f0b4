"""The steps of docs/sites.md: two sites on this machine, each in its own terminal."""

import json
import re
import subprocess
import tomllib
from contextlib import ExitStack
from pathlib import Path

import pytest

from mesh.config.loading import load
from tests.pages import ROOT, Terminal, blocks, free_port, terminal
from tests.waiting import LIMIT, until

SITES = ROOT / "docs" / "sites.md"
PAGE = SITES.read_text()
ADDRESS = "10.1.0.5:7710"


def files() -> dict[str, str]:
    """Return the files of the page, by name."""
    return {f"{tomllib.loads(b.text)['site']['name'].lower()}.toml": b.text for b in blocks("toml", [SITES])}


def typed() -> list[tuple[str, str]]:
    """Return the steps of the page as (site, command)."""
    return re.findall(r"^(nyc|lon)\$ (.*)$", PAGE, re.MULTILINE)


def test_the_files_of_the_page_are_right(tmp_path: Path) -> None:
    for name, text in files().items():
        path = tmp_path / name
        path.write_text(text)
        assert load(path, {}, {}).site.name == name.removesuffix(".toml").upper()


def test_every_refusal_of_the_page_is_one_of_the_wire() -> None:
    wire = (ROOT / "docs" / "wire.md").read_text()
    codes = re.findall(r"not allowed by peer: (\w+)", PAGE)
    assert codes and all(f"| `{code}` |" in wire for code in codes)


@pytest.mark.slow
def test_the_two_sites_of_the_page_see_and_hear_each_other_and_the_end_of_one(tmp_path: Path) -> None:
    port, printed = free_port(), ""
    with ExitStack() as stack:
        shells: dict[str, Terminal] = {}
        for name in ("nyc", "lon"):
            folder = tmp_path / name
            folder.mkdir()
            (folder / f"{name}.toml").write_text(
                files()[f"{name}.toml"].replace(ADDRESS, f"127.0.0.1:{port}")
            )
            shells[name] = stack.enter_context(terminal(folder, folder))
            shells[name].environ["MESH_DISCOVERY__MDNS"] = "false"
        for where, command in typed():
            shell = shells[where]
            if command.startswith("mesh up"):
                bind = f"tcp://127.0.0.1:{port if where == 'nyc' else 0}"
                shell.type(f"{command} --id {where} --bind {bind}")
            elif "mesh token" in command:
                printed = said(shell, command)
            elif command.startswith("mesh sub"):
                shell.type(command)
                until(lambda: state(shells["lon"]) == state(shells["nyc"]) == ["up"])
            else:
                shell.type(command.replace("echo token", f"echo {printed}"))
        until(lambda: "21.5" in "".join(path.read_text() for path in (tmp_path / "nyc").glob("beside-*")))
        said(shells["nyc"], "mesh down")
        until(lambda: state(shells["lon"]) == ["down"])


def said(shell: Terminal, command: str) -> str:
    """Run a command in the terminal, and return its output."""
    done = subprocess.run(
        ["bash", "-c", command], env=shell.environ, capture_output=True, text=True, timeout=LIMIT, check=True
    )
    return done.stdout.strip()


def state(shell: Terminal) -> list[str]:
    return [row["state"] for row in json.loads(said(shell, "mesh ls --sites --json"))["sites"]]


KEY = "sensors/a"


@pytest.mark.slow
def test_sites_that_run_are_named_joined_paused_and_taken_out(tmp_path: Path) -> None:
    port = free_port()
    with ExitStack() as stack:
        shells: dict[str, Terminal] = {}
        for name in ("nyc", "lon"):
            folder = tmp_path / name
            folder.mkdir()
            (folder / "mesh.toml").write_text(f'[site]\nname = "{name.upper()}"\nrelay = true\n')
            shell = shells[name] = stack.enter_context(terminal(folder, folder))
            shell.environ["MESH_DISCOVERY__MDNS"] = "false"
            said(shell, "mesh init")
            shell.type(f"mesh up --id {name} --bind tcp://127.0.0.1:{port if name == 'nyc' else 0}")
        nyc, lon = shells["nyc"], shells["lon"]
        until(lambda: all(json.loads(said(each, "mesh ls --json"))["nodes"] for each in shells.values()))
        added = f"--config {tmp_path}/%s/mesh.toml --topic 'sensors/#' --json"
        assert json.loads(said(nyc, f"mesh relay add LON {added % 'nyc'}"))["counts"]
        there = f"--address tcp://127.0.0.1:{port} {added % 'lon'}"
        assert json.loads(said(lon, f"mesh relay add NYC {there}"))["counts"]
        token = said(nyc, "mesh token --role relay --site LON")
        said(lon, f"echo {token} | mesh join --site NYC")
        assert state(lon) == ["unreachable"]
        said(lon, "mesh config reload")
        until(lambda: state(lon) == state(nyc) == ["up"])
        said(lon, "mesh relay pause NYC")
        said(lon, f"mesh pub {KEY} 21.5")
        [row] = json.loads(said(lon, "mesh relay ls --json"))["sites"]
        assert row["paused"] and row["waiting"]["messages"] == 1
        said(lon, "mesh relay resume NYC")
        until(lambda: said(nyc, f"mesh get {KEY} || true").endswith("21.5"))
        assert json.loads(said(lon, "mesh relay sync NYC --json")) == {
            "site": "NYC",
            "nodes": ["lon"],
            "missing": [],
        }
        until(lambda: "mesh_sites_marked 0" in said(lon, "mesh metrics"))
        assert json.loads(said(lon, f"mesh relay rm NYC --config {tmp_path}/lon/mesh.toml --json"))["counts"]
        until(lambda: state(nyc) != ["up"])
        assert json.loads(said(lon, "mesh relay ls --json"))["sites"] == []
