"""`mesh config reload`: a running node uses its changed file, and the difference is reported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mesh.cli.main import main
from tests.mesh.cli.fake import Given
from tests.mesh.running import LIMIT, running

Capture = pytest.CaptureFixture[str]
RULE = '[nodes.crane]\n[[nodes.crane.master]]\ndomains = ["NEWS"]\n'


def test_it_prints_what_counts_now_and_what_later(given: Given, capsys: Capture) -> None:
    client = given(call={"now": ["a rule\x1b"], "later": ["limits.sessions"]})
    assert main(["config", "reload"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines() == ["a rule\\x1b", "limits.sessions: after a restart"]
    assert client.asked == [("call", ("reload",), {})]
    assert main(["config", "reload", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["later"] == ["limits.sessions"]


def test_without_any_difference_it_says_so(given: Given, capsys: Capture) -> None:
    given(call={"now": [], "later": []})
    assert main(["config", "reload"]) == 0 and "no setting has changed" in capsys.readouterr().err


@pytest.mark.slow
def test_a_running_node_goes_by_what_is_written_into_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text("")

    with running("heron", options=("--config", str(file))) as node:

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "mesh", *words]
            return subprocess.run(command, env=node.environ, capture_output=True, text=True, timeout=LIMIT)

        assert "no setting has changed" in run("config", "reload").stderr
        file.write_text(RULE)
        said = run("config", "reload")
        assert said.returncode == 0 and "new rule: crane: domains 'NEWS'" in said.stdout
        assert run("config", "reload").stdout == ""
        file.write_text("[nodes.crane]\nmaster = 5\n")
        said = run("config", "reload")
        assert said.returncode == 2 and str(file) in said.stderr
