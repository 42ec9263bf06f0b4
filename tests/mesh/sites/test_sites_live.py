"""Do two sites that run come together by what is typed, without a start, and does what is paused wait?"""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.mesh.running import until
from tests.mesh.sites.test_sites_page import said, state
from tests.pages import Terminal, free_port, terminal

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
