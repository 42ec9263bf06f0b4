"""--help of a tool prints its options and does nothing else."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools"
SCRIPTS = sorted(file.name for file in TOOLS.iterdir() if file.is_file() and file.read_bytes()[:2] == b"#!")
# The files that declare the options of a script. The others have subcommands, or no options.
DECLARED = {
    "costs": "costing/__main__.py", "demo": "demo_parts/show.py", "fuzz_wire": "fuzz_wire.py",
    "generate_snapshots": "generate_snapshots.py", "generate_sync": "generate_sync.py",
    "house": "housing/__main__.py", "simulate": "simulator/__main__.py",
}  # fmt: skip
OPTION = re.compile(
    r'^ *(?:@click\.option\(|parser\.add_argument\()?\s*"(--[a-z-]+)(?:/(--[a-z-]+))?",', re.MULTILINE
)
HIDDEN = {"--lose"}  # an option for tests


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree without .venv, in whose PATH no program can install anything."""
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


def test_the_readme_of_the_simulator_names_files_and_options_that_exist() -> None:
    folder = TOOLS / "simulator"
    page = (folder / "README.md").read_text()
    files = set(re.findall(r"`([\w*]+(?:/\w+)*(?:\.py|/))`", page))
    options = set(re.findall(r"tools/simulate (.*?) *#", page))
    declared = {name for pair in OPTION.findall((folder / "__main__.py").read_text()) for name in pair}
    missing = [
        name for name in files if not any(TOOLS.glob(f"simulator/{name}")) and not (ROOT / name).exists()
    ]
    assert len(files) > 10 and missing == []
    assert {word for line in options for word in line.split() if word.startswith("--")} <= declared
