"""The page docs/testing.md: its programs run, and it names every ability of a mesh in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mesh.testing import Mesh
from mesh.testing.plugin import mesh_in_memory
from tests.mesh.running import LIMIT
from tests.pages import ROOT, TESTING, Block, blocks

PAGE = TESTING.read_text()
PROGRAMS = [block for block in blocks("python", [TESTING]) if "def test_" not in block.text]
TESTS = [block for block in blocks("python", [TESTING]) if "def test_" in block.text]


@pytest.mark.slow
@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_a_program_of_the_page_runs_where_no_node_does(block: Block, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text],
        env={"PYTHONPATH": str(ROOT), "MESH_STATE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


@pytest.mark.slow
def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    for number, block in enumerate(TESTS):
        (tmp_path / f"test_{number}.py").write_text(block.text)
    code, output = run_pytest(tmp_path)
    count = sum(block.text.count("def test_") for block in TESTS)
    assert code == 0 and f"{count} passed" in output and count == 7, output


@pytest.mark.slow
def test_the_fixture_says_what_it_is_and_what_is_wrong_with_its_marker(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    (tmp_path / "test_it.py").write_text(WRONG)
    code, output = run_pytest(tmp_path, "--strict-markers")
    assert code == 1 and "1 passed" in output and "2 errors" in output, output
    assert "BadArgument: nodes=0 is invalid." in output and "CoreFailed: The node failed" in output
    # `--markers` and `--fixtures` would print these texts.
    assert any(line.startswith("mesh_in_memory(nodes=1, ") for line in pytestconfig.getini("markers"))
    assert (mesh_in_memory.__doc__ or "").startswith("A mesh of one node")


WRONG = """
import pytest

@pytest.mark.mesh_in_memory(0)
def test_wrong(mesh_in_memory):
    raise AssertionError("it was begun")

def test_a_node_fails(mesh_in_memory):
    node = mesh_in_memory._nodes["a"]
    node._call("a test", lambda now, wall: 1 / 0)
"""


def run_pytest(folder: Path, *options: str) -> tuple[int, str]:
    """Return the exit code and the output of pytest in `folder`."""
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "mesh.testing.plugin",
            "-p",
            "no:cacheprovider",
            "-W",
            "error",
            *options,
        ],
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    return result.returncode, result.stdout + result.stderr


def test_pytest_loads_no_node_before_somebody_asks_for_one() -> None:
    heavy = "[name for name in sys.modules if name.split('.')[0] in ('zmq', 'msgspec', 'msgpack')]"
    said = f"import sys, mesh.testing.plugin; print({heavy})"
    command = [sys.executable, "-c", said]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
    assert result.stdout == "[]\n", result


def test_the_page_names_all_that_a_mesh_in_memory_can() -> None:
    public = {name for name in vars(Mesh) if not name.startswith("_")} - {"close"}
    assert [name for name in public if f"`{name}" not in PAGE and f"await {name}(" not in PAGE] == []


def test_the_plugin_stands_where_pytest_looks_for_it() -> None:
    setup = (ROOT / "setup.cfg").read_text()
    assert "pytest11 =\n    mesh = mesh.testing.plugin\n" in setup
