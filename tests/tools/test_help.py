"""Does --help of a tool print its options, and do nothing else?"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
SCRIPTS = sorted(file.name for file in TOOLS.iterdir() if file.is_file() and file.read_bytes()[:2] == b"#!")
# Where the options of a script are declared; the others have subcommands, or none.
DECLARED = {
    "costs": "costing/__main__.py", "demo": "demo_parts/show.py", "fuzz_wire": "fuzz_wire.py",
    "generate_snapshots": "generate_snapshots.py", "generate_sync": "generate_sync.py",
    "house": "housing/__main__.py", "simulate": "simulating/__main__.py",
}  # fmt: skip
OPTION = re.compile(
    r'^ *(?:@click\.option\(|parser\.add_argument\()?\s*"(--[a-z-]+)(?:/(--[a-z-]+))?",', re.MULTILINE
)
HIDDEN = {"--lose"}  # an option for tests


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree without .venv. No program of its PATH can install anything."""
    tree = tmp_path_factory.mktemp("tree")
    (tree / "tools").mkdir()
    for file in TOOLS.iterdir():
        if file.is_file():
            shutil.copy(file, tree / "tools")
    (tree / "bin").mkdir()
    for name in ("python3", "npm", "apt-get", "gcc", "curl"):
        (tree / "bin" / name).write_text("#!/bin/sh\nexit 9\n")
        (tree / "bin" / name).chmod(0o700)
    return tree


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_names_the_options_and_makes_nothing(name: str, tree: Path) -> None:
    before = sorted(tree.rglob("*"))
    environ = {**os.environ, "PATH": f"{tree / 'bin'}:{os.environ['PATH']}"}
    result = subprocess.run(
        [str(tree / "tools" / name), "--help"], capture_output=True, text=True, env=environ, cwd=tree
    )
    assert (result.returncode, result.stderr, f"tools/{name}" in result.stdout) == (0, "", True)
    assert not re.search(r"^(#|set )", result.stdout, re.MULTILINE)
    assert sorted(tree.rglob("*")) == before
    if name in DECLARED:
        options = {
            option
            for pair in OPTION.findall((TOOLS / DECLARED[name]).read_text())
            for option in pair
            if option
        }
        assert options
        assert options - HIDDEN <= set(re.findall(r"--[a-z-]+", result.stdout))
