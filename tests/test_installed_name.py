"""The installed package beside a program whose modules have general names, such as `discovery`."""

import subprocess
import sys
from pathlib import Path

import pytest

GENERAL = ("discovery", "balancers", "spark", "tools", "tests")
# Imports all modules of the product whose libraries are installed.
EVERYTHING = """
import importlib, pkgutil, mesh
for module in pkgutil.walk_packages(mesh.__path__, "mesh.", onerror=lambda name: None):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name.partition(".")[0] in ("mesh", *{names}):
                raise
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a folder with a module of each general name, which fails when it is imported."""
    for name in GENERAL:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} was imported')")
    return tmp_path


def test_no_module_of_the_product_imports_a_general_name(program: Path) -> None:
    code = EVERYTHING.format(names=GENERAL)
    done = subprocess.run([sys.executable, "-c", code], cwd=program, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_runs_beside_modules_of_general_names(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mesh", "config", "check"], cwd=program, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
